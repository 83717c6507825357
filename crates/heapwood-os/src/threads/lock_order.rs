//! The order of locks. Each lock has a rank, which is a part of its type; a thread that holds a lock waits only for locks of higher
//! rank, so no circle of threads can wait for each other. Debug builds check each wait, as Linux's lockdep and Go's
//! `lockrank.go` do; release builds keep no record. A thread that only tries a lock cannot wait, and is not checked.
//! Invariant: the record of a thread holds the ranks of the locks that it holds. The crates above give ranks in their own
//! `lock_order.rs`: 1 to 39 are heapwood-gc's and its clients', 40 to 49 heapwood-heap's, 50 heapwood-pages'.

/// The place of a lock in the order: less than [`RANKS`].
pub type LockRank = u8;

/// A lock outside of the order: tests, models, and locks that nobody waits for while holding another.
pub const UNORDERED: LockRank = 0;

/// How many ranks there are.
pub const RANKS: usize = 64;

/// The set that contains the ranks of `ranks`.
pub const fn set_of(ranks: &[LockRank]) -> u64 {
    let (mut set, mut i) = (0, 0);
    while i < ranks.len() {
        set |= 1 << ranks[i];
        i += 1;
    }
    set
}

/// The ranks that a thread holds, in debug builds.
#[cfg(all(debug_assertions, not(loom)))]
mod record {
    use super::{LockRank, RANKS, UNORDERED};
    use core::cell::Cell;

    thread_local! {
        /// How many locks of each rank this thread holds: a fork holds those of all heaps.
        static HELD: [Cell<u32>; RANKS] = const { [const { Cell::new(0) }; RANKS] };
    }

    /// Checks that this thread may wait for a lock.
    #[track_caller]
    pub(crate) fn check(rank: LockRank) {
        if rank == UNORDERED {
            return;
        }
        HELD.with(|held| {
            if let Some(higher) = (rank as usize..RANKS).find(|&r| held[r].get() != 0) {
                panic!("a thread waits for a lock of rank {rank} and holds one of rank {higher}: see lock_order.rs");
            }
        });
    }

    /// Notes that this thread holds a lock.
    pub(crate) fn take(rank: LockRank) {
        if rank != UNORDERED {
            HELD.with(|held| held[rank as usize].set(held[rank as usize].get() + 1));
        }
    }

    /// Notes that it holds it no more.
    pub(crate) fn release(rank: LockRank) {
        if rank != UNORDERED {
            HELD.with(|held| held[rank as usize].set(held[rank as usize].get().saturating_sub(1)));
        }
    }

    /// In a forked child: its one thread holds no lock.
    pub fn forget_all() {
        HELD.with(|held| held.iter().for_each(|count| count.set(0)));
    }
}

/// No record in release builds, nor under loom, whose threads share the real ones.
#[cfg(not(all(debug_assertions, not(loom))))]
mod record {
    use super::LockRank;

    #[inline(always)]
    pub(crate) fn check(_: LockRank) {}
    #[inline(always)]
    pub(crate) fn take(_: LockRank) {}
    #[inline(always)]
    pub(crate) fn release(_: LockRank) {}
    /// In a forked child: its one thread holds no lock.
    #[inline(always)]
    pub fn forget_all() {}
}

pub use record::forget_all;
pub(super) use record::{check, release, take};

#[cfg(all(test, debug_assertions, not(loom)))]
mod tests {
    use crate::Lock;

    #[test]
    #[should_panic(expected = "waits for a lock of rank 3 and holds one of rank 5")]
    fn a_descending_order_is_caught() {
        let (first, second) = (Lock::<_, 3>::new(()), Lock::<_, 5>::new(()));
        let _both = (second.lock(), first.lock());
    }

    #[test]
    #[should_panic(expected = "waits for a lock of rank 4 and holds one of rank 4")]
    fn two_locks_of_one_rank_are_caught() {
        let (one, other) = (Lock::<_, 4>::new(()), Lock::<_, 4>::new(()));
        let _both = (one.lock(), other.lock());
    }

    #[test]
    fn a_lock_that_is_only_tried_is_not_checked() {
        let (first, second) = (Lock::<_, 3>::new(()), Lock::<_, 5>::new(()));
        let late = second.lock();
        let early = first.try_lock();
        assert!(early.is_some());
        drop((late, early));
        let _both = (first.lock(), second.lock());
    }
}
