//! The growth percentage at which Heapwood's max RSS is a peer's, so that no program wins by a larger heap. More growth
//! means fewer collections and more memory, but in steps and with noise. A bracket is narrowed by interpolation and,
//! where that stalls, by bisection.

use super::programs::Program;
use super::rounds::Rounds;
use heapwood::Config;
use heapwood_report::CommandError;
use serde::Serialize;

/// The tolerance of the search. A report of equal RSS allows twice as much.
const NEAR: f64 = 0.05;
/// The tolerance of a report of equal RSS.
pub(crate) const EQUAL: f64 = 0.10;
const MOST_TRIES: u32 = 12;
/// Runs of the peer, whose median is the target.
const PEER_RUNS: usize = 3;

/// The result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Candidate {
    pub(crate) percent: u32,
    rss_bytes: u64,
}

/// Finds the percentage, and adds Heapwood with it to the programs.
pub(crate) fn tune<'a>(rounds: &mut Rounds<'_>, peer: &'a str) -> Result<Tuned<'a>, CommandError> {
    let find = |rounds: &Rounds<'_>, name: &str| {
        rounds
            .entries
            .iter()
            .find(|e| e.program.name == name && e.failed.is_none())
            .map(|e| e.program.clone())
    };
    let Some(program) = find(rounds, peer) else {
        return Err(CommandError::run(format!("--equal-rss {peer}: it did not run")));
    };
    let heapwood = rounds.entries[0].program.clone();
    let rss = |rounds: &mut Rounds<'_>, program: &Program| {
        rounds.show(format!("equal RSS: {} {}", program.name, program.version));
        let run = rounds.once(program)?.map_err(|why| program.failed(why))?;
        Ok::<u64, CommandError>(run.used.max_rss_bytes)
    };
    let mut seen =
        (0..PEER_RUNS).map(|_| rss(rounds, &program)).collect::<Result<Vec<u64>, CommandError>>()?;
    seen.sort_unstable();
    let found = search(seen[PEER_RUNS / 2], |percent| rss(rounds, &heapwood.with_percent(percent)))?;
    rounds.add_after_heapwood(heapwood.with_percent(found.percent));
    Ok(Tuned { peer, percent: found.percent })
}

/// The peer whose memory is the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuned<'a> {
    pub(crate) peer: &'a str,
    pub(crate) percent: u32,
}

/// The percentage with the memory nearest to `target`, after a few tries.
pub(super) fn search<E>(target: u64, mut rss: impl FnMut(u32) -> Result<u64, E>) -> Result<Candidate, E> {
    let distance = |rss: u64| (rss as f64 / target as f64).ln().abs();
    let (mut below, mut above): (Option<Candidate>, Option<Candidate>) = (None, None);
    let mut best: Option<Candidate> = None;
    let mut percent = Config::DEFAULT.percent;
    for attempt in 0..MOST_TRIES {
        let tried = Candidate { percent, rss_bytes: rss(percent)? };
        if best.is_none_or(|best| distance(tried.rss_bytes) < distance(best.rss_bytes)) {
            best = Some(tried);
        }
        if distance(tried.rss_bytes) <= NEAR {
            break;
        }
        if tried.rss_bytes < target {
            below = Some(tried)
        } else {
            above = Some(tried)
        }
        percent = match (below, above) {
            (Some(below), None) if below.percent < Config::MAX_PERCENT => {
                below.percent.saturating_mul(2).min(Config::MAX_PERCENT)
            }
            (None, Some(above)) if above.percent > 1 => above.percent / 2,
            (Some(below), Some(above)) if above.percent > below.percent + 1 => {
                between(below, above, target, attempt % 2 == 1)
            }
            _ => break,
        };
    }
    Ok(best.expect("there is at least one try"))
}

/// A percentage strictly between the two, which are at least two apart.
fn between(below: Candidate, above: Candidate, target: u64, halve: bool) -> u32 {
    let (low, high) = (below.percent, above.percent);
    let share = match above.rss_bytes > below.rss_bytes && !halve {
        true => (target - below.rss_bytes) as f64 / (above.rss_bytes - below.rss_bytes) as f64,
        false => 0.5,
    };
    (low + (share * (high - low) as f64) as u32).clamp(low + 1, high - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(target: u64, curve: impl Fn(u32) -> u64) -> (Candidate, u32) {
        let mut tries = 0;
        let found = search(target, |percent| {
            tries += 1;
            assert!((1..=Config::MAX_PERCENT).contains(&percent));
            Ok::<u64, ()>(curve(percent))
        });
        (found.unwrap(), tries)
    }

    #[test]
    fn memory_that_grows_with_the_percentage_is_met() {
        for target in [110, 150, 300, 1_000, 20_000] {
            let (found, tries) = found(target, |percent| 100 + percent as u64);
            assert!(found.rss_bytes.abs_diff(target) * 10 <= target, "{target}: {found:?}");
            assert!(tries <= MOST_TRIES);
        }
    }

    #[test]
    fn memory_that_grows_in_steps_is_met_if_possible() {
        let steps = |percent: u32| 100 + percent as u64 / 70 * 70;
        for target in [100, 170, 310, 1000] {
            let (found, _) = found(target, steps);
            assert!(found.rss_bytes.abs_diff(target) <= 35 + target / 20, "{target}: {found:?}");
        }
    }

    #[test]
    fn an_impossible_memory_gives_the_nearest_percentage() {
        assert_eq!(found(50, |percent| 100 + percent as u64).0.percent, 1);
        assert_eq!(found(1 << 40, |percent| percent as u64).0.percent, {
            // Doubling from the default, at most N times.
            (Config::DEFAULT.percent << (MOST_TRIES - 1)).min(Config::MAX_PERCENT)
        });
        assert_eq!(found(100, |_| 500).1, 8, "150, 75, .. 1");
    }
}
