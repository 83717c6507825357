//! Frag: objects of 100 bytes to two kilobytes without pointers, 15 of 16 of which die soon, beside 60,000 long-lived ones.
//! The sizes drift in eight phases, so the long-lived objects of one phase lie between the objects of the next and leave
//! holes of a few cells in every span. It asks a heap to find room cheaply in spans that are nearly full, and to keep the
//! memory of sizes that went out of use small. Only the ends of an object are written, as by a program that reads into a
//! buffer.

use crate::random::Random;
use crate::workload::{Line, N, Threads, Workload};
use heapwood::{Buffer, Gc, GcCell, Mutator, Slice};

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "frag",
    about: "Objects of 100 bytes to 2 KB that die soon, beside long-lived ones, while the sizes drift",
    n: N { unit: "number of allocations a phase", usual: 1_500_000, most: 1 << 45 },
    threads: Threads::USUALLY_ONE,
    least_bytes,
    figures: &[],
    shared: None,
    run: |m, n, report| report(Line::checked("frag", ("allocations", PHASES * n), run(m, n))),
};

const PHASES: u64 = 8;
/// The slots of the table of long-lived objects, and of the one of objects that die soon.
const LONG_LIVED: u64 = 60_000;
const SHORT_LIVED: u64 = 2048;

type Table = Slice<GcCell<Option<Gc<Buffer>>>>;

/// The minimum of bytes alive at once: the tables, and of the long-lived objects those that fill at least a quarter of the
/// slots, or all, and have a kilobyte on average.
fn least_bytes(allocations: u64) -> u128 {
    u128::from(8 * (LONG_LIVED + SHORT_LIVED) + 1000 * LONG_LIVED.min(allocations / 4))
}

/// The bytes of an object for a random number: whole words of a range that moves from phase to phase. In every other phase
/// it is narrow.
fn object_bytes(phase: u64, r: u64) -> u64 {
    let range = if phase.is_multiple_of(2) { 1900 - 200 * phase } else { 300 };
    (100 + 200 * phase + (r >> 32) % range) & !7
}

/// An object of so many bytes, at least 16 and a multiple of 8, which are its first word.
fn object(m: &Mutator, bytes: u64, r: u64) -> Gc<Buffer> {
    let object = m.alloc_buffer(bytes as usize);
    let words = Gc::as_ptr(object).cast::<u64>();
    // SAFETY: the object has so many bytes, and no other thread has its address.
    unsafe {
        words.write(bytes);
        words.add(bytes as usize / 8 - 1).write(r);
    }
    object
}

/// Adds the first and the last word of an object.
///
/// # Safety
/// 1. `object` was made by [`object`].
unsafe fn add(sum: u64, object: Gc<Buffer>) -> u64 {
    let words = Gc::as_ptr(object).cast::<u64>();
    // SAFETY: the first word, which was written, tells how many bytes there are; the last word was written, too.
    let (bytes, last) = unsafe { (words.read(), words.add(words.read() as usize / 8 - 1).read()) };
    sum.wrapping_mul(31).wrapping_add(bytes).wrapping_add(last)
}

/// Makes so many allocations in each phase. Returns a checksum of the objects that were replaced.
pub fn run(m: &Mutator, allocations: u64) -> u64 {
    let (mut random, mut checksum) = (Random::new(), 0);
    let [long_lived, short_lived]: [Gc<Table>; 2] =
        [LONG_LIVED, SHORT_LIVED].map(|slots| m.alloc_slice(slots as usize, |_| GcCell::new(None)));
    for phase in 0..PHASES {
        for _ in 0..allocations {
            let (r, s) = (random.next_u64(), random.next_u64());
            let table = if s.is_multiple_of(16) { long_lived } else { short_lived };
            let slot = &table[(s >> 32) as usize % table.len()];
            if let Some(old) = slot.get() {
                // SAFETY: the tables have only objects made by `object`.
                checksum = unsafe { add(checksum, old) };
            }
            slot.set(m, Some(object(m, object_bytes(phase, r), r)));
        }
    }
    checksum
}
