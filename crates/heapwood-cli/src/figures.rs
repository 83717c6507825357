//! The cost of a run: the operating system's account of the process, and the heap's statistics.

use crate::args::Size;
use crate::memory::{Memory, Watch};
use heapwood::{Attached, Config, Stats};
use heapwood_gc::STATISTICS;
use heapwood_gc::stats::StatKind;
use heapwood_os::process::clock::monotonic_ns;
use heapwood_os::process::usage::usage;
use heapwood_report::CommandError;
use heapwood_report::say;
use heapwood_report::size::show;
use heapwood_workloads::Workload;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// One run, as `--json` prints it.
#[derive(serde::Serialize)]
pub(crate) struct Figures {
    pub(crate) workload: &'static str,
    pub(crate) n: u64,
    /// Threads, each of which did the whole work, unless they shared it.
    pub(crate) threads: u32,
    #[serde(skip)]
    shared: bool,
    /// The workload's results, line by line. With several threads, the results of each.
    pub(crate) lines: Vec<Value>,
    wall_s: f64,
    user_s: f64,
    sys_s: f64,
    /// User and system.
    cpu_s: f64,
    max_rss_bytes: u64,
    minor_faults: u64,
    /// The share of the process's CPU time in collections, without sweeping by allocation.
    gc_cpu_share: f64,
    #[serde(flatten)]
    heap: Statistics,
    per_collection: Rates,
    /// Of objects up to 32 KiB.
    per_small_mib: Rates,
    percent: u32,
    limit_bytes: Option<usize>,
    /// Where the heap's memory was, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Memory>,
}

/// The heap's statistics. Keys are the names of the list, but times are in microseconds, and levels have the prefix
/// `heap_`, since the process has other ones.
struct Statistics(Stats);

impl Serialize for Statistics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(STATISTICS.len()))?;
        for (statistic, value) in STATISTICS.iter().zip(self.0.values()) {
            let of = if statistic.kind == StatKind::Level { "heap_" } else { "" };
            match statistic.name.strip_suffix("_ns") {
                Some(time) => map.serialize_entry(&format!("{of}{time}_us"), &us(value))?,
                None => map.serialize_entry(&format!("{of}{}", statistic.name), &value)?,
            }
        }
        map.end()
    }
}

/// The statistics about sharing between threads.
const COUNTERS: [&str; 3] = ["span_lock_acquisitions", "page_lock_acquisitions", "shared_rmws"];

/// Counters as ratios.
struct Rates {
    stats: Stats,
    of: f64,
}

impl Rates {
    fn per_collection(stats: Stats) -> Self {
        Rates { stats, of: stats.collections as f64 }
    }

    fn per_small_mib(stats: Stats) -> Self {
        Rates { stats, of: stats.small_bytes as f64 / (1 << 20) as f64 }
    }

    fn rate(&self, count: u64) -> f64 {
        if self.of > 0.0 { count as f64 / self.of } else { 0.0 }
    }
}

impl Serialize for Rates {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(COUNTERS.len()))?;
        for (statistic, value) in STATISTICS.iter().zip(self.stats.values()) {
            if COUNTERS.contains(&statistic.name) {
                map.serialize_entry(statistic.name, &self.rate(value))?;
            }
        }
        map.end()
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// The program that runs.
pub(crate) struct Run {
    pub(crate) workload: &'static Workload,
    pub(crate) size: Size,
    pub(crate) config: Config,
}

/// A run in progress.
pub(crate) struct Clock(u64);

impl Clock {
    pub(crate) fn start() -> Self {
        Clock(monotonic_ns())
    }

    /// The time ends here. Then the mutator detaches, which adds the rest of its counts.
    pub(crate) fn stop(
        self,
        m: Attached,
        run: Run,
        lines: Vec<Value>,
        watch: Option<Watch>,
    ) -> Result<Figures, CommandError> {
        let wall_s = (monotonic_ns() - self.0) as f64 / 1e9;
        let (used, heap) = (usage(), m.heap());
        let memory = watch.map(|watch| watch.stop(&m)).transpose().map_err(CommandError::run)?;
        drop(m);
        let stats = heap.stats();
        Ok(Figures {
            workload: run.workload.name,
            shared: run.workload.shared.is_some(),
            n: run.size.n,
            threads: run.size.threads,
            lines,
            wall_s,
            user_s: used.user_s,
            sys_s: used.sys_s,
            cpu_s: used.user_s + used.sys_s,
            max_rss_bytes: used.max_rss_bytes,
            minor_faults: used.minor_faults,
            gc_cpu_share: stats.collect_cpu_ns as f64 / 1e9 / (used.user_s + used.sys_s).max(1e-9),
            heap: Statistics(stats),
            per_collection: Rates::per_collection(stats),
            per_small_mib: Rates::per_small_mib(stats),
            percent: run.config.percent,
            limit_bytes: run.config.limit,
            memory,
        })
    }
}

impl Figures {
    pub(crate) fn print(&self) {
        let stats = &self.heap.0;
        say!("");
        if self.threads > 1 {
            match self.shared {
                true => say!("{} threads shared this among them", self.threads),
                false => say!("each of {} threads did all of this", self.threads),
            }
        }
        say!(
            "wall {:.2} s   user {:.2} s   system {:.2} s   CPU {:.2} s   max RSS {}   minor faults {}",
            self.wall_s,
            self.user_s,
            self.sys_s,
            self.user_s + self.sys_s,
            show(self.max_rss_bytes),
            self.minor_faults
        );
        say!(
            "collections {}   pause p50 / p99 / max {:.0} / {:.0} / {:.0} us   collector's share of CPU {:.1} %",
            stats.collections,
            us(stats.pause_p50_ns),
            us(stats.pause_p99_ns),
            us(stats.pause_max_ns),
            self.gc_cpu_share * 100.0
        );
        say!("longest: stop {:.0}, marking {:.0} us", us(stats.stop_max_ns), us(stats.mark_max_ns));
        say!(
            "heap: allocated {}   alive at the last collection {}   committed {}",
            show(stats.allocated_bytes),
            show(stats.live_bytes as u64),
            show(stats.committed_bytes as u64)
        );
        say!(
            "locks taken {} (of span lists {}, of pages {})   per MiB of small objects: locks {:.2}, shared read-modify-writes {:.2}",
            stats.span_lock_acquisitions + stats.page_lock_acquisitions,
            stats.span_lock_acquisitions,
            stats.page_lock_acquisitions,
            self.per_small_mib.rate(stats.span_lock_acquisitions + stats.page_lock_acquisitions),
            self.per_small_mib.rate(stats.shared_rmws)
        );
        let ms = |ns: u64| us(ns) / 1e3;
        say!(
            "phases, ms: prep {:.1}, of it stops {:.1}; mark {:.1}; sweep {:.1}; page recovery {:.1}; total {:.1}",
            ms(stats.phase_prep_ns),
            ms(stats.phase_stop_ns),
            ms(stats.phase_mark_ns),
            ms(stats.phase_sweep_ns),
            ms(stats.phase_recovery_ns),
            ms(stats.phase_total_ns)
        );
        self.memory.iter().for_each(Memory::print);
    }
}
