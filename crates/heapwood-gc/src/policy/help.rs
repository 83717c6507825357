//! Help: whether workers mark beside the collecting thread. They come late, and a marker that is not alone writes marks more
//! slowly, so help makes markings of two milliseconds longer; on some machines it does so for all heaps whose objects lie in
//! order (docs/design/parallel-marking.md). So it is measured: workers are called only if one thread would take longer than
//! [`LEAST_HELPED_NS`], and then if a marking with them was faster than one without by [`LEAST_SPEEDUP`]; one marking in
//! [`TRY_EVERY`] tries the other way. Invariant: what is decided depends on the markings before alone.

use super::tunables::help::*;

/// How fast markings were, in bytes a nanosecond: the last by one thread, and the last with help.
#[derive(Debug, Default)]
pub(crate) struct HelpPolicy {
    alone: Option<f64>,
    helped: Option<f64>,
    /// The bytes that the last found alive.
    bytes: usize,
    /// Markings that were worth help since the other way was tried.
    since: u32,
}

impl HelpPolicy {
    /// Whether workers help with the next marking of a heap with N bytes in use.
    pub(crate) fn wants_help(&mut self, in_use: usize) -> bool {
        let Some(alone) = self.alone else { return self.helped.is_none() && in_use >= FIRST_HELP_BYTES };
        if (self.bytes as f64) < alone * LEAST_HELPED_NS as f64 {
            return false;
        }
        let Some(helped) = self.helped else { return true };
        self.since += 1;
        let tries = self.since >= TRY_EVERY;
        if tries {
            self.since = 0;
        }
        (helped > alone * LEAST_SPEEDUP) != tries
    }

    /// A marking found N bytes alive in this time.
    pub(crate) fn after_marking(&mut self, bytes: usize, ns: u64, helped: bool) {
        let speed = Some(bytes as f64 / ns.max(1) as f64);
        *(if helped { &mut self.helped } else { &mut self.alone }) = speed;
        self.bytes = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Markings of a heap of N bytes, by one thread at a byte a nanosecond and with help at `helped` times that: which of
    /// them had help.
    fn play(policy: &mut HelpPolicy, bytes: usize, helped: f64, times: usize) -> Vec<bool> {
        let mut mark = || {
            let helps = policy.wants_help(0);
            let ns = if helps { bytes as f64 / helped } else { bytes as f64 };
            policy.after_marking(bytes, ns as u64, helps);
            helps
        };
        (0..times).map(|_| mark()).collect()
    }

    #[test]
    fn workers_help_where_that_was_faster() {
        let mut policy = HelpPolicy::default();
        assert_eq!(play(&mut policy, 1 << 20, 2.0, 3), [false; 3], "too short");
        let long = 16_000_000;
        let helped = play(&mut policy, long, 1.7, 2 + 3 * TRY_EVERY as usize);
        let alone = helped.iter().filter(|&&helps| !helps).count();
        assert_eq!((helped[1], alone), (true, 4), "the first, and three tries");
        // The program has changed: help does no good any more.
        let helped = play(&mut policy, long, 0.8, 4 * TRY_EVERY as usize);
        assert_eq!(helped[TRY_EVERY as usize..].iter().filter(|&&helps| helps).count(), 3);
        // The first marking of a large heap has help.
        assert!(HelpPolicy::default().wants_help(FIRST_HELP_BYTES) && !HelpPolicy::default().wants_help(0));
    }
}
