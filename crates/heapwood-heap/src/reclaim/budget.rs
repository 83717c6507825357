//! The budget of a cycle: the bytes that may be allocated before the next collection is due, or before a marking beside the
//! program has come further, how many mutators divide them, and the counters of allocation. It lies behind the central lock. A mutator keeps an account of what it takes, and settles it when it
//! takes the lock. Invariant: no collection is due while collections are off.

use crate::error::SpaceError;
use crate::policy::refill::{self, Remaining};
use crate::reclaim::clock::Swept;
use heapwood_pages::PAGE_SIZE;

/// Allocation counters.
#[derive(Clone, Copy, Default)]
pub(crate) struct CentralCounts {
    /// Bytes since the last marking, and bytes that arenas left to the collector since.
    pub(crate) in_cycle: usize,
    pub(crate) left_in_cycle: usize,
    /// The other counters are since the heap was made: bytes.
    pub(crate) total: u64,
    /// Bytes of objects that the program has freed.
    pub(crate) freed: u64,
    /// Bytes of large objects.
    pub(crate) large: u64,
    /// Acquisitions of this lock; those for large objects; and those of the page allocator's lock for large objects.
    pub(crate) lock_acquisitions: u64,
    pub(crate) large_acquisitions: u64,
    pub(crate) large_page_locks: u64,
    /// Read-modify-writes of the gate of sweepers.
    pub(crate) gate_rmws: u64,
}

/// Allocation and sweeping by a mutator that is not yet in the central counters.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// Bytes taken.
    pub(crate) owed: usize,
    /// Bytes of large objects among them, and acquisitions of the page allocator's lock for these.
    pub(crate) large: usize,
    pub(crate) large_page_locks: u32,
    /// Charged bytes that were returned unused.
    pub(crate) returned: usize,
    /// Bytes of objects that the program freed.
    pub(crate) freed: usize,
    /// Bytes that arenas left to the collector.
    pub(crate) left_by_arenas: usize,
    /// Spans that it swept.
    pub(crate) swept: Swept,
    /// Ticks of refills that the heap's size cut short.
    pub(crate) starved: u64,
}

/// The budget of a cycle.
pub(crate) struct Budget {
    /// Bytes.
    budget: usize,
    /// The part of the budget that a marking beside the program has come far enough for.
    pace: usize,
    /// The budget for when collections may come again, if they are off now; no collection is due meanwhile.
    suspended: Option<usize>,
    /// What the bytes outside the heap have risen by in this cycle, as far as somebody has looked.
    external: usize,
    /// The heap size at which a collection is due.
    goal: usize,
    /// Mutators that refilled in this cycle, and in the previous one.
    refilling_mutators: usize,
    refilling_mutators_before: usize,
    counts: CentralCounts,
}

impl Budget {
    /// No end, before the first is set.
    pub(super) fn new() -> Self {
        Budget {
            budget: usize::MAX,
            pace: usize::MAX,
            suspended: None,
            external: 0,
            goal: 0,
            refilling_mutators: 0,
            refilling_mutators_before: 0,
            counts: CentralCounts::default(),
        }
    }

    /// Begins the cycle after a marking, with a budget in bytes. Returns the bytes allocated in the old cycle.
    pub(super) fn begin_cycle(&mut self, budget: usize, goal: usize) -> usize {
        self.set(budget);
        self.pace = usize::MAX;
        self.goal = goal;
        self.external = 0;
        self.refilling_mutators_before = core::mem::take(&mut self.refilling_mutators);
        self.counts.left_in_cycle = 0;
        core::mem::take(&mut self.counts.in_cycle)
    }

    /// Sets the bytes that may be allocated before the next collection is due.
    pub(crate) fn set(&mut self, bytes: usize) {
        let budget = self.suspended.as_mut().unwrap_or(&mut self.budget);
        *budget = bytes;
    }

    /// Sets the bytes that may be allocated in this cycle before a marking beside the program has come further.
    pub(crate) fn set_pace(&mut self, bytes: usize) {
        self.pace = bytes;
    }

    /// Lets N more bytes be allocated, beside those that may be already, though the marking is behind.
    pub(crate) fn pass_pace(&mut self, bytes: usize) {
        self.pace = self.pace.max(self.used()).saturating_add(bytes);
    }

