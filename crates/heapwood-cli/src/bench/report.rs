//! The report. `--json` prints it as serialised here; tables and picture show the same numbers. Ratios are a program's
//! value over Heapwood's in the same round: above 1, Heapwood took less. Each has a p value for the difference of the
//! two programs, if there are enough runs.

use super::build::Skipped;
use super::equal_rss::{EQUAL, Tuned};
use super::huge_pages::HugePages;
use super::measured::Run;
use super::rounds::{Entry, Rounds};
use crate::args::{Bench, NO_PEER, Size};
use heapwood_report::header::shell_word;
use heapwood_report::spread::p_value;
use heapwood_report::{CommandError, Header, Spread};
use heapwood_workloads::{Figure, Workload};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(crate) struct Report {
    #[serde(serialize_with = "name")]
    pub(crate) workload: &'static Workload,
    pub(crate) n: u64,
    /// Threads, each of which did the whole work.
    pub(crate) threads: u32,
    #[serde(flatten)]
    pub(crate) header: Header,
    /// The requested peers, if not all.
    pub(crate) peers: Option<Vec<String>>,
    /// Heapwood first.
    pub(crate) results: Vec<Row>,
    pub(crate) equal_rss: Option<EqualRss>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) failed: Vec<Skipped>,
}

/// A program's row.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) version: String,
    /// User and system.
    pub(crate) cpu_s: Spread,
    pub(crate) wall_s: Spread,
    pub(crate) user_s: Spread,
    pub(crate) sys_s: Spread,
    pub(crate) max_rss_bytes: Spread,
    pub(crate) minor_faults: Spread,
    /// `None` for a program that does not ask for them.
    pub(crate) huge_pages: Option<HugePages>,
    pub(crate) ratio_cpu: Spread,
    pub(crate) ratio_wall: Spread,
    pub(crate) ratio_rss: Spread,
    /// `None` for Heapwood itself, too.
    pub(crate) p_cpu: Option<f64>,
    pub(crate) p_wall: Option<f64>,
    pub(crate) p_rss: Option<f64>,
    /// The program's own figures.
    pub(crate) figures: BTreeMap<&'static str, OfFigure>,
}

/// A figure, its ratio and p value.
#[derive(Serialize)]
pub(crate) struct OfFigure {
    #[serde(flatten)]
    pub(crate) spread: Spread,
    pub(crate) ratio: Spread,
    pub(crate) p: Option<f64>,
}

/// Heapwood's memory compared with a peer's.
#[derive(Serialize)]
pub(crate) struct EqualRss {
    pub(crate) peer: String,
    pub(crate) percent: u32,
    /// Heapwood's over the peer's, by medians.
    pub(crate) ratio: f64,
    pub(crate) within_10_percent: bool,
}

fn name<S: Serializer>(workload: &&'static Workload, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(workload.name)
}

impl Report {
    /// Of rounds in which Heapwood did not fail.
    pub(crate) fn new(
        args: &Bench,
        size: Size,
        rounds: &Rounds<'_>,
        tuned: Option<Tuned<'_>>,
        skipped: Vec<Skipped>,
    ) -> Result<Report, CommandError> {
        let (workload, entries) = (args.what.workload()?, &rounds.entries);
        let base = &entries[0];
        let good = entries.iter().filter(|e| e.failed.is_none());
        let results: Vec<Row> = good.map(|e| Row::of(e, base, workload.figures)).collect();
        let failed = entries
            .iter()
            .filter_map(|e| Some(Skipped { name: e.program.name.clone(), why: e.failed.clone()? }));
        let equal_rss = tuned.map(|tuned| EqualRss::of(tuned, &results)).transpose()?;
        let peers = args.peers().map(|names| if names.is_empty() { vec![NO_PEER.into()] } else { names });
        Ok(Report {
            workload,
            n: size.n,
            threads: size.threads,
            header: Header::now(command(args, size, peers.as_deref(), equal_rss.as_ref()), args.runs),
            peers,
            failed: failed.collect(),
            results,
            equal_rss,
            skipped,
        })
    }

    /// The error at the end if a program failed.
    pub(crate) fn failure(&self) -> Option<CommandError> {
        let each: Vec<String> = self.failed.iter().map(|f| format!("{} failed: {}", f.name, f.why)).collect();
        (!each.is_empty()).then(|| CommandError::run(each.join("\nheapwood: ")))
    }
}

/// The command for the same measurement, quoted for a shell.
fn command(args: &Bench, size: Size, peers: Option<&[String]>, equal_rss: Option<&EqualRss>) -> String {
    let peers = peers.map_or(String::new(), |names| format!(" --peers {}", shell_word(&names.join(","))));
    let equal_rss = equal_rss.map_or(String::new(), |e| format!(" --equal-rss {}", shell_word(&e.peer)));
    format!("heapwood bench {}{peers} --runs {}{equal_rss}", args.what.spelled(size), args.runs)
}

impl Row {
    fn of(entry: &Entry, base: &Entry, figures: &'static [Figure]) -> Row {
        let values =
            |of: &Entry, value: &dyn Fn(&Run) -> f64| of.runs.iter().map(value).collect::<Vec<f64>>();
        let spread = |value: &dyn Fn(&Run) -> f64| Spread::of(values(entry, value));
        let ratio =
            |value: &dyn Fn(&Run) -> f64| Spread::of_ratios(values(entry, value), values(base, value));
        let p = |value: &dyn Fn(&Run) -> f64| match std::ptr::eq(entry, base) {
            true => None,
            false => p_value(&values(entry, value), &values(base, value)),
        };
        let figure = |figure: &'static Figure| {
            let value = |run: &Run| run.figure(figure.name).unwrap_or(f64::NAN);
            (figure.name, OfFigure { spread: spread(&value), ratio: ratio(&value), p: p(&value) })
        };
        let (wall, rss) = (|r: &Run| r.wall_s, |r: &Run| r.used.max_rss_bytes as f64);
        Row {
            name: entry.program.name.clone(),
            version: entry.program.version.clone(),
            cpu_s: spread(&Run::cpu_s),
            wall_s: spread(&wall),
            user_s: spread(&|r| r.used.user_s),
            sys_s: spread(&|r| r.used.sys_s),
            max_rss_bytes: spread(&rss),
            minor_faults: spread(&|r| r.used.minor_faults as f64),
            huge_pages: entry.program.huge_pages.then(|| entry.repeats.with(&entry.runs)),
            ratio_cpu: ratio(&Run::cpu_s),
            ratio_wall: ratio(&wall),
            ratio_rss: ratio(&rss),
            p_cpu: p(&Run::cpu_s),
            p_wall: p(&wall),
            p_rss: p(&rss),
            figures: figures.iter().map(figure).collect(),
        }
    }
}

impl EqualRss {
    fn of(tuned: Tuned<'_>, results: &[Row]) -> Result<EqualRss, CommandError> {
        let rss = |name: &str| {
            let row = results.iter().find(|row| row.name == name);
            let gone = || CommandError::run(format!("--equal-rss {}: {name} failed on the way", tuned.peer));
            row.map(|row| row.max_rss_bytes.median).ok_or_else(gone)
        };
        let ratio = rss(super::programs::EQUAL_RSS)? / rss(tuned.peer)?;
        Ok(EqualRss {
            peer: tuned.peer.to_string(),
            percent: tuned.percent,
            ratio,
            within_10_percent: (1.0 - EQUAL..=1.0 + EQUAL).contains(&ratio),
        })
    }
}
