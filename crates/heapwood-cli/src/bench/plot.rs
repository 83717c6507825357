//! The picture: bars of the workload's headline figures, or of CPU time, and of memory. All panels have the programs in
//! the order of the first.

use super::report::{Report, Row};
use crate::args::Size;
use heapwood_report::Spread;
use heapwood_report::bars::{self, Bar, Panel};

/// The picture, as SVG.
pub(crate) fn draw(report: &Report) -> Result<String, String> {
    let size = Size { n: report.n, threads: report.threads };
    let title = format!("heapwood bench {} {size}", report.workload.name);
    let how = format!(
        "shorter is better; bars: median of {} runs in turn; lines: least to most; x: over the green one's; {}, {}",
        report.header.runs,
        report.header.day(),
        report.header.machine
    );
    bars::draw(&title, &how, &panels(report))
}

fn panels(report: &Report) -> Vec<Panel<'_>> {
    let headlines: Vec<_> = report.workload.figures.iter().filter(|f| f.headline).collect();
    let main = |row: &Row| headlines.first().map_or(row.cpu_s, |f| row.figures[f.name].spread).median;
    let mut order: Vec<&Row> = report.results.iter().collect();
    order.sort_by(|a, b| main(a).total_cmp(&main(b)));

    let panel = |label: &str, of: &dyn Fn(&Row) -> (Spread, Spread)| {
        let mut bars = Vec::new();
        for &row in &order {
            let (value, ratio) = of(row);
            let (name, ours) = (&row.name[..], row.name == report.results[0].name);
            bars.push(Bar { name, value, ratio: (!ours).then_some(ratio.median), ours });
        }
        Panel { label: label.to_string(), bars }
    };
    let mut panels: Vec<Panel<'_>> = headlines
        .iter()
        .map(|f| panel(f.label, &|row| (row.figures[f.name].spread, row.figures[f.name].ratio)))
        .collect();
    if panels.is_empty() {
        panels.push(panel("CPU seconds, user and system", &|row| (row.cpu_s, row.ratio_cpu)));
    }
    panels.push(panel("max RSS, MiB", &|row| (row.max_rss_bytes.over((1 << 20) as f64), row.ratio_rss)));
    panels
}
