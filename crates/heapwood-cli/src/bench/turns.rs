//! Programs of the same work in turn, A B A B, each a process. Invariant: what is compared printed the same in every run.

use super::children::Children;
use heapwood_report::spread::Spread;
use heapwood_report::tables::number;
use heapwood_report::{CommandError, Progress};
use std::process::Command;

/// A program that takes part.
pub(crate) struct Contestant<'a> {
    pub(crate) name: &'a str,
    /// Makes its command.
    pub(crate) command: Box<dyn Fn() -> Command + 'a>,
}

/// What the runs of a program cost: milliseconds and MiB.
#[derive(Default)]
pub(crate) struct Cost {
    pub(crate) cpu_ms: Vec<f64>,
    /// The largest of all runs.
    pub(crate) rss_mib: f64,
}

impl Cost {
    pub(crate) fn cpu(&self) -> Spread {
        Spread::of(self.cpu_ms.iter().copied())
    }

    /// `12.3 ms 1.02 45.6 MiB`, the second the time over `first`'s.
    pub(crate) fn cell(&self, first: &Cost) -> String {
        let ms = self.cpu().median;
        format!("{} ms {} {} MiB", number(ms), number(ms / first.cpu().median), number(self.rss_mib))
    }
}

/// Runs the programs in turn, so often. `what` is their work, for messages.
pub(crate) fn in_turn(
    children: &Children,
    bar: &Progress,
    what: &str,
    contestants: &[Contestant<'_>],
    runs: u32,
) -> Result<Vec<Cost>, CommandError> {
    let mut costs: Vec<Cost> = contestants.iter().map(|_| Cost::default()).collect();
    let mut expected: Option<String> = None;
    for round in 1..=runs {
        for (contestant, cost) in contestants.iter().zip(&mut costs) {
            let name = contestant.name;
            bar.show(format!("{what}: round {round} of {runs}: {name}"));
            let failed = |why: String| CommandError::run(format!("{name}: {what}: {why}"));
            let ended = children.run(&mut (contestant.command)())?.map_err(|e| failed(e.to_string()))?;
            if let Some(why) = ended.failure() {
                return Err(failed(why));
            }
            if ended.stdout != *expected.get_or_insert_with(|| ended.stdout.clone()) {
                let first = contestants[0].name;
                return Err(CommandError::run(format!(
                    "{name} printed something else than {first}, so nothing is compared: {what}"
                )));
            }
            cost.cpu_ms.push((ended.used.user_s + ended.used.sys_s) * 1e3);
            cost.rss_mib = cost.rss_mib.max(ended.used.max_rss_bytes as f64 / (1 << 20) as f64);
            bar.advance();
        }
    }
    Ok(costs)
}
