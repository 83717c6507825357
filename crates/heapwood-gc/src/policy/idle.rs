//! When an idle heap is collected, so that a program that no longer allocates gets its dead memory back: when for ten seconds
//! there was no collection, and less than a MiB was allocated. It is worth that if an eighth of what was alive was allocated since
//! the last full collection, or if that was of another cause: nothing reports what the program dropped since. So one collection, or
//! none, follows a busy time. Young collections say when the heap was in use, and nothing of what is old.
//! Invariant: between two idle collections there is a full one of another cause, or an eighth of what is alive is allocated.

use super::tunables::idle::*;
use core::time::Duration;

/// What is known of a heap at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleSample {
    pub(crate) now: Duration,
    pub(crate) collections: u64,
    /// Those of them that looked at everything.
    pub(crate) full_collections: u64,
    /// Bytes allocated since the last full collection.
    pub(crate) since: u64,
    /// Bytes alive after the last collection.
    pub(crate) live: u64,
}

/// How idle a heap is.
#[derive(Debug)]
pub(crate) struct IdlePolicy {
    /// When the heap was seen in use last, and what was known then.
    used: Duration,
    collections: u64,
    since: u64,
    /// The number of the full collection that this asked for last.
    own: u64,
}

impl IdlePolicy {
    /// Of a heap that has not been collected.
    pub(crate) fn new(now: Duration) -> Self {
        IdlePolicy { used: now, collections: 0, since: 0, own: u64::MAX }
    }

    /// How long until the heap is to be collected if nothing happens; `None` if it is not worth that.
    pub(crate) fn due(&mut self, sample: IdleSample) -> Option<Duration> {
        let IdleSample { now, collections, full_collections, since, live } = sample;
        if collections != self.collections || since > self.since + LITTLE {
            *self = IdlePolicy { used: now, collections, since, ..*self };
        }
        let has_dead = full_collections != self.own || since > live / PART;
        (has_dead && live + since > LITTLE).then(|| (self.used + QUIET).saturating_sub(now))
    }

    /// A collection was asked for after N full ones.
    pub(crate) fn asked(&mut self, now: Duration, full_collections: u64) {
        (self.used, self.own) = (now, full_collections + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const SECOND: Duration = Duration::from_secs(1);

    /// A heap of 100 MiB, in this second, after so many collections, of which some were full, and so many MiB since.
    fn sample(second: u32, (collections, full_collections): (u64, u64), mib: u64) -> IdleSample {
        let now = SECOND * second;
        IdleSample { now, collections, full_collections, since: mib * MIB, live: 100 * MIB }
    }

    fn after(seconds: u32) -> Option<Duration> {
        Some(SECOND * seconds)
    }

    #[test]
    fn it_is_due_ten_seconds_after_the_heap_was_in_use() {
        let mut policy = IdlePolicy::new(Duration::ZERO);
        assert_eq!(policy.due(sample(3, (0, 0), 1)), after(7), "a MiB is little");
        assert_eq!(policy.due(sample(4, (0, 0), 2)), after(10));
        assert_eq!(policy.due(sample(9, (0, 0), 3)), after(5), "one more is");
        assert_eq!(policy.due(sample(13, (0, 0), 4)), after(10));
        assert_eq!(policy.due(sample(14, (1, 0), 4)), after(10), "a young collection");
        assert_eq!(policy.due(sample(15, (2, 1), 0)), after(10), "a full one");
        assert_eq!(policy.due(sample(24, (2, 1), 0)), after(1));
        // It stays due until one was asked for, or the heap is in use.
        assert_eq!([25, 99].map(|second| policy.due(sample(second, (2, 1), 0))), [after(0), after(0)]);
        assert_eq!(policy.due(sample(100, (2, 1), 2)), after(10));
    }

    #[test]
    fn one_collection_follows_a_busy_time() {
        let mut policy = IdlePolicy::new(Duration::ZERO);
        assert_eq!(policy.due(sample(10, (0, 0), 100)), after(10));
        assert_eq!(policy.due(sample(20, (0, 0), 100)), after(0));
        policy.asked(SECOND * 20, 0);
        assert_eq!(policy.due(sample(21, (1, 0), 100)), after(10), "it has begun");
        assert_eq!(policy.due(sample(22, (2, 1), 0)), None);
        assert_eq!(policy.due(sample(99, (2, 1), 0)), None);
        // Young collections, and less than an eighth, bring no other. An eighth does, and so does a full one of another cause.
        assert_eq!(policy.due(sample(100, (3, 1), 12)), None);
        assert_eq!(policy.due(sample(101, (3, 1), 13)), after(9));
        assert_eq!(policy.due(sample(102, (4, 2), 0)), after(10));
        // One that does not begin is asked for again.
        policy.asked(SECOND * 112, 2);
        assert_eq!(policy.due(sample(115, (4, 2), 0)), after(7));
    }

    #[test]
    fn a_heap_of_less_than_a_mebibyte_is_left_alone() {
        let mut policy = IdlePolicy::new(Duration::ZERO);
        let small = |second, bytes| IdleSample { live: 1000, since: bytes, ..sample(second, (0, 0), 0) };
        assert_eq!(policy.due(small(10, MIB - 1000)), None);
        assert_eq!(policy.due(small(11, MIB)), after(0));
    }
}
