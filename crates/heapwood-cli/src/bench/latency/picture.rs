//! The picture: for each number of threads and frames a gap percentile over the size of the cache, with CPU time a step and
//! memory beside it, all axes logarithmic. Heapwood's longest gap of all runs is a cross, so that its worst run is shown.

use super::rounds::{AtSize, Entry, Report};
use super::summary::PERCENTILES;
use heapwood_report::lines::{self, Chart, Series};
use heapwood_report::spread::Spread;

/// The percentile of the curves.
const SHOWN: usize = 3;
const MIB: f64 = (1 << 20) as f64;

/// The picture, as SVG.
pub(crate) fn draw(report: &Report) -> Result<String, String> {
    let (day, machine, runs) = report
        .header
        .as_ref()
        .map_or((String::new(), String::new(), 0), |h| (h.day().to_string(), h.machine.to_string(), h.runs));
    let how = format!(
        "gap: {} of all gaps are at most this long, median of {runs} runs; crosses: the longest of Heapwood's worst run; \
         {day}, {machine}",
        PERCENTILES[SHOWN].0
    );
    let mut kinds: Vec<(u32, u64)> =
        report.sizes.iter().map(|size| (size.setup.threads, size.setup.depth)).collect();
    kinds.dedup();
    let charts: Vec<Vec<Chart>> = kinds.iter().map(|kind| row(report, *kind)).collect();
    lines::draw("heapwood bench latency", &how, &charts)
}

fn row(report: &Report, (threads, depth): (u32, u64)) -> Vec<Chart> {
    let sizes: Vec<&AtSize> =
        report.sizes.iter().filter(|s| (s.setup.threads, s.setup.depth) == (threads, depth)).collect();
    let median =
        |entry: &Entry, value: &dyn Fn(usize) -> f64| Spread::of((0..entry.runs.len()).map(value)).median;
    let chart = |label: String, value: &dyn Fn(&Entry) -> f64, mark: bool| Chart {
        label,
        x_label: format!("live MiB; threads: {threads}, frames: {depth}"),
        series: names(report)
            .into_iter()
            .map(|(name, ours)| {
                let at = |of: &dyn Fn(&Entry) -> f64| {
                    let each = sizes.iter().filter_map(|size| {
                        let entry = size.entries.iter().find(|entry| entry.program.name == name)?;
                        Some((size.setup.live_bytes as f64 / MIB, of(entry)))
                    });
                    let mut points: Vec<(f64, f64)> = each.collect();
                    points.sort_by(|a, b| a.0.total_cmp(&b.0));
                    points
                };
                let crosses =
                    if mark && ours { at(&|entry| entry.max_ns() as f64 / 1e3) } else { Vec::new() };
                Series { points: at(value), crosses, name, ours }
            })
            .collect(),
    };
    vec![
        chart("gap, us".into(), &|e| median(e, &|k| e.runs[k].gaps_ns[SHOWN] as f64 / 1e3), true),
        chart("CPU ns a step".into(), &|e| median(e, &|k| e.runs[k].cpu_ns_a_step), false),
        chart("max RSS, MiB".into(), &|e| median(e, &|k| e.runs[k].rss_bytes as f64 / MIB), false),
    ]
}

/// All programs, in order, and whether each is Heapwood.
fn names(report: &Report) -> Vec<(String, bool)> {
    let mut names: Vec<(String, bool)> = Vec::new();
    for entry in report.sizes.iter().flat_map(|size| &size.entries) {
        let name = (entry.program.name.clone(), entry.program.ours);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
