//! Runs in Go's benchmark format, for benchstat: a line for each run with what the process took, and a line for each of its
//! figures that is in nanoseconds, whose name is the key `row`. Other figures stand on the line of the process. All keys of
//! a run are the same but that by which runs are compared: `program`, or the setting of `--ab`.

use super::measured::Run;
use super::quantity::{Quantity, Source, Unit, quantities};
use crate::args::Size;
use heapwood_report::Header;
use heapwood_report::gobench::{Line, head};
use heapwood_report::say;
use heapwood_workloads::Workload;

/// What was run, how much of it, and by which key its runs are compared.
pub(crate) struct Benchmark<'a> {
    pub(crate) workload: &'static Workload,
    pub(crate) size: Size,
    pub(crate) key: &'a str,
}

/// What stands above all lines.
pub(crate) fn print_head(header: &Header) {
    say!("{}", head(&header.to_string()));
}

impl Benchmark<'_> {
    pub(crate) fn print(&self, value: &str, runs: &[Run]) {
        for line in runs.iter().flat_map(|run| self.lines(value, run)) {
            say!("{line}");
        }
    }

    fn lines(&self, value: &str, run: &Run) -> Vec<Line> {
        let (mut process, mut rows) = (Vec::new(), Vec::new());
        for quantity in quantities(self.workload) {
            let (factor, unit) = unit_of(&quantity);
            let mut measured = quantity.of(run) * factor;
            if quantity.unit == Unit::Seconds {
                // The system counts no less than a nanosecond.
                measured = measured.round();
            }
            match unit {
                // Where Go has it, before all others.
                Some(unit) if unit == "ns/op" => process.insert(0, (measured, unit)),
                Some(unit) => process.push((measured, unit)),
                None => {
                    let row = quantity.name.trim_end_matches("_ns");
                    rows.push(self.line(Some(row), value).measured(measured, "ns/op"));
                }
            }
        }
        let process = process.into_iter();
        rows.insert(
            0,
            process.fold(self.line(None, value), |line, (value, unit)| line.measured(value, unit)),
        );
        rows
    }

    fn line(&self, row: Option<&str>, value: &str) -> Line {
        let mut line = Line::new(self.workload.name).with("n", self.size.n);
        if self.size.threads > 1 {
            line = line.with("threads", self.size.threads);
        }
        if let Some(row) = row {
            line = line.with("row", row);
        }
        line.with(self.key, value)
    }
}

/// The factor and the unit on the line of the process; no unit for what has a line of its own.
fn unit_of(quantity: &Quantity) -> (f64, Option<String>) {
    let words = |suffix: &str| quantity.name.trim_end_matches(suffix).replace('_', "-");
    match (quantity.source, quantity.unit) {
        (Source::Wall, _) => (1e9, Some("ns/op".into())),
        (Source::Cpu, _) => (1e9, Some("cpu-ns/op".into())),
        (Source::MaxRss, _) => (1.0, Some("max-RSS-bytes".into())),
        (_, Unit::Nanoseconds) => (1.0, None),
        // In nanoseconds benchstat knows it for a time.
        (_, Unit::Microseconds) => (1e3, Some(format!("{}-ns", words("_us")))),
        _ => (1.0, Some(words(""))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_os::process::usage::Usage;

    fn lines(workload: &str, threads: u32, figures: &[(&str, f64)]) -> Vec<String> {
        let workload = Workload::find(workload).unwrap();
        let used = Usage { user_s: 1.5, sys_s: 0.25, max_rss_bytes: 3 << 20, ..Usage::default() };
        let figures = figures.iter().map(|&(name, value)| (name.to_string(), value)).collect();
        let benchmark = Benchmark { workload, size: Size { n: 18, threads }, key: "percent" };
        let lines = benchmark.lines("100", &Run { wall_s: 1.125, used, figures });
        // How many processors there are is the machine's.
        let squeezed = |line: &Line| line.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        let cut = |line: String| {
            let (name, rest) = line.split_once(' ').unwrap();
            format!("{} {rest}", name.rsplit_once('-').unwrap().0)
        };
        lines.iter().map(squeezed).map(cut).collect()
    }

    #[test]
    fn the_process_is_a_line() {
        let line = "1 1125000000 ns/op 1750000000 cpu-ns/op 3145728 max-RSS-bytes";
        assert_eq!(lines("trees", 1, &[]), [format!("BenchmarkTrees/n=18/percent=100 {line}")]);
        assert_eq!(lines("trees", 2, &[]), [format!("BenchmarkTrees/n=18/threads=2/percent=100 {line}")]);
        let churn = lines("churn", 1, &[("mops", 2.5), ("longest_gap_us", 12.5)]);
        let line = format!("{line} 2.5 mops 12500 longest-gap-ns");
        assert_eq!(churn, [format!("BenchmarkChurn/n=18/percent=100 {line}")]);
    }

    #[test]
    fn each_figure_in_nanoseconds_is_a_line() {
        let figures: Vec<(&str, f64)> =
            Workload::find("mark").unwrap().figures.iter().map(|f| (f.name, 13.9)).collect();
        let lines = lines("mark", 1, &figures);
        assert_eq!(lines.len(), 1 + figures.len());
        assert!(lines[0].ends_with("max-RSS-bytes"), "{}", lines[0]);
        assert!(
            lines.contains(&"BenchmarkMark/n=18/row=lists_1/percent=100 1 13.9 ns/op".into()),
            "{lines:?}"
        );
    }
}
