//! When an idle heap is collected, so that a program that no longer allocates gets its dead memory back. The heap is idle when it
//! was not collected for ten seconds, and less than a MiB a second is allocated now; it is worth a collection when more than an
//! eighth of what was alive was allocated since the last full one (V8's MemoryReducer goes by such rules), or when that was the
//! program's own: nothing reports what it dropped since. So one collection, or none, follows a busy time. Young collections say
//! when the heap was in use, and nothing of what is old.
//! Invariant: idle collections take at most a twentieth of the time.

use super::tunables::idle::*;
use core::time::Duration;

/// What is known of a heap at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleSample {
    pub(crate) now: Duration,
    pub(crate) collections: u64,
    /// Those of them that looked at everything.
    pub(crate) full_collections: u64,
    /// Bytes allocated since the heap was made, and since the last full collection.
    pub(crate) allocated: u64,
    pub(crate) since: u64,
    /// Bytes that the last of all left.
    pub(crate) live: u64,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleDecision {
    /// Nothing, as long as little is allocated.
    Nothing,
    /// Look again after so long.
    Wait(Duration),
    Collect,
}

/// How idle a heap is.
#[derive(Debug)]
pub(crate) struct IdlePolicy {
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

/// A heap of which so many bytes are alive is worth a collection when more than this was allocated.
fn worth_a_collection(live: u64) -> u64 {
    LITTLE.max(live / PART)
}

impl IdlePolicy {
    /// When to look again if another thread collects.
    pub(crate) const LOOK_AGAIN: Duration = RATE_OVER;

    /// Of a heap that has not been collected.
    pub(crate) fn new(now: Duration) -> Self {
        IdlePolicy {
            collections: 0,
            at: now,
            full_collections: 0,
            is_own: false,
            quiet: QUIET,
            sample: None,
            not_before: Duration::ZERO,
            patience: BETWEEN_TRIES.start,
            waits: false,
        }
    }

    /// Whether it waits for threads to leave the heap.
    pub(crate) fn waits_for_threads(&self) -> bool {
        self.waits
    }

    /// How long to wait before the next look, if the heap was collected since the last one.
    pub(crate) fn just_collected(&mut self, now: Duration, counts: (u64, u64)) -> Option<Duration> {
        (counts.0 != self.collections).then(|| {
            self.note_collection(now, counts);
            self.first_look().saturating_sub(now)
        })
    }

    fn note_collection(&mut self, now: Duration, (collections, full_collections): (u64, u64)) {
        let stays_own = self.is_own && full_collections == self.full_collections;
        let quiet = if stays_own { self.quiet } else { QUIET };
        *self = IdlePolicy { collections, full_collections, is_own: stays_own, quiet, ..Self::new(now) };
    }

    /// When a sample is due: before a collection may be, to know the rate.
    fn first_look(&self) -> Duration {
        (self.at + self.quiet).max(self.not_before).saturating_sub(RATE_OVER)
    }

    /// What to do now.
    pub(crate) fn next(&mut self, look: IdleSample) -> IdleDecision {
        if look.collections != self.collections {
            self.note_collection(look.now, (look.collections, look.full_collections));
        }
        let was_busy = !self.is_own && look.live >= LITTLE;
        if look.since <= worth_a_collection(look.live) && !was_busy {
            return IdleDecision::Nothing;
        }
        let first_look = self.first_look();
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
    pub(crate) fn collected(&mut self, now: Duration, counts: (u64, u64), took: Duration) {
        let (quiet, (collections, full_collections)) = (QUIET.max(took * QUIET_FOR_ONE), counts);
        *self = IdlePolicy { collections, full_collections, is_own: true, quiet, ..Self::new(now) };
    }

    /// Its marking beside the program, which began at the one look, has ended at the other. Where the program has allocated much
    /// meanwhile, of which the marking has kept all, another collection may follow.
    pub(crate) fn marked(&mut self, begun: IdleSample, ended: IdleSample) {
        if ended.allocated.saturating_sub(begun.allocated) <= worth_a_collection(ended.live) {
            let took = ended.now.saturating_sub(begun.now);
            self.collected(ended.now, (ended.collections, ended.full_collections), took);
        }
    }

    /// The try was withdrawn.
    pub(crate) fn withdrawn(&mut self, now: Duration) {
        self.not_before = now + self.patience;
        self.patience = (self.patience * 2).min(BETWEEN_TRIES.end);
        self.sample = None;
        self.waits = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A heap of 100 MiB, in this second, after full collections and bytes allocated in all and since the last of them.
    fn look(second: u64, full_collections: u64, (allocated, since): (u64, u64)) -> IdleSample {
        let now = Duration::from_secs(second);
        IdleSample { now, collections: full_collections, full_collections, allocated, since, live: 100 * MIB }
    }

    /// When it collects, if nothing happens from this look on.
    fn collects_at(policy: &mut IdlePolicy, mut from: IdleSample) -> Option<Duration> {
        for _ in 0..100 {
            match policy.next(from) {
                IdleDecision::Nothing => return None,
                IdleDecision::Wait(time) => from.now += time,
                IdleDecision::Collect => return Some(from.now),
            }
        }
        unreachable!("it waits for good")
    }

    #[test]
    fn a_marking_beside_the_program_is_not_repeated_unless_much_was_allocated_meanwhile() {
        for (allocated, wanted) in [(0, None), (12 * MIB, None), (13 * MIB, Some(Duration::from_secs(32)))] {
            let mut policy = IdlePolicy::new(Duration::ZERO);
            let begun = look(20, 0, (100 * MIB, 100 * MIB));
            assert!(collects_at(&mut policy, begun).is_some());
            // Its end leaves nothing that was allocated since.
            let ended = look(22, 1, (100 * MIB + allocated, 0));
            policy.marked(begun, ended);
            assert_eq!(collects_at(&mut policy, ended), wanted, "{allocated} bytes");
        }
    }

    /// It takes a twentieth of the time, the marking included.
    #[test]
    fn a_long_marking_makes_the_next_quiet_time_long() {
        let mut policy = IdlePolicy::new(Duration::ZERO);
        let (begun, ended) = (look(20, 0, (0, 0)), look(22, 1, (0, 0)));
        policy.marked(begun, ended);
        let busy = look(23, 1, (50 * MIB, 50 * MIB));
        assert_eq!(collects_at(&mut policy, busy), Some(Duration::from_secs(62)));
    }

    /// After each collection of a busy time it waits anew, and after the last it collects when it would have.
    #[test]
    fn a_collection_that_is_just_over_needs_no_look() {
        let mut policies = [(); 2].map(|()| IdlePolicy::new(Duration::ZERO));
        for second in 1..=100 {
            let look = look(second, second, (second * 50 * MIB, 50 * MIB));
            let waits = policies[0].just_collected(look.now, (second, second));
            assert_eq!(policies[1].next(look), IdleDecision::Wait(waits.unwrap()));
            assert_eq!(policies[0].just_collected(look.now, (second, second)), None);
        }
        let quiet = look(101, 100, (5050 * MIB, 100 * MIB));
        let [first, second] = policies.each_mut().map(|policy| collects_at(policy, quiet));
        assert_eq!((first, first), (second, Some(Duration::from_secs(110))));
    }
}
