//! Orders of release: a policy releases the free pages of a sample in simulated time, in which nothing else happens.
//! Invariant: only releases take time, so policies are compared at the same CPU time. The comparison of highest first
//! with other orders, in simulated time over samples of real heaps, is from "Proposal: Scaling the Go page allocator"
//! (Knyszek and Clements, 2019).

use super::heap::Heap;
use super::policies::Policy;
use heapwood_pages::Snapshot;
use heapwood_report::CommandError;
use serde::Serialize;

/// Simulated nanoseconds of a release, and of each of its pages: about what a kernel takes. Only the trend matters.
pub(crate) const RELEASE_NS: f64 = 1000.0;
pub(crate) const PAGE_NS: f64 = 200.0;

/// The most points kept of a curve.
const MOST_POINTS: usize = 512;

/// The result of a policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Outcome {
    pub(crate) policy: Policy,
    /// Simulated CPU milliseconds until half of the free resident pages were released.
    #[serde(rename = "to_50_percent_ms")]
    pub(crate) half_ms: f64,
    #[serde(rename = "to_90_percent_ms")]
    pub(crate) most_ms: f64,
    #[serde(rename = "to_all_ms")]
    pub(crate) all_ms: f64,
    pub(crate) calls: usize,
    /// Huge pages that were free and resident, and were partly released.
    pub(crate) split_huge_pages: usize,
    /// Milliseconds and the share released by then.
    pub(crate) curve: Vec<(f64, f64)>,
}

/// All policies.
pub(crate) fn simulate(sample: &Snapshot) -> Result<Vec<Outcome>, CommandError> {
    Policy::ALL.into_iter().map(|policy| release_all(sample, policy)).collect()
}

fn release_all(sample: &Snapshot, policy: Policy) -> Result<Outcome, CommandError> {
    let mut heap = Heap::new(sample, policy)?;
    let (all, mut ns) = (heap.releasable() as f64, 0.0);
    let (mut calls, mut split_huge_pages, mut curve) = (0, 0, vec![(0.0, 0.0)]);
    while let Some(released) = heap.release() {
        ns += RELEASE_NS + PAGE_NS * released.pages as f64;
        calls += 1;
        split_huge_pages += released.split;
        curve.push((ns / 1e6, 1.0 - heap.releasable() as f64 / all));
    }
    let reached = |share: f64| curve.iter().find(|point| point.1 >= share).map_or(ns / 1e6, |point| point.0);
    let (half_ms, most_ms) = (reached(0.5), reached(0.9));
    thin(&mut curve);
    Ok(Outcome { policy, half_ms, most_ms, all_ms: ns / 1e6, calls, split_huge_pages, curve })
}

/// Keeps evenly spaced points, and the last.
fn thin(curve: &mut Vec<(f64, f64)>) {
    let (every, last) = (curve.len().div_ceil(MOST_POINTS), curve.len() - 1);
    let mut at = 0..;
    curve.retain(|_| at.next().is_some_and(|at| at % every == 0 || at == last));
}
#[cfg(test)]
mod tests {
    use super::super::tests::{chunk, fragmented, sample};
    use super::*;
    use heapwood_pages::Effort;

    fn of_all(sample: &Snapshot) -> [Outcome; 3] {
        simulate(sample).unwrap().try_into().unwrap()
    }

    /// The share released at a time.
    fn share_at(outcome: &Outcome, ms: f64) -> f64 {
        outcome.curve.iter().rev().find(|point| point.0 <= ms).unwrap().1
    }

    #[test]
    fn every_policy_releases_everything() {
        let sample = fragmented();
        for outcome in of_all(&sample) {
            assert_eq!(outcome.curve.last().unwrap().1, 1.0);
            let pages = sample.releasable_pages().0 as f64;
            let ms = (outcome.calls as f64 * RELEASE_NS + pages * PAGE_NS) / 1e6;
            assert!((outcome.all_ms - ms).abs() < 1e-9, "{outcome:?}");
            assert!(outcome.half_ms <= outcome.most_ms && outcome.most_ms <= outcome.all_ms);
        }
    }

    #[test]
    fn only_the_highest_run_splits_huge_pages() {
        // The highest 256 free pages end in the middle of a huge page that is all free; so does the rest of it.
        let one = sample(vec![chunk(0, &[(412, 100)])]);
        let [highest, huge, heapwood] = of_all(&one);
        assert_eq!((highest.calls, highest.split_huge_pages), (2, 1));
        for whole in [huge, heapwood] {
            assert_eq!((whole.calls, whole.split_huge_pages), (2, 0), "{:?}", whole.policy);
            // The huge page goes first: 256 of 412 pages.
            assert!((whole.curve[1].1 - 256.0 / 412.0).abs() < 1e-9);
        }
        // In five equal chunks, five are split. In chunks with a used middle, none.
        let five = sample((0..5).map(|k| chunk(k, &[(412, 100)])).collect());
        assert_eq!(of_all(&five).map(|o| o.split_huge_pages), [5, 0, 0]);
        let none = sample((0..5).map(|k| chunk(k, &[(255, 2)])).collect());
        assert_eq!(of_all(&none).map(|o| o.split_huge_pages), [0; 3]);
        // A huge page of which a part had no memory before was not whole.
        let mut part = chunk(0, &[(412, 100)]);
        part.scavenged[0] = 1;
        assert_eq!(of_all(&sample(vec![part])).map(|o| o.split_huge_pages), [0; 3]);
    }

    #[test]
    fn huge_pages_first_is_ahead_in_a_fragmented_top() {
        let [highest, huge, heapwood] = of_all(&fragmented());
        // At the ends of its releases; a long one counts when it ends.
        for &(ms, share) in &huge.curve {
            assert!(share >= share_at(&highest, ms), "at {ms} ms");
        }
        assert!(huge.half_ms < heapwood.half_ms);
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
                assert_eq!(heap.release().map(|released| released.run), run);
                if run.is_none() {
                    break;
                }
            }
        }
    }

    #[test]
    fn a_long_curve_keeps_its_ends() {
        let mut curve = (0..10_001).map(|k| (f64::from(k), f64::from(k) / 1e4)).collect();
        thin(&mut curve);
        assert!(curve.len() <= MOST_POINTS + 1);
        assert_eq!((curve[0], curve.last()), ((0.0, 0.0), Some(&(10_000.0, 1.0))));
    }
}
