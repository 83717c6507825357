//! Orders of release: a policy releases the free pages of a sample in simulated time. On an idle heap nothing else
//! happens. On a busy heap a program frees and allocates runs between releases, first fit, at constant live size.
//! Invariant: only releases take time, so policies are compared at the same CPU time. The comparison of highest first
//! with other orders, in simulated time over samples of real heaps, is from "Proposal: Scaling the Go page allocator"
//! (Knyszek and Clements, 2019).

use super::cost::Cost;
use super::heap::Heap;
use super::live::{Live, Sizes};
use super::policies::Policy;
use crate::draw::Draw;
use heapwood_pages::{PageCount, Snapshot};
use heapwood_report::CommandError;
use serde::Serialize;

/// The limit for a busy heap, in multiples of the slowest policy's time on the idle one.
const PATIENCE: f64 = 4.0;

/// The most points kept of a curve.
const MOST_POINTS: usize = 512;

/// The result of a policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Outcome {
    pub(crate) policy: Policy,
    pub(crate) setting: &'static str,
    /// Simulated CPU milliseconds until the net release was half of the initially free resident pages.
    #[serde(rename = "to_50_percent_ms")]
    pub(crate) half_ms: Option<f64>,
    #[serde(rename = "to_90_percent_ms")]
    pub(crate) most_ms: Option<f64>,
    /// Until nothing was left to release.
    #[serde(rename = "to_all_ms")]
    pub(crate) all_ms: Option<f64>,
    pub(crate) calls: usize,
    /// Resident pages that were released; on a busy heap some more than once.
    pub(crate) released_pages: usize,
    /// Huge pages that were free and resident, and were partly released.
    pub(crate) split_huge_pages: usize,
    /// Released pages that the program used again, until the net release was 90 %, and in total.
    pub(crate) refaulted_pages_to_90_percent: usize,
    pub(crate) refaulted_pages: usize,
    /// Milliseconds and the share released by then.
    pub(crate) curve: Vec<(f64, f64)>,
}

/// All policies, idle and then busy. The program frees and allocates `steps_per_ms` times in a millisecond of
/// releasing.
pub(crate) fn simulate(
    sample: &Snapshot,
    cost: Cost,
    steps_per_ms: u32,
) -> Result<Vec<Outcome>, CommandError> {
    let idle = |policy| release_all(sample, policy, cost, None, f64::INFINITY);
    let mut outcomes = Policy::ALL.into_iter().map(idle).collect::<Result<Vec<_>, _>>()?;
    let slowest = outcomes.iter().filter_map(|o| o.all_ms).fold(0.0, f64::max);
    for policy in Policy::ALL {
        let program = Program::new(sample, steps_per_ms);
        outcomes.push(release_all(sample, policy, cost, Some(program), slowest * PATIENCE)?);
    }
    Ok(outcomes)
}

fn release_all(
    sample: &Snapshot,
    policy: Policy,
    cost: Cost,
    mut program: Option<Program>,
    patience_ms: f64,
) -> Result<Outcome, CommandError> {
    let mut heap = Heap::new(sample, policy)?;
    let (backed, releasable) = (heap.backed(), heap.releasable());
    let mut outcome = Outcome {
        policy,
        setting: if program.is_some() { "busy" } else { "idle" },
        half_ms: None,
        most_ms: None,
        all_ms: None,
        calls: 0,
        released_pages: 0,
        split_huge_pages: 0,
        refaulted_pages_to_90_percent: 0,
        refaulted_pages: 0,
        curve: vec![(0.0, 0.0)],
    };
    let mut ns = 0.0;
    while ns / 1e6 < patience_ms && outcome.all_ms.is_none() {
        let Some(released) = heap.release() else {
            // The program used the remaining pages.
            outcome.done(ns / 1e6);
            break;
        };
        let took = cost.of_release(released.pages);
        ns += took;
        outcome.calls += 1;
        outcome.released_pages += released.pages;
        outcome.split_huge_pages += released.split;
        // The net release: a busy program uses some pages again.
        let share = (backed as f64 - heap.backed() as f64) / releasable as f64;
        outcome.reached(ns / 1e6, share);
        if heap.releasable() == 0 {
            outcome.done(ns / 1e6);
        } else if let Some(program) = &mut program {
            let refaulted = program.run_for(took, &mut heap)?;
            outcome.refaulted_pages += refaulted;
            outcome.refaulted_pages_to_90_percent += if outcome.most_ms.is_none() { refaulted } else { 0 };
        }
    }
    outcome.thin();
    Ok(outcome)
}

