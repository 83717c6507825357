//! The line that a heap writes for a collection, in the format of Go's gctrace (runtime/extern.go), so that readers of
//! those lines read these. Figures that Go does not have follow a bar, as `key=value`. Invariant: the line is written
//! when the threads go on again, in one write, and allocates nothing.

use super::phases::{AwaitedThread, Elapsed, Times};
use super::record::ConcurrentTotals;
use core::fmt::{self, Display};
use heapwood_heap::{ReclaimTimes, SpaceStats};

/// Figures of a collection for its report, besides its times.
pub(crate) struct TracedCollection {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// What its pause did, and why.
    pub(crate) kind: &'static str,
    pub(crate) cause: &'static str,
    /// Why it is a full collection in a stop, if it is.
    pub(crate) why: Option<&'static str>,
    /// The concurrent marking that it ended.
    pub(crate) ended: Option<ConcurrentTotals>,
    /// The heap's size in bytes when it began, and the live bytes.
    pub(crate) sizes: (usize, usize),
    /// The size at which it was due.
    pub(crate) goal: usize,
    /// Bytes of the scanned roots.
    pub(crate) roots: RootBytes,
    /// The program asked for it.
    pub(crate) forced: bool,
}

/// The figures of the line: of a collection, and since the last one.
pub(crate) struct TraceLine<'t> {
    /// Its beginning, in nanoseconds since the heap was made.
    pub(crate) at: u64,
    /// CPU time of collecting threads and of the process, in nanoseconds since the heap was made.
    pub(crate) cpu: (u64, u64),
    pub(crate) collected: &'t TracedCollection,
    pub(crate) times: &'t Times,
    /// Bytes outside the heap.
    pub(crate) external: usize,
    /// The space's statistics now and after the last collection.
    pub(crate) space: [SpaceStats; 2],
    /// The reclaim times at the same moments.
    pub(crate) reclaimed: [ReclaimTimes; 2],
}

/// Bytes of roots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RootBytes {
    pub(crate) stacks: usize,
    pub(crate) others: usize,
}

/// Nanoseconds as milliseconds with two significant digits, as Go writes them.
struct Ms(u64);

impl Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = self.0 / 1000;
        let mut rounded = us;
        let mut digits = 3usize;
        while rounded >= 100 && digits > 0 {
            rounded /= 10;
            digits -= 1;
        }
        match (us, digits) {
            (0, _) => f.write_str("0"),
            (_, 0) => write!(f, "{}", us / 1000),
            _ => {
                let one = 10u64.pow(digits as u32);
                write!(f, "{}.{:0digits$}", rounded / one, rounded % one)
            }
        }
    }
}

/// Whole MiB, which Go calls MB.
fn mb(bytes: usize) -> usize {
    bytes >> 20
}

impl TraceLine<'_> {
    /// Go's part of the line. All work of a collection is the collecting thread's (Go: assist) or its helpers' (Go:
    /// background). Marking beside the program is no part of a pause: it is told behind the bar.
    fn as_go_has_it(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Times { requested, marking, marked, ended, helped, .. } = *self.times;
        let collected = self.collected;
        let [before, mark, after]: [Elapsed; 3] =
            [marking.since(requested), marked.since(marking), ended.since(marked)];
        let (collecting, process) = self.cpu;
        let percent = (collecting * 100 / process.max(1)).min(100);
        let seconds = self.at / 1_000_000;
        write!(f, "gc {} @{}.{:03}s {percent}%: ", collected.number, seconds / 1000, seconds % 1000)?;
        write!(f, "{}+{}+{} ms clock, ", Ms(before.wall), Ms(mark.wall), Ms(after.wall))?;
        let (alone, helped) = (Ms(mark.cpu), Ms(helped.0));
        write!(f, "{}+{alone}/{helped}/0+{} ms cpu, ", Ms(before.cpu), Ms(after.cpu))?;
        let ((size, live), RootBytes { stacks, others }) = (collected.sizes, collected.roots);
        write!(f, "{0}->{0}->{1} MB, {2} MB goal, ", mb(size), mb(live), mb(collected.goal))?;
        write!(f, "{} MB stacks, {} MB globals, ", mb(stacks), mb(others))?;
        write!(f, "{} P{}", 1 + self.times.helped.1, if collected.forced { " (forced)" } else { "" })
    }

    /// The rest of the line.
    fn behind_the_bar(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TracedCollection { kind, cause, why, ended, .. } = self.collected;
        write!(f, " | kind={kind} cause={cause}")?;
        if let Some(why) = why {
            write!(f, " why={why}")?;
        }
        write!(f, " prep_ms={} stop_ms={}", Ms(self.times.prep()), Ms(self.times.stop()))?;
        if let Some(AwaitedThread { thread, ns }) = self.times.awaited {
            write!(f, " awaited={thread} awaited_ms={}", Ms(ns))?;
        }
        if let Some(ConcurrentTotals { mark_ns, bytes, floating, .. }) = ended {
            write!(f, " beside_ms={} beside_KiB={}", Ms(*mark_ns), bytes >> 10)?;
            if let Some(floating) = floating {
                write!(f, " floating={}", floating.objects)?;
            }
        }
        if self.external > 0 {
            write!(f, " external_KiB={}", self.external >> 10)?;
        }
        let [now, before] = &self.reclaimed;
        let (swept, recovered) = (now.sweep_ns - before.sweep_ns, now.recovery_ns - before.recovery_ns);
        write!(f, " sweep_ms={} recovery_ms={}", Ms(swept), Ms(recovered))?;
        let [now, before] = &self.space;
        let since = |figure: fn(&SpaceStats) -> u64| figure(now).saturating_sub(figure(before));
        let (spans, pages) = (since(|s| s.span_lock_acquisitions), since(|s| s.page_lock_acquisitions));
        let small = since(|s| s.small_allocated);
        write!(f, " small_KiB={} locks={spans}+{pages}", small >> 10)?;
        if small == 0 {
            return Ok(());
        }
        write!(f, " locks_per_MiB={:.2}", (spans + pages) as f64 * (1 << 20) as f64 / small as f64)
    }
}

impl Display for TraceLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_go_has_it(f)?;
        self.behind_the_bar(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_written_as_go_writes_them() {
        for (ns, text) in [
            (0, "0"),
            (999, "0"),
            (1_000, "0.001"),
            (52_700, "0.052"),
            (123_456, "0.12"),
            (1_999_999, "1.9"),
            (9_990_000, "9.9"),
            (10_000_000, "10"),
            (123_999_999, "123"),
        ] {
            assert_eq!(Ms(ns).to_string(), text);
        }
    }
}
