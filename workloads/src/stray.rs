//! What programs do that count dead objects. A stack is scanned conservatively, so a word that was left there, or in a register, may
//! keep an object or two for a collection more. Such programs fill their tables in a call deep below, whose frames later calls
//! overwrite, and take a few for alive.

/// The most of N objects that stray words may keep; other conservative collectors scan their heaps so, too.
pub(crate) fn most_stray(n: u64) -> u64 {
    16 + n / 1000
}

/// Words that lie between the frames of the caller and those of the callee.
const WORDS: usize = 256;

/// Calls `f` some frames below, and then clears what it has left on the stack.
#[inline(never)]
pub(crate) fn out_of_the_way<R>(f: impl FnOnce() -> R) -> R {
    let room = core::hint::black_box([0usize; WORDS]);
    let result = f();
    core::hint::black_box(room);
    clear_below();
    result
}

/// Overwrites the stack below the caller's frame.
#[inline(never)]
fn clear_below() {
    core::hint::black_box([0usize; 4 * WORDS]);
}
