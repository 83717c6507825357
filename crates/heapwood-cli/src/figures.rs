//! What a run cost: the operating system's account of the process, and the heap's own.

use heapwood::Attached;
use heapwood_os::clock::monotonic_ns;
use heapwood_os::usage::usage;
use heapwood_report::say;
use heapwood_report::size::show;
use serde::Serialize;
use serde_json::Value;

/// One run, as `--json` prints it.
#[derive(Serialize)]
pub(crate) struct Figures {
    pub(crate) workload: &'static str,
    pub(crate) n: u64,
    /// What the workload itself found, line by line.
    pub(crate) lines: Vec<Value>,
    wall_s: f64,
    user_s: f64,
    sys_s: f64,
    max_rss_bytes: u64,
    minor_faults: u64,
    collections: u64,
    pause_p50_us: f64,
    pause_p99_us: f64,
    pause_max_us: f64,
    /// Parts of pauses: until all threads had stopped, and marking.
    stop_p99_us: f64,
    stop_max_us: f64,
    mark_p99_us: f64,
    mark_max_us: f64,
    /// What the collecting thread swept before, which is no part of a pause.
    sweep_p99_us: f64,
    sweep_max_us: f64,
    /// The longest that the locks were held which allocation may wait for.
    hold_spans_max_us: f64,
    hold_pages_max_us: f64,
    /// The share of the process's CPU time spent in collections (sweeping, which allocation does, not included).
    gc_cpu_share: f64,
    /// What the last collection found alive.
    heap_live_bytes: u64,
    heap_committed_bytes: u64,
    /// Of those committed, what may have memory behind it.
    heap_backed_bytes: u64,
    allocated_bytes: u64,
    /// Small-object spans handed out, and how often either lock behind them was taken.
    spans: u64,
    span_visits: u64,
    page_visits: u64,
    percent: u32,
    limit_bytes: Option<u64>,
}

/// A run under way.
pub(crate) struct Clock(u64);

impl Clock {
    pub(crate) fn start() -> Self {
        Clock(monotonic_ns())
    }

    /// The time is that until here. Then the mutator goes: it counts some of what it did only when it leaves.
    pub(crate) fn stop(self, m: Attached, run: &crate::args::Run, n: u64, lines: Vec<Value>) -> Figures {
        let wall_s = (monotonic_ns() - self.0) as f64 / 1e9;
        let (used, heap) = (usage(), m.heap());
        drop(m);
        let stats = heap.stats();
        let us = |ns: u64| ns as f64 / 1e3;
        Figures {
            workload: run.workload.name,
            n,
            lines,
            wall_s,
            user_s: used.user_s,
            sys_s: used.sys_s,
            max_rss_bytes: used.max_rss_bytes,
            minor_faults: used.minor_faults,
            collections: stats.collections,
            pause_p50_us: us(stats.pause_p50_ns),
            pause_p99_us: us(stats.pause_p99_ns),
            pause_max_us: us(stats.pause_max_ns),
            stop_p99_us: us(stats.stop_p99_ns),
            stop_max_us: us(stats.stop_max_ns),
            mark_p99_us: us(stats.mark_p99_ns),
            mark_max_us: us(stats.mark_max_ns),
            sweep_p99_us: us(stats.sweep_p99_ns),
            sweep_max_us: us(stats.sweep_max_ns),
            hold_spans_max_us: us(stats.hold_spans_max_ns),
            hold_pages_max_us: us(stats.hold_pages_max_ns),
            gc_cpu_share: stats.collect_cpu_ns as f64 / 1e9 / (used.user_s + used.sys_s).max(1e-9),
            heap_live_bytes: stats.live_bytes as u64,
            heap_committed_bytes: stats.committed_bytes as u64,
            heap_backed_bytes: stats.backed_bytes as u64,
            allocated_bytes: stats.allocated_bytes,
            spans: stats.spans,
            span_visits: stats.span_visits,
            page_visits: stats.page_visits,
            percent: run.percent,
            limit_bytes: run.limit.map(|l| l as u64),
        }
    }
}

impl Figures {
    pub(crate) fn print(&self) {
        say!("");
        say!(
            "wall {:.2} s   user {:.2} s   system {:.2} s   max RSS {}   minor faults {}",
            self.wall_s,
            self.user_s,
            self.sys_s,
            show(self.max_rss_bytes),
            self.minor_faults
        );
        say!(
            "collections {}   pause p50 / p99 / max {:.0} / {:.0} / {:.0} us   collector's share of CPU {:.1} %",
            self.collections,
            self.pause_p50_us,
            self.pause_p99_us,
            self.pause_max_us,
            self.gc_cpu_share * 100.0
        );
        say!(
            "longest: stop {:.0}, marking {:.0}, sweeping before it {:.0} us; lock of span lists held {:.0}, of pages {:.0} us",
            self.stop_max_us,
            self.mark_max_us,
            self.sweep_max_us,
            self.hold_spans_max_us,
            self.hold_pages_max_us
        );
        say!(
            "heap: allocated {}   alive at the last collection {}   committed {}",
            show(self.allocated_bytes),
            show(self.heap_live_bytes),
            show(self.heap_committed_bytes)
        );
        say!(
            "spans {}   locks taken {} (of span lists {}, of pages {})",
            self.spans,
            self.span_visits + self.page_visits,
            self.span_visits,
            self.page_visits
        );
    }
}
