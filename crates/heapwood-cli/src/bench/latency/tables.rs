//! The tables for people, which are valid Markdown: two for each size, of gaps and of cost.

use super::super::build::Skipped;
use super::programs::Memory;
use super::rounds::{AtSize, Entry, Report, described};
use super::summary::{PERCENTILES, Summary};
use heapwood_report::say;
use heapwood_report::spread::Spread;
use heapwood_report::tables::{Table, number, show, table};

const MIB: f64 = (1 << 20) as f64;

pub(crate) fn print(report: &Report) {
    if let Some(header) = &report.header {
        say!("{header}");
    }
    say!("");
    say!(
        "Gaps between readings of the clock, one every 4 steps, in microseconds: the median of the runs, the longest gap and"
    );
    say!(
        "the MMU (minimum mutator utilisation) of the worst. A gap of 20 us or more is time without the mutator."
    );
    for size in &report.sizes {
        say!("");
        say!("## {}", described(size.setup));
        say!("");
        say!("{}", gaps(size));
        say!("");
        say!("{}", cost(size));
        for Skipped { name, why } in &size.failed {
            say!("");
            say!("Failed: {name}: {why}");
        }
    }
    for Skipped { name, why } in &report.skipped {
        say!("");
        say!("Skipped: {name}: {why}");
    }
}

fn gaps(size: &AtSize) -> Table {
    let percentiles = PERCENTILES.map(|(label, _)| label);
    let header = [&[""][..], &percentiles, &["max", "MMU 1 ms", "10 ms", "100 ms"]].concat();
    let mut table = table(&header);
    for entry in &size.entries {
        let at = |k: usize| Spread::of(entry.runs.iter().map(|run| run.gaps_ns[k] as f64)).median;
        let (max, least) = (entry.max_ns(), |k: usize| entry.least_utilisation(k));
        table.add_row(line(
            entry.program.name.clone(),
            std::array::from_fn(at),
            max,
            std::array::from_fn(least),
        ));
        if entry.program.ours && entry.runs.len() > 1 {
            let worst = entry.worst();
            let name = format!("{}, worst run", entry.program.name);
            table.add_row(line(name, worst.gaps_ns.map(|ns| ns as f64), worst.max_ns, worst.utilisation));
        }
    }
    table
}

fn line(name: String, gaps_ns: [f64; 5], max_ns: u64, utilisation: [Option<f64>; 3]) -> Vec<String> {
    let us = |ns: f64| number(ns / 1e3);
    let share = |share: Option<f64>| share.map_or("-".into(), |share| format!("{share:.2}"));
    let gaps = gaps_ns.map(us).into_iter().chain([us(max_ns as f64)]);
    std::iter::once(name).chain(gaps).chain(utilisation.map(share)).collect()
}

fn cost(size: &AtSize) -> Table {
    let mut table =
        table(&["", "version", "memory", "max RSS MiB", "CPU ns a step", "million steps a second"]);
    for entry in &size.entries {
        let spread = |value: &dyn Fn(&Summary) -> f64| Spread::of(entry.runs.iter().map(value));
        table.add_row([
            entry.program.name.clone(),
            entry.version(),
            entry.memory_text(),
            show(spread(&|run| run.rss_bytes as f64), MIB),
            show(spread(&|run| run.cpu_ns_a_step), 1.0),
            show(spread(&|run| run.steps_a_s), 1e6),
        ]);
    }
    table
}

impl Entry {
    /// The longest gap of all runs.
    pub(crate) fn max_ns(&self) -> u64 {
        self.worst().max_ns
    }

    /// The run with the longest gap.
    pub(crate) fn worst(&self) -> &Summary {
        self.runs.iter().max_by_key(|run| run.max_ns).expect("there is a run")
    }

    fn least_utilisation(&self, k: usize) -> Option<f64> {
        self.runs.iter().map(|run| run.utilisation[k]).reduce(|a, b| Some(a?.min(b?))).flatten()
    }

    /// The version, and what the program says that ran.
    pub(crate) fn version(&self) -> String {
        match self.runs.first().and_then(|run| run.collector.as_ref()) {
            None => self.program.version.clone(),
            Some(collector) => format!("{}, {collector}", self.program.version),
        }
    }

    /// The memory that it was given.
    pub(crate) fn memory_text(&self) -> String {
        match self.memory {
            Memory::Itself => "-".into(),
            Memory::Gogc(percent) => format!("GOGC={percent}"),
            Memory::HeapMib(mib) => format!("-Xmx{mib}m"),
        }
    }
}
