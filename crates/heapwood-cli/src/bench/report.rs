//! The report. `--json` prints it as serialised here; tables and picture show the same numbers. Ratios are a program's
//! value over the first one's in the same round: above 1, the first took less. Each has a p value for the difference of the
//! two programs, if there are enough runs.

use super::ab;
use super::build::Skipped;
use super::measured::Run;
use super::rounds::{Entry, Rounds};
use crate::args::{Bench, NO_PEER, Size};
use heapwood_gc::VARIABLE;
use heapwood_report::header::shell_word;
use heapwood_report::spread::{geometric_mean, p_value};
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
    /// Heapwood first, or the first value of a setting.
    pub(crate) results: Vec<Row>,
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
    pub(crate) ratio_cpu: Spread,
    pub(crate) ratio_wall: Spread,
    pub(crate) ratio_rss: Spread,
    /// `None` for the first program, too.
    pub(crate) p_cpu: Option<f64>,
    pub(crate) p_wall: Option<f64>,
    pub(crate) p_rss: Option<f64>,
    /// The program's own figures.
    pub(crate) figures: BTreeMap<&'static str, OfFigure>,
    /// Of the medians of several figures in nanoseconds, and of their ratios.
    pub(crate) geometric_mean: Option<[f64; 2]>,
}

/// A figure, its ratio and p value.
#[derive(Serialize)]
pub(crate) struct OfFigure {
    #[serde(flatten)]
    pub(crate) spread: Spread,
    pub(crate) ratio: Spread,
    pub(crate) p: Option<f64>,
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
        skipped: Vec<Skipped>,
    ) -> Result<Report, CommandError> {
        let (workload, entries) = (args.what.workload()?, &rounds.entries);
        let base = &entries[0];
        let good = entries.iter().filter(|e| e.failed.is_none());
        let results: Vec<Row> = good.map(|e| Row::of(e, base, workload.figures)).collect();
        let failed = entries
            .iter()
            .filter_map(|e| Some(Skipped { name: e.program.name.clone(), why: e.failed.clone()? }));
        let peers = args.peers().map(|names| if names.is_empty() { vec![NO_PEER.into()] } else { names });
        Ok(Report {
            workload,
            n: size.n,
            threads: size.threads,
            header: Header::now(command(args, size, peers.as_deref()), args.runs),
            peers,
            failed: failed.collect(),
            results,
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
fn command(args: &Bench, size: Size, peers: Option<&[String]>) -> String {
    let variable = std::env::var_os(VARIABLE).filter(|text| !text.is_empty());
    let variable =
        variable.map_or(String::new(), |text| format!("{VARIABLE}={} ", shell_word(&text.to_string_lossy())));
    let peers = peers.map_or(String::new(), |names| format!(" --peers {}", shell_word(&names.join(","))));
    let setting = args.ab.as_ref().map_or(String::new(), ab::flag);
    format!("{variable}heapwood bench {}{peers}{setting} --runs {}", args.what.spelled(size), args.runs)
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
        let of_figures: BTreeMap<&str, OfFigure> = figures.iter().map(figure).collect();
        Row {
            name: entry.program.name.clone(),
            version: entry.program.version.clone(),
            cpu_s: spread(&Run::cpu_s),
            wall_s: spread(&wall),
            user_s: spread(&|r| r.used.user_s),
            sys_s: spread(&|r| r.used.sys_s),
            max_rss_bytes: spread(&rss),
            minor_faults: spread(&|r| r.used.minor_faults as f64),
            ratio_cpu: ratio(&Run::cpu_s),
            ratio_wall: ratio(&wall),
            ratio_rss: ratio(&rss),
            p_cpu: p(&Run::cpu_s),
            p_wall: p(&wall),
            p_rss: p(&rss),
            geometric_mean: mean_of_ns(&of_figures),
            figures: of_figures,
        }
    }
}

/// The geometric means of medians and of ratios, if there are several figures and all are nanoseconds.
fn mean_of_ns(figures: &BTreeMap<&str, OfFigure>) -> Option<[f64; 2]> {
    if figures.len() < 2 || !figures.keys().all(|name| name.ends_with("_ns")) {
        return None;
    }
    let mean = |value: fn(&OfFigure) -> f64| geometric_mean(&figures.values().map(value).collect::<Vec<_>>());
    Some([mean(|figure| figure.spread.median)?, mean(|figure| figure.ratio.median)?])
}
