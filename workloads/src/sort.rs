//! Sort: quicksort of an array of pointers to numbers, in place. Every exchange writes two pointers into an old array,
//! and nothing is allocated meanwhile. Beside the comparisons it measures the write barrier, by its instructions. The
//! pivot is the middle element, as in Hoare's algorithm of 1961.

use crate::random::Random;
use crate::workload::{Line, N, Threads, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice, Trace};

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "sort",
    about: "Quicksort of an array of pointers to numbers, in place",
    n: N { unit: "number of items", usual: 1_000_000, most: 1 << 31 },
    threads: Threads::USUALLY_ONE,
    least_bytes: |n| 16 * u128::from(n),
    figures: &[],
    shared: None,
    run: |m, n, report| report(run(m, n).into()),
};

#[derive(Trace)]
struct Number(u64);

type Item = GcCell<Option<Gc<Number>>>;

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Numbers sorted.
    pub items: u64,
    /// A checksum of the numbers in order.
    pub checksum: u64,
}

impl From<Outcome> for Line {
    fn from(Outcome { items, checksum }: Outcome) -> Line {
        Line::checked("sort", ("items", items), checksum)
    }
}

fn number(item: &Item) -> u64 {
    item.get().map_or(0, |number| number.0)
}

/// Sorts the smaller part by recursion and continues with the larger one, so that the depth is logarithmic.
fn sort(m: &Mutator, mut items: &[Item]) {
    while items.len() > 1 {
        let (low, high) = items.split_at(partition(m, items));
        let (smaller, larger) = if low.len() < high.len() { (low, high) } else { (high, low) };
        sort(m, smaller);
        items = larger;
    }
}

/// Exchanges items until none before the result is larger than any after it. Both parts are non-empty.
fn partition(m: &Mutator, items: &[Item]) -> usize {
    let pivot = number(&items[(items.len() - 1) / 2]);
    let (mut low, mut high) = (0, items.len() - 1);
    loop {
        while number(&items[low]) < pivot {
            low += 1;
        }
        while number(&items[high]) > pivot {
            high -= 1;
        }
        if low >= high {
            return high + 1;
        }
        let moved = items[low].replace(m, items[high].get());
        items[high].set(m, moved);
        (low, high) = (low + 1, high - 1);
    }
}

/// Sorts `items` random numbers.
pub fn run(m: &Mutator, items: u64) -> Outcome {
    let mut random = Random::new();
    let table: Gc<Slice<Item>> = m.alloc_slice(items as usize, |_| GcCell::new(None));
    for item in table.iter() {
        item.set(m, Some(m.alloc(Number(random.next_u64()))));
    }
    sort(m, &table);
    let checksum = table.iter().map(number).fold(0u64, |sum, n| sum.wrapping_mul(31).wrapping_add(n));
    Outcome { items, checksum }
}
