//! The order of a graph's objects in memory: as they are linked, or shuffled. Invariant: every index occurs once.

use crate::random::Random;

/// As they are linked.
pub(crate) fn in_order(n: usize) -> Vec<u32> {
    (0..n as u32).collect()
}

/// A random permutation (Fisher and Yates, from the end).
pub(crate) fn shuffled(n: usize) -> Vec<u32> {
    let mut random = Random::new();
    let mut order = in_order(n);
    for i in (1..n).rev() {
        order.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
    }
    order
}
