//! The gaps of a thread: the times between its readings of the clock. All of them are counted in a histogram, and those of
//! 20 us or more are kept with their beginning, for the mutator utilisation. Invariant: noting a gap neither allocates nor
//! touches new memory, so a gap that is noted is no gap of the noting.
//!
//! The histogram has 32 buckets for each power of two, as HdrHistogram (Tene): a value is known to 3.2 %. Peers in other
//! languages number the buckets in the same way.

/// A gap at least this long counts as time without the mutator.
pub const LONG_NS: u64 = 20_000;
/// Long gaps that are kept.
const MOST_LONG: usize = 1 << 18;

/// Values below it have a bucket each.
const SUB: u64 = 32;
/// For all values of 64 bits.
pub const BUCKETS: usize = 60 * SUB as usize;

/// The bucket of a value.
#[inline]
pub fn bucket(ns: u64) -> usize {
    match ns {
        0..SUB => ns as usize,
        _ => {
            let shift = ns.ilog2() - SUB.ilog2();
            (u64::from(shift) * SUB + (ns >> shift)) as usize
        }
    }
}

/// The largest value of a bucket.
pub fn upper(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    match bucket {
        0..SUB => bucket,
        _ => {
            let shift = bucket / SUB - 1;
            let above = (bucket - shift * SUB + 1) as u128;
            ((above << shift) - 1).min(u64::MAX.into()) as u64
        }
    }
}

/// The gaps so far.
pub(crate) struct Gaps {
    start: u64,
    last: u64,
    end: u64,
    noted: Noted,
}

/// The gaps of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted {
    /// Steps in the measured time.
    pub steps: u64,
    /// The measured time.
    pub ns: u64,
    /// The longest gap.
    pub max_ns: u64,
    /// Long gaps that were not kept, since there were too many.
    pub dropped: u64,
    /// The number of gaps in each bucket.
    pub counts: Vec<u64>,
    /// The long gaps in order: the beginning, from the start of the measurement, and the length.
    pub long: Vec<(u64, u64)>,
}

impl Gaps {
    /// From now on, for so long.
    pub(crate) fn start(now: u64, ns: u64) -> Gaps {
        let mut long = Vec::new();
        // Touched now, so that a gap is no page fault of its own note.
        long.resize(MOST_LONG, (1, 1));
        long.clear();
        // Not zeroed pages of the kernel, for the same reason.
        let mut counts = vec![1; BUCKETS];
        counts.fill(0);
        let noted = Noted { steps: 0, ns: 0, max_ns: 0, dropped: 0, counts, long };
        Gaps { start: now, last: now, end: now.saturating_add(ns), noted }
    }

    /// Notes the gap until now, in which there were so many steps. Returns whether the time is not over yet.
    #[inline]
    pub(crate) fn sample(&mut self, now: u64, steps: u64) -> bool {
        let gap = now - self.last;
        self.noted.steps += steps;
        self.noted.counts[bucket(gap)] += 1;
        if gap >= LONG_NS {
            self.note_long(gap);
        }
        self.last = now;
        now < self.end
    }

    #[cold]
    fn note_long(&mut self, gap: u64) {
        self.noted.max_ns = self.noted.max_ns.max(gap);
        match self.noted.long.len() < MOST_LONG {
            true => self.noted.long.push((self.last - self.start, gap)),
            false => self.noted.dropped += 1,
        }
    }

    pub(crate) fn end(mut self) -> Noted {
        self.noted.ns = self.last - self.start;
        if self.noted.max_ns == 0 {
            // All were short: the bucket is all that is known.
            self.noted.max_ns = self.noted.counts.iter().rposition(|&count| count > 0).map_or(0, upper);
        }
        self.noted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_narrow() {
        let mut next = 0u64;
        for k in 0..BUCKETS {
            let last = upper(k);
            assert_eq!((bucket(next), bucket(last)), (k, k), "{k}: {next} to {last}");
            assert!((last - next) as f64 <= next as f64 / 31.0, "{k}: {next} to {last}");
            next = last.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends with the last value");
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn gaps_are_noted() {
        let mut gaps = Gaps::start(1_000, 100_000);
        assert!(gaps.sample(1_250, 4));
        assert!(gaps.sample(31_250, 4));
        assert!(gaps.sample(51_249, 4), "a gap of 19999 ns is short");
        assert!(!gaps.sample(101_000, 4));
        let noted = gaps.end();
        assert_eq!((noted.steps, noted.ns, noted.max_ns, noted.dropped), (16, 100_000, 49_751, 0));
        assert_eq!(noted.long, [(250, 30_000), (50_249, 49_751)]);
        assert_eq!(noted.counts.iter().sum::<u64>(), 4);
        assert_eq!((noted.counts[bucket(250)], noted.counts[bucket(19_999)]), (1, 1));
    }

    #[test]
    fn the_longest_of_short_gaps_is_that_of_its_bucket() {
        let mut gaps = Gaps::start(0, 1);
        gaps.sample(300, 4);
        let noted = gaps.end();
        assert!((300..=310).contains(&noted.max_ns) && noted.long.is_empty(), "{}", noted.max_ns);
    }

    #[test]
    fn long_gaps_beyond_the_list_are_counted() {
        let mut gaps = Gaps::start(0, u64::MAX);
        for k in 1..=MOST_LONG as u64 + 3 {
            gaps.sample(k * LONG_NS, 1);
        }
        let noted = gaps.end();
        assert_eq!(
            (noted.long.len(), noted.dropped, noted.counts[bucket(LONG_NS)]),
            (MOST_LONG, 3, MOST_LONG as u64 + 3)
        );
    }
}
