//! Slots: an old array of pointers, 2 N / 5 of them, into which new pairs are stored at random. Nobody reads a pair until
//! the end, and most are replaced. Each store leads from an old object to a new one, and no two fall near each other. It
//! asks a write barrier to remember a slot instead of an array of 64 MB, and a young collection to look only there.

use crate::random::Random;
use crate::workload::{Line, N, Threads, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice, Trace};

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "slots",
    about: "New pairs stored at random into one old array, two slots for five stores",
    n: N { unit: "number of stores", usual: 20_000_000, most: 1 << 32 },
    threads: Threads::USUALLY_ONE,
    least_bytes: |n| 8 * u128::from(slots(n)) + size_of::<Pair>() as u128 * u128::from(slots(n) * 9 / 10),
    figures: &[],
    shared: None,
    run: |m, n, report| report(Line::checked("slots", ("stores", n), run(m, n))),
};

/// Room for two pointers, here none, and a number twice.
#[derive(Trace)]
struct Pair {
    pointers: [Option<Gc<Pair>>; 2],
    numbers: [u64; 2],
}

const _: () = assert!(size_of::<Pair>() == 32);

/// The slots of the array.
fn slots(stores: u64) -> u64 {
    (stores * 2 / 5).max(1)
}

/// Makes so many stores. Returns a checksum of the number of pairs that were replaced, and of those that are left.
pub fn run(m: &Mutator, stores: u64) -> u64 {
    let (mut random, mut replaced) = (Random::new(), 0);
    let array: Gc<Slice<GcCell<Option<Gc<Pair>>>>> =
        m.alloc_slice(slots(stores) as usize, |_| GcCell::new(None));
    for _ in 0..stores {
        let r = random.next_u64();
        let slot = &array[(r & 0xffff_ffff) as usize % array.len()];
        replaced += u64::from(slot.get().is_some());
        slot.set(m, Some(m.alloc(Pair { pointers: [None; 2], numbers: [r, r.wrapping_add(1)] })));
    }
    array.iter().filter_map(GcCell::get).fold(replaced, |sum, pair| {
        sum.wrapping_mul(31).wrapping_add(pair.numbers[0]).wrapping_add(pair.numbers[1])
    })
}
