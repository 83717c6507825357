//! The report of the simulations. `--json` prints it as serialised here; tables and picture show the same numbers.

use super::cost::Cost;
use super::mutators::CacheCost;
use super::releases::Outcome;
use crate::moments::Source;
use heapwood_report::tables::{number, table};
use serde::Serialize;
use std::fmt::{self, Formatter};

#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) cost: Cost,
    pub(crate) steps_per_ms: u32,
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
        self.write(f)
    }
}

impl Report {
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "A release {}.", self.cost_in_words())?;
        for sample in &self.samples {
            let source = &sample.source;
            writeln!(f)?;
            writeln!(f, "{}: {} pages, {} free", source.full_title(), source.pages, source.free_pages)?;
            writeln!(f)?;
            match sample.releases.is_empty() {
                true => writeln!(f, "No free page has memory behind it: nothing to release.")?,
                false => self.write_releases(f, sample)?,
            }
            writeln!(f)?;
            match sample.caches.is_empty() {
                true => writeln!(f, "The sample has no pages: no mutators on it.")?,
                false => write_caches(f, sample)?,
            }
        }
        Ok(())
    }

    /// `costs 1.20 us and 0.31 us for each page (measured here)`.
    pub(crate) fn cost_in_words(&self) -> String {
        let how = if self.cost.measured { "measured here, without huge pages" } else { "as set" };
        let [base, page] = [self.cost.base_ns, self.cost.page_ns].map(|ns| number(ns / 1e3));
        format!("costs {base} us and {page} us for each page ({how})")
    }

    fn write_releases(&self, f: &mut Formatter<'_>, sample: &SampleReport) -> fmt::Result {
        let releasable = sample.source.releasable_pages;
        writeln!(
            f,
            "Milliseconds of simulated CPU until the net release of {releasable} pages reached the share;"
        )?;
        writeln!(
            f,
            "busy: {} runs freed and allocated in each; pages released and used again.",
            self.steps_per_ms
        )?;
        if sample.source.pages == sample.source.free_pages {
            writeln!(f, "No page is in use, so the busy program has nothing to do.")?;
        }
        let header =
            ["", "", "50 %", "90 %", "all", "calls", "huge pages split", "used again to 90 %", "in all"];
        let mut table = table(&header);
        let ms = |ms: Option<f64>| ms.map_or("-".into(), number);
        for outcome in &sample.releases {
            table.add_row([
                outcome.policy.name().into(),
                outcome.setting.into(),
                ms(outcome.half_ms),
                ms(outcome.most_ms),
                ms(outcome.all_ms),
                outcome.calls.to_string(),
                outcome.split_huge_pages.to_string(),
                outcome.refaulted_pages_to_90_percent.to_string(),
                outcome.refaulted_pages.to_string(),
            ]);
        }
        writeln!(f)?;
        writeln!(f, "{table}")?;
        if sample.releases.iter().any(|outcome| outcome.all_ms.is_none()) {
            writeln!(f)?;
            writeln!(f, "-: not within four times the slowest policy's time when idle.")?;
        }
        Ok(())
    }
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
