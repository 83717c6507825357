//! The report of a replay. `--json` prints it as serialised here; the tables show the same numbers.

use crate::moments::Source;
use heapwood_report::tables::{number, show, table};
use heapwood_report::{Header, Spread};
use serde::Serialize;
use std::fmt;

#[derive(Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    pub(crate) header: Header,
    pub(crate) samples: Vec<SampleReport>,
}

/// One moment of one file.
#[derive(Serialize)]
pub(crate) struct SampleReport {
    #[serde(flatten)]
    pub(crate) source: Source,
    /// Empty if there are no free pages.
    pub(crate) rows: Vec<Row>,
}

#[derive(Serialize)]
pub(crate) struct Row {
    /// A number, or "mix".
    pub(crate) pages: serde_json::Value,
    pub(crate) cached: bool,
    pub(crate) allocations: usize,
    pub(crate) allocated_pages: usize,
    /// Nanoseconds an allocation, if there was one.
    pub(crate) ns: Option<Spread>,
    /// All acquisitions of the lock.
    pub(crate) visits: u64,
    pub(crate) free_pages_left: usize,
}

impl Row {
    fn cells(&self) -> [String; 6] {
        let each = self.visits as f64 / self.allocations as f64;
        [
            self.pages.as_str().map_or_else(|| self.pages.to_string(), str::to_string),
            if self.cached { "cache" } else { "lock" }.into(),
            self.allocations.to_string(),
            self.ns.map_or("-".into(), |ns| show(ns, 1.0)),
            if self.allocations == 0 { "-".into() } else { number(each) },
            self.free_pages_left.to_string(),
        ]
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.header)?;
        writeln!(f)?;
        writeln!(
            f,
            "Nanoseconds an allocation: median (least-most) of {} passes, in turn.",
            self.header.runs
        )?;
        for SampleReport { source, rows } in &self.samples {
            writeln!(f)?;
            writeln!(f, "{}: {} pages, {} free", source.full_title(), source.pages, source.free_pages)?;
            if rows.is_empty() {
                writeln!(f, "No page is free: nothing to allocate.")?;
                continue;
            }
            let header = ["pages", "", "allocations", "ns", "locks each", "pages left"];
            let mut table = table(&header);
            table.add_rows(rows.iter().map(Row::cells));
            writeln!(f, "\n{table}")?;
        }
        Ok(())
    }
}
