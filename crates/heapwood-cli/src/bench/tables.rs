//! What was measured, for people: tables that a terminal shows well and that are Markdown as they are.

use super::report::{Report, Row};
use super::spread::Spread;
use crate::output::say;
use comfy_table::{Table, presets};

/// More figures than this are rows.
const MOST_COLUMNS: usize = 4;

const MIB: f64 = (1 << 20) as f64;

pub(crate) fn print(report: &Report) {
    say!("`{}`, {}, {}", report.command(), report.date, report.machine);
    say!("");
    say!(
        "Median (least-most) of {} runs of each program, in turn. x: over Heapwood's in the same round.",
        report.runs
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
    let mut table = table(&["", "version", "CPU s", "x", "wall s", "x", "user s", "system s"]);
    for row in &report.results {
        table.add_row([
            row.name.clone(),
            row.version.clone(),
            show(row.cpu_s, 1.0),
            show(row.ratio_cpu, 1.0),
            show(row.wall_s, 1.0),
            show(row.ratio_wall, 1.0),
            show(row.user_s, 1.0),
            show(row.sys_s, 1.0),
        ]);
    }
    table
}

fn memory(report: &Report) -> Table {
    let mut table = table(&["", "max RSS MiB", "x", "minor faults"]);
    for row in &report.results {
        table.add_row([
            row.name.clone(),
            show(row.max_rss_bytes, MIB),
            show(row.ratio_rss, 1.0),
            show_as(row.minor_faults, |faults| format!("{faults:.0}")),
        ]);
    }
    table
}

/// A column for each figure, or, where a line would become too long with that, a row.
fn figures(report: &Report) -> Table {
    let kinds = report.workload.figures;
    let cells = |row: &Row, name: &str| {
        let figure = &row.figures[name];
        [show(figure.spread, 1.0), show(figure.ratio, 1.0)]
    };
    if kinds.len() > MOST_COLUMNS {
        let programs = report.results.iter().map(|row| [row.name.as_str(), "x"]);
        // Over itself Heapwood is always 1.
        let header: Vec<&str> = std::iter::once("").chain(programs.flatten()).collect();
        let mut table = table(&[&header[..2], &header[3..]].concat());
        for kind in kinds {
            let of_programs = report.results.iter().flat_map(|row| cells(row, kind.name));
            let mut line: Vec<String> = std::iter::once(kind.label.to_string()).chain(of_programs).collect();
            line.remove(2);
            table.add_row(line);
        }
        return table;
    }
    let header: Vec<&str> = std::iter::once("").chain(kinds.iter().flat_map(|f| [f.label, "x"])).collect();
    let mut table = table(&header);
    for row in &report.results {
        let of_figures = kinds.iter().flat_map(|kind| cells(row, kind.name));
        table.add_row(std::iter::once(row.name.clone()).chain(of_figures));
    }
    table
}

fn notes(report: &Report) {
    if let Some(equal) = &report.equal_rss {
        let how = match equal.within_10_percent {
            true => "which is equal RSS within 10 %",
            false => "NOT within 10 %: no percentage tried came nearer, or the two vary",
        };
        say!("");
        say!(
            "With --percent {} Heapwood's max RSS is {:.2} of {}'s, {how}.",
            equal.percent,
            equal.ratio,
            equal.peer
        );
    }
    for (what, programs) in [("Skipped", &report.skipped), ("Failed", &report.failed)] {
        for program in programs {
            say!("");
            say!("{what}: {}: {}", program.name, program.why);
        }
    }
}

pub(crate) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header);
    table
}

/// `0.62 (0.60-0.63)`, in units of `unit`.
pub(crate) fn show(spread: Spread, unit: f64) -> String {
    show_as(spread.over(unit), number)
}

fn show_as(spread: Spread, number: impl Fn(f64) -> String) -> String {
    let [median, min, max] = [spread.median, spread.min, spread.max].map(number);
    if min == max { median } else { format!("{median} ({min}-{max})") }
}

/// Three digits or nearly, or all those before the point.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.0995 || v == 0.0 => 2,
        v if v >= 0.00995 => 3,
        _ => 4,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_about_three_digits() {
        let shown = [0.0, 0.00494, 0.0216, 0.624, 9.994, 9.996, 12.34, 99.94, 99.96, 12345.6].map(number);
        let expected = ["0.00", "0.0049", "0.022", "0.62", "9.99", "10.0", "12.3", "99.9", "100", "12346"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_spread_of_one_value_is_that_value() {
        assert_eq!(show(Spread::of([1.0, 1.0]), 1.0), "1.00");
        assert_eq!(show(Spread::of([3.0 * MIB, MIB, 2.0 * MIB]), MIB), "2.00 (1.00-3.00)");
    }
}
