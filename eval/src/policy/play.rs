//! A program under the policies: it allocates until the budget is exhausted, a collection takes the time of its
//! marking, and the policies set the next budget. Invariant: a MiB of allocation costs the same for any number of
//! collections, except where the heap is so small that its mutators starve.

use super::trace::{Epoch, Program, stack_ns};
use heapwood_gc::policy::{Efficiency, Growth, GrowthBounds, NextCollection, Nursery, Spent};
use heapwood_gc::settings::options::{Config, Generational};
use serde::Serialize;

const MIB: usize = 1 << 20;
/// Nanoseconds of a collection that do not depend on live bytes.
const COLLECTION_NS: u64 = 20_000;
/// The free bytes that a mutator may always hold, and the part of the goal that all may hold together
/// (`heapwood-heap/reclaim/central.rs`). With less than its open spans, each span takes a central refill of its own.
const LEAST_SHARE: usize = 256 << 10;
const SHARES: usize = 20;

/// The result of a program.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Played {
    pub(super) full: u64,
    pub(super) young: u64,
    /// Total CPU time, and that of collections.
    pub(super) all_ns: u64,
    pub(super) collecting_ns: u64,
    /// The largest heap, and the most live bytes.
    pub(super) most_bytes: usize,
    pub(super) most_live: usize,
}

/// Simulates a program. `told`: the growth policy knows the cost of a small heap to allocation.
pub(super) fn play(program: &Program, told: bool) -> Played {
    let config = Config::DEFAULT;
    let (mut growth, mut nursery) = (Growth::new(config.min_heap), Nursery::new(Generational::Auto));
    let (mut played, mutators) = (Played::default(), program.mutators);
    let (mut size, mut goal) = (0, config.min_heap);
    let mut budget = nursery.budget(size, goal, 1);
    let (mut handed_out, mut since_full, mut full_ended, mut spent) = (0, 0, 0, 0);
    let mut last_live = 0;
    for Epoch { allocated, live, stacks, run_ns_a_mib, mark_ns_a_mib } in program.epochs.iter().copied() {
        let of_mib = |bytes: usize, ns: u64| (bytes as f64 / MIB as f64 * ns as f64) as u64;
        let mark_ns = |bytes: usize| COLLECTION_NS + stack_ns(stacks) + of_mib(bytes, mark_ns_a_mib);
        let mut left = allocated;
        while left > 0 {
            let step = left.min(budget - handed_out);
            (left, handed_out) = (left - step, handed_out + step);
            let mib = step as f64 / MIB as f64;
            let starved = match LEAST_SHARE.max(goal / SHARES / mutators) < program.open_bytes {
                true => (mib * program.starved_ns_a_mib as f64) as u64,
                false => 0,
            };
            played.all_ns += (mib * run_ns_a_mib as f64) as u64 + starved;
            spent += if told { starved } else { 0 };
            played.most_bytes = played.most_bytes.max(size + handed_out);
            if handed_out < budget {
                break;
            }
            since_full += handed_out;
            let since = played.all_ns;
            if nursery.next() == NextCollection::Young {
                let survived = handed_out * program.survival / 100;
                let ns = mark_ns(survived) + of_mib(handed_out, program.remembered_ns_a_mib);
                let freed = handed_out - survived;
                nursery.after_young(Efficiency { allocated: handed_out, freed, ns, since, stacks }, 0);
                (size, played.young) = (size + survived, played.young + 1);
                (played.all_ns, played.collecting_ns) = (played.all_ns + ns, played.collecting_ns + ns);
                spent += ns;
            } else if nursery.next() == NextCollection::Promotion {
                nursery.after_promotion(handed_out, false);
                (size, played.young) = (size + handed_out, played.young + 1);
            } else {
                let (before, ns) = (size + handed_out, mark_ns(live));
                (played.all_ns, played.collecting_ns) = (played.all_ns + ns, played.collecting_ns + ns);
                spent += ns;
                let freed = before.saturating_sub(live);
                let (all_ns, added) = (played.all_ns - full_ended, before.saturating_sub(last_live));
                let cost = Spent { collecting_ns: spent, all_ns, added, freed };
                goal = live
                    + growth.after_full(
                        live,
                        GrowthBounds { percent: config.percent, small_heap: config.small_heap },
                        mutators,
                        cost,
                    );
                goal = goal.max(config.min_heap);
                nursery.after_full(Efficiency { allocated: since_full, freed, ns, since, stacks }, false);
                (size, played.full) = (live, played.full + 1);
                (since_full, full_ended, spent, last_live) = (0, played.all_ns, 0, live);
            }
            handed_out = 0;
            budget = nursery.budget(size, goal, 1);
        }
        played.most_live = played.most_live.max(live);
    }
    played
}
