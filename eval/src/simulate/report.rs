//! The report of the simulations. `--json` prints it as serialised here; tables and picture show the same numbers.

use super::mutators::CacheCost;
use super::releases::{Outcome, PAGE_NS, RELEASE_NS};
use crate::moments::Source;
use heapwood_report::tables::{number, table};
use serde::Serialize;
use std::fmt::{self, Formatter};

#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) samples: Vec<SampleReport>,
}

/// Both experiments on one sample.
#[derive(Serialize)]
pub(crate) struct SampleReport {
    #[serde(flatten)]
    pub(crate) source: Source,
    /// Empty if there is nothing to release.
    pub(crate) releases: Vec<Outcome>,
    /// The pages in use of the program of the second experiment.
    pub(crate) live_pages: usize,
    /// Empty if there are no pages.
    pub(crate) caches: Vec<CacheCost>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "A release costs {RELEASE_NS} ns of simulated CPU time, and {PAGE_NS} for each page.")?;
        for sample in &self.samples {
            let source = &sample.source;
            writeln!(f, "\n{}: {} pages, {} free\n", source.full_title(), source.pages, source.free_pages)?;
            match sample.releases.is_empty() {
                true => writeln!(f, "No free page has memory behind it: nothing to release.")?,
                false => write_releases(f, sample)?,
            }
            writeln!(f)?;
            match sample.caches.is_empty() {
                true => writeln!(f, "The sample has no pages: no mutators on it.")?,
                false => write_caches(f, sample)?,
            }
        }
        Ok(())
    }
}

fn write_releases(f: &mut Formatter<'_>, sample: &SampleReport) -> fmt::Result {
    let releasable = sample.source.releasable_pages;
    writeln!(f, "Milliseconds until the release of {releasable} pages reached the share:\n")?;
    let mut table = table(&["", "50 %", "90 %", "all", "calls", "huge pages split"]);
    for outcome in &sample.releases {
        table.add_row([
            outcome.policy.name().into(),
            number(outcome.half_ms),
            number(outcome.most_ms),
            number(outcome.all_ms),
            outcome.calls.to_string(),
            outcome.split_huge_pages.to_string(),
        ]);
    }
    writeln!(f, "{table}")
}

fn write_caches(f: &mut Formatter<'_>, sample: &SampleReport) -> fmt::Result {
    writeln!(f, "Mutators with {} pages in use, with caches and without.", sample.live_pages)?;
    let header = ["mutators", "pages in caches", "footprint", "without", "added KiB", "%"];
    let mut table = table(&header);
    for row in &sample.caches {
        table.add_row([
            row.mutators.to_string(),
            number(row.cached_pages),
            format!("{:.0}", row.footprint_pages),
            format!("{:.0}", row.uncached_footprint_pages),
            format!("{:.0}", row.added_kib),
            number(row.added_percent),
        ]);
    }
    writeln!(f)?;
    writeln!(f, "{table}")
}
