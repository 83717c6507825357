//! The report of `allocation`: a table of the locks alone, and one for each program and size.

use heapwood_report::tables::{number, show, table};
use heapwood_report::{Header, Spread};
use serde::Serialize;
use std::fmt;

#[derive(Serialize)]
pub(super) struct Report {
    #[serde(flatten)]
    pub(super) header: Header,
    pub(super) locks: Vec<OneLock>,
    pub(super) cases: Vec<Case>,
}

/// A lock without contention.
#[derive(Serialize)]
pub(super) struct OneLock {
    pub(super) name: &'static str,
    /// Nanoseconds to lock and unlock it.
    pub(super) ns: Spread,
}

/// A program with a lock around its allocations, on N threads.
#[derive(Serialize)]
pub(super) struct Case {
    pub(super) program: String,
    pub(super) lock: &'static str,
    pub(super) threads: usize,
    pub(super) wall_s: Spread,
    pub(super) cpu_s: Spread,
    /// Wall nanoseconds an allocation of each thread.
    pub(super) ns_each: Spread,
    /// The time over that without a lock in the same round, on the same number of threads.
    pub(super) over_owned: Option<Spread>,
    /// The speedup over one thread, if one thread was measured.
    pub(super) scaling: Option<Spread>,
    pub(super) collections: Spread,
    pub(super) phases_ms: Phases,
}

/// The phase times of all collections of a run.
#[derive(Serialize)]
pub(super) struct Phases {
    pub(super) prep: Spread,
    /// Part of it.
    pub(super) stop: Spread,
    pub(super) mark: Spread,
    pub(super) sweep: Spread,
    pub(super) recovery: Spread,
    pub(super) total: Spread,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.header)?;
        writeln!(f, "To lock and unlock without contention; median (least-most).\n")?;
        let mut locks = table(&["lock", "ns", "less than the monitor"]);
        let monitor = self.locks.iter().find(|lock| lock.name == "monitor").map(|lock| lock.ns.median);
        for OneLock { name, ns } in &self.locks {
            let less = monitor
                .map_or(String::new(), |monitor| format!("{:.0} %", (1.0 - ns.median / monitor) * 100.0));
            locks.add_row([name.to_string(), show(*ns, 1.0), less]);
        }
        writeln!(f, "{locks}\n")?;
        writeln!(
            f,
            "Each thread does the whole program. x: the time over that of owned in the same round.\n\
             Scaling: the work of N threads over that of one, in the same time. The phases are wall milliseconds of all\n\
             collections: prep contains the stop; sweeping and page recovery are the sum of all threads."
        )?;
        let mut programs: Vec<&str> = self.cases.iter().map(|case| case.program.as_str()).collect();
        programs.dedup();
        for program in programs {
            writeln!(f, "\n{program}\n")?;
            let mut cases = table(&[
                "lock",
                "threads",
                "wall s",
                "x",
                "ns each",
                "scaling",
                "collections",
                "prep ms",
                "mark",
                "sweep",
                "page recovery",
                "grand total",
            ]);
            for case in self.cases.iter().filter(|case| case.program == program) {
                let some = |spread: Option<Spread>| spread.map_or("-".into(), |spread| show(spread, 1.0));
                let median = |spread: Spread| number(spread.median);
                let Phases { prep, mark, sweep, recovery, total, .. } = case.phases_ms;
                cases.add_row([
                    case.lock.to_string(),
                    case.threads.to_string(),
                    show(case.wall_s, 1.0),
                    some(case.over_owned),
                    median(case.ns_each),
                    some(case.scaling),
                    format!("{:.0}", case.collections.median),
                    median(prep),
                    median(mark),
                    median(sweep),
                    median(recovery),
                    median(total),
                ]);
            }
            writeln!(f, "{cases}")?;
        }
        Ok(())
    }
}
