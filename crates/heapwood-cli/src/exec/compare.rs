//! Pairs of runs, in turn on Heapwood and on the system's libgc: outputs are compared, and medians printed. Pauses come from a run
//! of each with GC_PRINT_STATS, since that costs time; both libraries write the same lines. Invariant: each run on Heapwood was
//! proven to be one, and none of the other was.

use super::expression::Expression;
use super::library::Library;
use super::witness::Witness;
use crate::bench::children::{Children, Completion};
use heapwood_report::size::show;
use heapwood_report::{CommandError, say};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Which library a run is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Heapwood,
    System,
}

struct Compared<'a> {
    library: &'a Library,
    program: &'a Path,
    arguments: &'a [OsString],
    children: Children,
    ignored: Expression,
}

pub(super) fn run(
    library: &Library,
    program: &Path,
    arguments: &[OsString],
    pairs: u32,
    ignore: Option<&str>,
) -> Result<ExitCode, CommandError> {
    let (children, ignored) = (Children::new()?, Expression::new(ignore)?);
    let compared = Compared { library, program, arguments, children, ignored };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut differs = 0;
    for _ in 0..pairs {
        let [a, b] = [On::Heapwood, On::System].map(|on| compared.once(on, None));
        let (a, b) = (a?, b?);
        if let Some(difference) = compared.difference(&a, &b) {
            differs += 1;
            say!("{difference}");
        }
        ours.push(a);
        theirs.push(b);
    }
    let pauses = [On::Heapwood, On::System].map(|on| compared.pauses(on));
    let [a, b] = pauses;
    table(pairs, (&ours, &a?), (&theirs, &b?));
    match differs {
        0 => say!("outputs: equal in all pairs"),
        n => say!("outputs: different in {n} of {pairs} pairs"),
    }
    Ok(ExitCode::from(u8::from(differs > 0)))
}

impl Compared<'_> {
    fn once(&self, on: On, log: Option<&Path>) -> Result<Completion, CommandError> {
        let witness = Witness::new()?;
        let mut command = Command::new(self.program);
        command.args(self.arguments);
        witness.be_told_by(&mut command);
        if on == On::Heapwood {
            self.library.lead(&mut command);
        }
        if let Some(log) = log {
            command.env("GC_PRINT_STATS", "1").env("GC_LOG_FILE", log);
        }
        let run = self.children.run(&mut command)?;
        let run = run.map_err(|e| CommandError::run(format_args!("{}: {e}", self.program.display())))?;
        let seen = witness.end();
        match on {
            On::Heapwood => seen.check(self.library, self.program)?,
            On::System if !seen.is_empty() => {
                return Err(CommandError::run(format_args!(
                    "{} is on Heapwood already, without this command: LD_LIBRARY_PATH, LD_PRELOAD or the system's libgc \
                     lead there",
                    self.program.display()
                )));
            }
            On::System => {}
        }
        Ok(run)
    }

    /// Milliseconds of the pauses of a run.
    fn pauses(&self, on: On) -> Result<Vec<f64>, CommandError> {
        let log = std::env::temp_dir().join(format!("heapwood-pauses-{}", std::process::id()));
        let _ = std::fs::remove_file(&log);
        self.once(on, Some(&log))?;
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let _ = std::fs::remove_file(&log);
        let mut pauses: Vec<f64> = text.lines().filter_map(pause).collect();
        pauses.sort_by(f64::total_cmp);
        Ok(pauses)
    }

    /// The first difference of two runs.
    fn difference(&self, a: &Completion, b: &Completion) -> Option<String> {
        if a.status != b.status {
            return Some(format!("Heapwood: {}, system: {}", a.status, b.status));
        }
        for (name, a, b) in [("output", &a.stdout, &b.stdout), ("errors", &a.stderr, &b.stderr)] {
            let (a, b) = (self.ignored.rest(a), self.ignored.rest(b));
            let at = (0..a.len().max(b.len())).find(|&at| a.get(at) != b.get(at));
            if let Some(at) = at {
                let line =
                    |lines: &[String]| lines.get(at).map_or("(no line)".into(), |line| format!("{line:?}"));
                return Some(format!(
                    "standard {name}, line {}: Heapwood {}, system {}",
                    at + 1,
                    line(&a),
                    line(&b)
                ));
            }
        }
        None
    }
}

/// The milliseconds of a line of GC_PRINT_STATS that tells of a pause.
fn pause(line: &str) -> Option<f64> {
    let mut words = line.strip_prefix("World-stopped marking took ")?.split(' ');
    let (ms, _, ns): (f64, _, f64) =
        (words.next()?.parse().ok()?, words.next()?, words.next()?.parse().ok()?);
    Some(ms + ns / 1e6)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n => (values[(n - 1) / 2] + values[n / 2]) / 2.0,
    }
}

fn table(pairs: u32, ours: (&[Completion], &[f64]), theirs: (&[Completion], &[f64])) {
    let cpu = |runs: &[Completion]| median(runs.iter().map(|run| run.used.user_s + run.used.sys_s).collect());
    let rss = |runs: &[Completion]| median(runs.iter().map(|run| run.used.max_rss_bytes as f64).collect());
    let middle = |pauses: &[f64]| median(pauses.to_vec());
    let last = |pauses: &[f64]| pauses.last().copied().unwrap_or(0.0);
    let ratio = |a: f64, b: f64| if b > 0.0 { format!("{:.2}", a / b) } else { "-".into() };
    let size = |bytes: f64| show(bytes as u64);
    say!("{:24} {:>12} {:>12} {:>8}", format!("medians of {pairs} pairs"), "Heapwood", "system", "ratio");
    let row = |name: &str, a: String, b: String, ratio: String| say!("{name:24} {a:>12} {b:>12} {ratio:>8}");
    let seconds = |s: f64| format!("{s:.3} s");
    let ms = |ms: f64| format!("{ms:.2} ms");
    let (a, b) = (cpu(ours.0), cpu(theirs.0));
    row("CPU", seconds(a), seconds(b), ratio(a, b));
    let (a, b) = (rss(ours.0), rss(theirs.0));
    row("largest RSS", size(a), size(b), ratio(a, b));
    row("collections", ours.1.len().to_string(), theirs.1.len().to_string(), "".into());
    let (a, b) = (middle(ours.1), middle(theirs.1));
    row("pause, median", ms(a), ms(b), ratio(a, b));
    let (a, b) = (last(ours.1), last(theirs.1));
    row("pause, longest", ms(a), ms(b), ratio(a, b));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_read_from_the_lines_of_both() {
        assert_eq!(pause("World-stopped marking took 12 ms 500000 ns (3 ms in average)"), Some(12.5));
        assert_eq!(pause("Complete collection took 12 ms 500000 ns"), None);
        assert_eq!((median(vec![3.0, 1.0, 2.0]), median(vec![1.0, 2.0]), median(vec![])), (2.0, 1.5, 0.0));
    }
}
