//! The tables for people, which are valid Markdown.

use super::report::{Report, Row};
use heapwood_report::say;
use heapwood_report::tables::{Table, number, show, show_as, show_p, table};

/// With more figures than this, figures are rows.
const MOST_COLUMNS: usize = 4;

const MIB: f64 = (1 << 20) as f64;

pub(crate) fn print(report: &Report) {
    say!("{}", report.header);
    say!("");
    say!(
        "Median (least-most) of {} runs of each program, in turn. x: over the first one's in the same round.",
        report.header.runs
    );
    say!(
        "p: how likely the two would lie as far apart by chance (Mann-Whitney U test; -: too few runs to say)."
    );
    say!("");
    say!("{}", times(report));
    say!("");
    say!("{}", memory(report));
    if !report.workload.figures.is_empty() {
        say!("");
        say!("{}", figures(report));
    }
    notes(report);
}

fn times(report: &Report) -> Table {
    let mut table = table(&["", "version", "CPU s", "x", "p", "wall s", "x", "p", "user s", "system s"]);
    for row in &report.results {
        table.add_row([
            row.name.clone(),
            row.version.clone(),
            show(row.cpu_s, 1.0),
            show(row.ratio_cpu, 1.0),
            show_p(row.p_cpu),
            show(row.wall_s, 1.0),
            show(row.ratio_wall, 1.0),
            show_p(row.p_wall),
            show(row.user_s, 1.0),
            show(row.sys_s, 1.0),
        ]);
    }
    table
}

fn memory(report: &Report) -> Table {
    let mut table = table(&["", "max RSS MiB", "x", "p", "minor faults"]);
    for row in &report.results {
        table.add_row([
            row.name.clone(),
            show(row.max_rss_bytes, MIB),
            show(row.ratio_rss, 1.0),
            show_p(row.p_rss),
            show_as(row.minor_faults, |faults| format!("{faults:.0}")),
        ]);
    }
    table
}

/// A column for each figure, or a row where lines would become too long.
fn figures(report: &Report) -> Table {
    let kinds = report.workload.figures;
    let cells = |row: &Row, name: &str| {
        let figure = &row.figures[name];
        [show(figure.spread, 1.0), show(figure.ratio, 1.0), show_p(figure.p)]
    };
    if kinds.len() > MOST_COLUMNS {
        let programs = report.results.iter().map(|row| [row.name.as_str(), "x", "p"]);
        // The first over itself is always 1, without a p value.
        let header: Vec<&str> = std::iter::once("").chain(programs.flatten()).collect();
        let mut table = table(&[&header[..2], &header[4..]].concat());
        for kind in kinds {
            let of_programs = report.results.iter().flat_map(|row| cells(row, kind.name));
            let mut line: Vec<String> = std::iter::once(kind.label.to_string()).chain(of_programs).collect();
            line.drain(2..4);
            table.add_row(line);
        }
        let means: Option<Vec<[f64; 2]>> = report.results.iter().map(|row| row.geometric_mean).collect();
        if let Some(means) = means {
            let of_programs = means.iter().flat_map(|[mean, x]| [number(*mean), number(*x), String::new()]);
            let mut line: Vec<String> =
                std::iter::once("geometric mean".to_string()).chain(of_programs).collect();
            line.drain(2..4);
            table.add_row(line);
        }
        return table;
    }
    let header: Vec<&str> =
        std::iter::once("").chain(kinds.iter().flat_map(|f| [f.label, "x", "p"])).collect();
    let mut table = table(&header);
    for row in &report.results {
        let of_figures = kinds.iter().flat_map(|kind| cells(row, kind.name));
        table.add_row(std::iter::once(row.name.clone()).chain(of_figures));
    }
    table
}

fn notes(report: &Report) {
    for (what, programs) in [("Skipped", &report.skipped), ("Failed", &report.failed)] {
        for program in programs {
            say!("");
            say!("{what}: {}: {}", program.name, program.why);
        }
    }
}
