//! The report of `heapwood bench rust`. `--json` prints it as serialised here; the table shows the same numbers.

use super::build::Skipped;
use super::turns::Cost;
use heapwood_report::tables::table;
use heapwood_report::{Header, Spread, say};
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    pub(crate) header: Header,
    /// In the order of the columns.
    pub(crate) ways: Vec<Way>,
    pub(crate) programs: Vec<Row>,
    pub(crate) skipped: Vec<Skipped>,
}

/// A way to manage memory.
#[derive(Serialize)]
pub(crate) struct Way {
    pub(crate) name: &'static str,
    /// What it is, with its version and what paces it.
    pub(crate) what: String,
}

/// A program.
#[derive(Serialize)]
pub(crate) struct Row {
    program: &'static str,
    size: u64,
    results: Vec<Cell>,
}

/// A program in one way.
#[derive(Serialize)]
struct Cell {
    way: String,
    cpu_ms: Spread,
    /// The median over that of the first way.
    ratio_cpu: f64,
    max_rss_mib: f64,
    #[serde(skip)]
    shown: String,
}

impl Row {
    pub(crate) fn new<'a>(
        program: &'static str,
        size: u64,
        costs: impl Iterator<Item = (&'a str, &'a Cost)>,
    ) -> Row {
        let mut first = None;
        let cell = |(way, cost): (&str, &'a Cost)| {
            let first = *first.get_or_insert(cost);
            let cpu_ms = cost.cpu();
            Cell {
                way: way.into(),
                cpu_ms,
                ratio_cpu: cpu_ms.median / first.cpu().median.max(f64::MIN_POSITIVE),
                max_rss_mib: cost.rss_mib,
                shown: cost.cell(first),
            }
        };
        Row { program, size, results: costs.map(cell).collect() }
    }
}

impl Report {
    pub(crate) fn print(&self) {
        let names: Vec<&str> = self.ways.iter().map(|way| way.name).collect();
        let mut rows = table(&[&["program", "size"], names.as_slice()].concat());
        for row in &self.programs {
            let cell = |name: &&str| {
                let found = row.results.iter().find(|cell| cell.way == **name);
                found.map_or("-".to_string(), |cell| cell.shown.clone())
            };
            let first = [row.program.to_string(), row.size.to_string()];
            rows.add_row(first.into_iter().chain(names.iter().map(cell)));
        }
        say!("{}", self.header);
        say!("");
        say!("{rows}");
        say!("");
        for way in &self.ways {
            say!("{}: {}", way.name, way.what);
        }
    }
}
