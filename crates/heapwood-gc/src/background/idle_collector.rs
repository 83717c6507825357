//! Collecting a heap that has nothing to do, so that a program that no longer allocates gets its dead memory back. The heap is
//! idle when it was not collected for ten seconds, and less than a MiB a second is allocated now; it is worth a collection when
//! more than an eighth of what was alive was allocated since the last full one (V8's MemoryReducer goes by such rules), or when
//! that was the program's own: what it dropped since is told by nothing. So one collection, or none, follows a busy time. Young
//! collections tell when the heap was in use, and nothing of what is old.
//!
//! It is a try: begun only if all mutators are blocked or parked, withdrawn after a millisecond if one runs that does not
//! answer; that one is named in the statistics, and the next try comes when a thread leaves the heap, later and later.
//! Invariant: idle collections take at most a twentieth of the time.

use super::figures::Figures;
use crate::collect::{Collector, TryCollect};
use crate::state::State;
use core::time::Duration;
use heapwood_pages::Clock;

/// A heap that was not collected for so long may be idle.
const QUIET: Duration = Duration::from_secs(10);
/// And rests so many times as long as its last idle collection took.
const REST: u32 = 20;
/// The rate of allocation is that of the last so long.
const RATE_OVER: Duration = Duration::from_secs(1);
/// Not idle at this many bytes a second; and not worth a collection for fewer.
const LITTLE: u64 = 1 << 20;
/// Part of what was alive that is worth a collection once as much was allocated.
const PART: u64 = 8;
/// The shortest and the longest time between two tries.
const PATIENCE: core::ops::Range<Duration> = Duration::from_secs(1)..Duration::from_secs(64);

/// What is known of a heap at a moment.
#[derive(Clone, Copy, Debug)]
struct IdleSample {
    now: Duration,
    collections: u64,
    /// Those of them that looked at everything.
    full_collections: u64,
    /// Bytes allocated since the heap was made, and since the last full collection.
    allocated: u64,
    since: u64,
    /// Bytes that the last of all left.
    live: u64,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdleDecision {
    /// Nothing, as long as little is allocated.
    Nothing,
    /// Look again after so long.
    Wait(Duration),
    Collect,
}

/// How idle a heap is.
#[derive(Debug)]
pub(super) struct IdleCollector {
    /// The last collection that was seen: its number, and when it was.
    collections: u64,
    at: Duration,
    /// The last that looked at everything, and whether it was one of this.
    full_collections: u64,
    is_own: bool,
    /// How long the heap must have been quiet.
    quiet: Duration,
    /// A moment, and how much had been allocated.
    sample: Option<(Duration, u64)>,
    /// When the next try may be, and how long after that another.
    not_before: Duration,
    patience: Duration,
    /// The last try was withdrawn.
    waits: bool,
}

impl IdleCollector {
    /// Of a heap that has not been collected.
    pub(super) fn new(now: Duration) -> Self {
        IdleCollector {
            collections: 0,
            at: now,
            full_collections: 0,
            is_own: false,
            quiet: QUIET,
            sample: None,
            not_before: Duration::ZERO,
            patience: PATIENCE.start,
            waits: false,
        }
    }

    /// Whether it waits for threads to leave the heap.
    pub(super) fn waits_for_threads(&self) -> bool {
        self.waits
    }

    /// Collects, if it is time; when it looks again, if that is not when something happens.
    pub(super) fn step(
        &mut self,
        clock: &impl Clock,
        (state, collector, figures): (&State, &Collector, &Figures),
    ) -> Option<Duration> {
        let now = clock.now();
        let space = state.space().stats();
        let look = IdleSample {
            now,
            collections: state.collections(),
            full_collections: state.full_collections(),
            allocated: space.total_allocated,
            since: (state.since_full() + space.allocated_in_cycle) as u64,
            live: state.live() as u64,
        };
        match self.next(look) {
            IdleDecision::Nothing => None,
            IdleDecision::Wait(at_most) => Some(at_most),
            IdleDecision::Collect => {
                let seen = look.collections;
                match collector.try_collect(state, || state.collections() == seen) {
                    TryCollect::Collected => {
                        figures.count_collection();
                        let took = clock.now().saturating_sub(now);
                        let counts = (state.collections(), state.full_collections());
                        self.collected(now + took, counts, took);
                        None
                    }
                    TryCollect::Withdrawn(thread) => {
                        figures.count_withdrawn(thread);
                        self.withdrawn(now);
                        None
                    }
                    // Someone else collects.
                    TryCollect::NotNeeded => Some(RATE_OVER),
                }
            }
        }
    }

    fn next(&mut self, look: IdleSample) -> IdleDecision {
        if look.collections != self.collections {
            let full_collections = look.full_collections;
            let collections = look.collections;
            *self = match self.is_own && full_collections == self.full_collections {
                true => IdleCollector {
                    collections,
                    is_own: true,
                    full_collections,
                    quiet: self.quiet,
                    ..Self::new(look.now)
                },
                false => IdleCollector { collections, full_collections, ..Self::new(look.now) },
            };
        }
        let was_busy = !self.is_own && look.live >= LITTLE;
        if look.since <= LITTLE.max(look.live / PART) && !was_busy {
            return IdleDecision::Nothing;
        }
        // A look before, to know the rate.
        let due = (self.at + self.quiet).max(self.not_before);
        let first_look = due.saturating_sub(RATE_OVER);
        if look.now < first_look {
            return IdleDecision::Wait(first_look - look.now);
        }
        let (when, allocated) = *self.sample.get_or_insert((look.now, look.allocated));
        let over = look.now.saturating_sub(when);
        if over < RATE_OVER {
            return IdleDecision::Wait(RATE_OVER - over);
        }
        self.sample = Some((look.now, look.allocated));
        let rate =
            u128::from(look.allocated.saturating_sub(allocated)) * RATE_OVER.as_nanos() / over.as_nanos();
        if rate >= u128::from(LITTLE) {
            return IdleDecision::Wait(QUIET / 4);
        }
        IdleDecision::Collect
    }

    /// It has made the collection with which there were so many, and so many full ones, and which took so long.
    fn collected(&mut self, now: Duration, counts: (u64, u64), took: Duration) {
        let (quiet, (collections, full_collections)) = (QUIET.max(took * REST), counts);
        *self = IdleCollector { collections, full_collections, is_own: true, quiet, ..Self::new(now) };
    }

    /// The try was withdrawn.
    fn withdrawn(&mut self, now: Duration) {
        self.not_before = now + self.patience;
        self.patience = (self.patience * 2).min(PATIENCE.end);
        self.sample = None;
        self.waits = true;
    }
}