impl Outcome {
    fn reached(&mut self, ms: f64, share: f64) {
        self.curve.push((ms, share));
        if share >= 0.5 {
            self.half_ms.get_or_insert(ms);
        }
        if share >= 0.9 {
            self.most_ms.get_or_insert(ms);
        }
    }

    /// Nothing is left to release.
    fn done(&mut self, ms: f64) {
        for at in [&mut self.half_ms, &mut self.most_ms, &mut self.all_ms] {
            at.get_or_insert(ms);
        }
    }

    /// Keeps evenly spaced points, and the last.
    fn thin(&mut self) {
        let (every, last) = (self.curve.len().div_ceil(MOST_POINTS), self.curve.len() - 1);
        let mut at = 0..;
        self.curve.retain(|_| at.next().is_some_and(|at| at % every == 0 || at == last));
    }
}

/// The program between releases.
struct Program {
    sizes: Sizes,
    live: Live,
    /// The most pages in use: the initial number.
    most: usize,
    draw: Draw,
    steps_per_ns: f64,
    /// Steps that are due, with a fraction.
    due: f64,
}

impl Program {
    fn new(sample: &Snapshot, steps_per_ms: u32) -> Program {
        let (sizes, mut draw) = (Sizes::of(sample), Draw::new());
        let live = sizes.live(sample, &mut draw);
        let most = live.pages();
        Program { sizes, live, most, draw, steps_per_ns: f64::from(steps_per_ms) / 1e6, due: 0.0 }
    }

    /// Its steps during a release. Returns the number of released pages that it used again.
    fn run_for(&mut self, ns: f64, heap: &mut Heap) -> Result<usize, CommandError> {
        self.due += ns * self.steps_per_ns;
        let mut refaults = 0;
        while self.due >= 1.0 {
            self.due -= 1.0;
            refaults += self.step(heap)?;
        }
        Ok(refaults)
    }

