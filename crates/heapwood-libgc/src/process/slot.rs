//! A thread's mutator, as a word of thread-local storage with the initial-exec model: one load from an offset that the loader
//! fills in, where Rust's `thread_local!` calls a function in a shared library. Stable Rust has no word for the model, so the
//! variable is defined in assembly. It takes eight bytes of the room that the C library keeps for libraries opened late.
//!
//! Before a thread is attached the word has the address of [`EMPTY`], whose allocation buffers have no cells, so the fast path
//! needs no test of its own. Invariant: the word is [`EMPTY`]'s address, or that of the calling thread's mutator, attached.

use core::arch::global_asm;
use core::cell::UnsafeCell;
use heapwood_gc::Mutator;
use heapwood_gc::mutator::BUFFERS_OFFSET;
use heapwood_heap::{AllocBuffer, ShapeId};

/// The shapes below this are those of objects whose words are all or none pointers.
const PLAIN_SHAPES: usize = ShapeId::conservative(None).index() + 1;
/// As many bytes as the fast paths read of a mutator.
const BYTES: usize = BUFFERS_OFFSET + PLAIN_SHAPES * size_of::<AllocBuffer>();

/// What the fast paths read as a mutator where there is none.
#[repr(C, align(64))]
struct Empty(UnsafeCell<[u8; BYTES]>);

// SAFETY: nobody writes to it: its buffers have no cells to commit.
unsafe impl Sync for Empty {}

static EMPTY: Empty = Empty(UnsafeCell::new([0; BYTES]));

#[cfg(target_arch = "x86_64")]
global_asm!(
    ".section .tdata,\"awT\",@progbits",
    ".hidden heapwood_libgc_mutator",
    ".globl heapwood_libgc_mutator",
    ".type heapwood_libgc_mutator, @object",
    ".size heapwood_libgc_mutator, 8",
    ".p2align 3",
    "heapwood_libgc_mutator:",
    ".quad {empty}",
    ".text",
    empty = sym EMPTY,
);

#[cfg(target_arch = "aarch64")]
global_asm!(
    ".section .tdata,\"awT\",@progbits",
    ".hidden heapwood_libgc_mutator",
    ".globl heapwood_libgc_mutator",
    ".type heapwood_libgc_mutator, @object",
    ".size heapwood_libgc_mutator, 8",
    ".p2align 3",
    "heapwood_libgc_mutator:",
    ".xword {empty}",
    ".text",
    empty = sym EMPTY,
);

/// The word of the calling thread.
#[inline(always)]
fn word() -> *mut *const Mutator {
    let word: *mut *const Mutator;
    // SAFETY: it computes an address and reads nothing but what the loader has written.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "mov {word}, qword ptr fs:[0]",
            "add {word}, qword ptr [rip + heapwood_libgc_mutator@GOTTPOFF]",
            word = out(reg) word,
            options(pure, readonly, nostack)
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!(
            "mrs {word}, tpidr_el0",
            "adrp {offset}, :gottprel:heapwood_libgc_mutator",
            "ldr {offset}, [{offset}, :gottprel_lo12:heapwood_libgc_mutator]",
            "add {word}, {word}, {offset}",
            word = out(reg) word,
            offset = out(reg) _,
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    word
}

/// What the word has: the calling thread's mutator, or [`EMPTY`]'s address.
#[inline(always)]
pub(crate) fn get() -> *const Mutator {
    #[cfg(target_arch = "x86_64")]
    {
        let mutator: *const Mutator;
        // SAFETY: it reads the calling thread's word.
        unsafe {
            core::arch::asm!(
                "mov {mutator}, qword ptr [rip + heapwood_libgc_mutator@GOTTPOFF]",
                "mov {mutator}, qword ptr fs:[{mutator}]",
                mutator = out(reg) mutator,
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        mutator
    }
    // SAFETY: as above.
    #[cfg(not(target_arch = "x86_64"))]
    unsafe {
        *word()
    }
}

/// The buffer of a plain shape with this index, of what [`get`] returned.
#[inline(always)]
pub(crate) fn buffer(index: usize) -> *const AllocBuffer {
    (get() as usize + BUFFERS_OFFSET + index * size_of::<AllocBuffer>()) as *const AllocBuffer
}

/// The calling thread's mutator, if the word has one.
#[inline(always)]
pub(crate) fn mutator() -> Option<&'static Mutator> {
    let mutator = get();
    // SAFETY: it is attached, and stays so as long as the thread uses the result (invariant).
    (mutator.cast() != EMPTY.0.get()).then(|| unsafe { &*mutator })
}

/// Sets the word to the thread's mutator, which was attached.
pub(crate) fn set(mutator: &Mutator) {
    // SAFETY: the thread's own word.
    unsafe { *word() = mutator };
}

/// Sets the word back: the thread's mutator is about to go.
pub(crate) fn clear() {
    // SAFETY: the thread's own word.
    unsafe { *word() = EMPTY.0.get().cast_const().cast() };
}