    /// Lets N more bytes be allocated, beside those that may be already, though a collection is due.
    pub(crate) fn pass(&mut self, bytes: usize) {
        self.budget = self.budget.max(self.used()).saturating_add(bytes);
        self.pass_pace(bytes);
    }

    /// Makes no collection due until the budget is resumed.
    pub(crate) fn suspend(&mut self) {
        self.suspended.get_or_insert(core::mem::replace(&mut self.budget, usize::MAX));
    }

    /// Makes a collection due again when the budget is used up.
    pub(crate) fn resume(&mut self) {
        self.budget = self.suspended.take().unwrap_or(self.budget);
    }

    /// Sets the heap size at which a collection is due.
    pub(crate) fn set_goal(&mut self, bytes: usize) {
        self.goal = bytes;
    }

    /// Counts a mutator's first refill in this cycle.
    pub(crate) fn note_refilling_mutator(&mut self) {
        self.refilling_mutators += 1;
    }

    /// Mutators that refilled in this cycle or in the one before; at least one.
    pub(crate) fn mutators(&self) -> usize {
        self.refilling_mutators.max(self.refilling_mutators_before).max(1)
    }

    /// The bytes that each mutator may cache.
    pub(crate) fn share(&self) -> usize {
        refill::share_of(self.goal, self.mutators())
    }

    /// Notes what the bytes outside the heap have risen by in this cycle.
    pub(crate) fn note_external(&mut self, rose: usize) {
        self.external = rose;
    }

    /// Bytes used of the budget.
    fn used(&self) -> usize {
        self.counts.in_cycle.saturating_add(self.external)
    }

    /// Bytes left of the budget.
    pub(crate) fn left_bytes(&self) -> usize {
        self.budget.min(self.pace).saturating_sub(self.used())
    }

    /// Pages left of the budget.
    pub(super) fn left(&self) -> usize {
        self.left_bytes() / PAGE_SIZE
    }

    /// The remaining budget, and the mutators that divide it.
    fn remaining(&self) -> Remaining {
        Remaining { pages: self.left(), mutators: self.mutators(), is_paced: self.pace < self.budget }
    }

    /// The pages of spans that a mutator may take from the lists, or make, before its next refill.
    pub(crate) fn credit(&self) -> u32 {
        self.remaining().credit()
    }

    /// Whether `bytes` more may be allocated now.
    ///
    /// # Errors
    /// They exceed the budget, and something was allocated since the last collection, so that another may help. Or a marking beside
    /// the program is to come further first.
    pub(crate) fn check(&self, bytes: usize) -> Result<(), SpaceError> {
        let used = self.used();
        let exceeds = |most: usize| used > 0 && used.saturating_add(bytes) > most;
        match () {
            () if exceeds(self.budget) => Err(SpaceError::CollectionDue),
            () if exceeds(self.pace) => Err(SpaceError::MarkingBehind),
            () => Ok(()),
        }
    }

    /// Adds a mutator's account to the counters.
    pub(crate) fn settle(&mut self, account: Account) {
        let Account { owed, large, large_page_locks, returned, freed, left_by_arenas, .. } = account;
        let counts = &mut self.counts;
        counts.in_cycle = (counts.in_cycle + owed + left_by_arenas).saturating_sub(returned + freed);
        counts.left_in_cycle += left_by_arenas;
        counts.total = (counts.total + owed as u64).saturating_sub(returned as u64);
        counts.freed += freed as u64;
        counts.large += large as u64;
        counts.large_page_locks += large_page_locks as u64;
    }

    /// Bytes of large objects that a mutator may take before its next refill.
    pub(crate) fn large_credit(&self) -> usize {
        self.remaining().large_credit().bytes()
    }

    /// The fewest spans of a mutator's sweep batch.
    pub(crate) fn least_sweep_batch(&self) -> u32 {
        refill::least_sweep_batch(self.mutators())
    }

    /// Counts an acquisition of the lock, for a large object or not.
    pub(crate) fn note_acquisition(&mut self, large: bool) {
        self.counts.lock_acquisitions += 1;
        self.counts.large_acquisitions += large as u64;
    }

    /// Counts read-modify-writes of the gate of sweepers.
    pub(crate) fn note_gate(&mut self, rmws: u64) {
        self.counts.gate_rmws += rmws;
    }

    /// The counters.
    pub(crate) fn counts(&self) -> CentralCounts {
        self.counts
    }
}