    /// Frees runs until a new one fits below the maximum, and allocates it.
    fn step(&mut self, heap: &mut Heap) -> Result<usize, CommandError> {
        let size = self.sizes.draw(&mut self.draw);
        while self.live.pages() + size > self.most {
            let Some((first, count)) = self.live.take(&mut self.draw) else { return Ok(0) };
            heap.free(first, count)?;
        }
        let (first, refaults) = heap.allocate(PageCount(size))?;
        self.live.add(first, PageCount(size));
        Ok(refaults)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{chunk, fragmented, sample};
    use super::*;
    use heapwood_pages::Effort;

    const COST: Cost = Cost { base_ns: 1000.0, page_ns: 100.0, measured: false };

    fn idle(sample: &Snapshot) -> [Outcome; 4] {
        simulate(sample, COST, 1000).unwrap()[..4].to_vec().try_into().unwrap()
    }

    /// The share released at a time.
    fn share_at(outcome: &Outcome, ms: f64) -> f64 {
        outcome.curve.iter().rev().find(|point| point.0 <= ms).unwrap().1
    }

    #[test]
    fn every_policy_releases_everything() {
        let sample = fragmented();
        for outcome in idle(&sample) {
            assert_eq!(outcome.released_pages, sample.releasable_pages().0, "{outcome:?}");
            assert_eq!((outcome.refaulted_pages, outcome.setting), (0, "idle"));
            assert_eq!(outcome.curve.last().unwrap().1, 1.0);
            let ms = (outcome.calls as f64 * 1000.0 + outcome.released_pages as f64 * 100.0) / 1e6;
            assert!((outcome.all_ms.unwrap() - ms).abs() < 1e-9, "{outcome:?}");
            assert!(outcome.half_ms <= outcome.most_ms && outcome.most_ms <= outcome.all_ms);
        }
    }

    #[test]
    fn only_the_highest_run_splits_huge_pages() {
        // The highest 256 free pages end in the middle of a huge page that is all free; so does the rest of it.
        let sample = sample(vec![chunk(0, &[(412, 100)])]);
        let [highest, huge, densest, heapwood] = idle(&sample);
        assert_eq!((highest.calls, highest.split_huge_pages), (2, 1));
        for whole in [huge, densest, heapwood] {
            assert_eq!((whole.calls, whole.split_huge_pages), (2, 0), "{:?}", whole.policy);
            // The huge page goes first: 256 of 412 pages.
            assert!((share_at(&whole, 0.0266) - 256.0 / 412.0).abs() < 1e-9);
        }
        // In five equal chunks, five are split. In chunks with a used middle, none.
        let five = super::super::tests::sample((0..5).map(|k| chunk(k, &[(412, 100)])).collect());
        assert_eq!(idle(&five).map(|o| o.split_huge_pages), [5, 0, 0, 0]);
        let none = super::super::tests::sample((0..5).map(|k| chunk(k, &[(255, 2)])).collect());
        assert_eq!(idle(&none).map(|o| o.split_huge_pages), [0; 4]);
        // A huge page of which a part had no memory before was not whole.
        let mut part = chunk(0, &[(412, 100)]);
        part.scavenged[0] = 1;
        assert_eq!(idle(&super::super::tests::sample(vec![part])).map(|o| o.split_huge_pages), [0; 4]);
    }

    #[test]
    fn huge_pages_first_is_ahead_in_a_fragmented_top() {
        let [highest, huge, _, heapwood] = idle(&fragmented());
        // At the ends of its releases; a long one counts when it ends.
        for &(ms, share) in &huge.curve {
            assert!(share >= share_at(&highest, ms), "at {ms} ms");
        }
        assert!(huge.half_ms < heapwood.half_ms);
    }

    #[test]
    fn densest_last_releases_the_emptiest_chunk_first() {
        let full = |index, in_use| chunk(index, &[(0, in_use)]);
        let sample = sample(vec![full(0, 400), full(1, 100), full(2, 300)]);
        let mut heap = Heap::new(&sample, Policy::DensestLast).unwrap();
        let order: Vec<usize> = std::iter::from_fn(|| heap.release()).map(|r| r.first.0 / 512).collect();
        assert_eq!(order, [1, 1, 2, 0]);
    }

    #[test]
    fn our_order_equals_the_products() {
        for sample in [fragmented(), sample(vec![chunk(0, &[(412, 100)]), chunk(1, &[(7, 1), (300, 90)])])] {
            let pages = crate::moments::pages_of(&sample).unwrap();
            let mut heap = Heap::new(&sample, Policy::Heapwood).unwrap();
            loop {
                let mut run = None;
                pages.scavenge(Effort::Full, Policy::Heapwood.within_chunk(), |first, count| {
                    run = Some((first, count));
                    true
                });
                assert_eq!(heap.release().map(|r| (r.first, r.count)), run);
                if run.is_none() {
                    break;
                }
            }
        }
    }

    #[test]
    fn a_busy_program_uses_released_pages_again() {
        let outcomes = simulate(&fragmented(), COST, 1_000).unwrap();
        let busy = &outcomes[4..];
        assert!(busy.iter().all(|o| o.setting == "busy"));
        assert!(busy.iter().any(|o| o.refaulted_pages > 0), "{busy:?}");
        for (idle, busy) in outcomes.iter().zip(busy) {
            assert_eq!(idle.policy, busy.policy);
            assert!(busy.refaulted_pages <= busy.released_pages);
            assert!(busy.curve.iter().all(|&(_, share)| share <= 1.05), "{busy:?}");
        }
        assert_eq!(simulate(&fragmented(), COST, 1_000).unwrap(), outcomes);
        // With nothing in use there is no program.
        let empty = simulate(&sample(vec![chunk(0, &[]), chunk(1, &[])]), COST, 1_000).unwrap();
        assert!(empty[4..].iter().all(|o| o.refaulted_pages == 0 && o.calls == 4), "{empty:?}");
    }

    #[test]
    fn a_long_curve_keeps_its_ends() {
        let mut outcome = idle(&fragmented())[0].clone();
        outcome.curve = (0..10_001).map(|k| (f64::from(k), f64::from(k) / 1e4)).collect();
        outcome.thin();
        assert!(outcome.curve.len() <= MOST_POINTS + 1);
        assert_eq!((outcome.curve[0], outcome.curve.last()), ((0.0, 0.0), Some(&(10_000.0, 1.0))));
    }
}
