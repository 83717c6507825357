//! The shadow-graph oracle: random programs at the collector's own interface, on heaps of every sort, beside a plain model of the object
//! graph. After every collection the heap must agree with the model. A quarter of a million steps by default, shared out over the heaps;
//! `HEAPWOOD_THOROUGH=1` makes a million of it, twice, `HEAPWOOD_LONG=1` a hundred, `HEAPWOOD_ORACLE_STEPS` another number, and
//! `HEAPWOOD_ORACLE_SEED` sets the first seed. A seed decides everything a program does, but for what signals interrupt.
//!
//! | module | what it holds |
//! |---|---|
//! | [`heapwood_gc_testing::model`] | the kinds of objects, and the graph as the program means it, with masked addresses |
//! | [`world`] | a heap, a mutator, roots of every sort, and the model of them |
//! | [`program`] | random operations |
//! | [`arenas`] | those on arenas |
//! | `steps` | a full marking beside the program, in steps |
//! | `ephemerons`, `tables`, `links`, `finalizers` | those on what is weak, and on finalisers |
//! | `collected` | what a collection does to the model |
//! | [`check`] | heap against model |
//! | [`replay`] | heaps on which a seed is a program |
//! | [`settings`] | the heaps it is played on |

pub(crate) mod arenas;
pub(crate) mod check;
mod collected;
mod ephemerons;
mod finalizers;
mod links;
pub(crate) mod program;
pub(crate) mod replay;
pub(crate) mod settings;
mod steps;
mod tables;
pub(crate) mod world;

use heapwood_gc_testing::settings::{amount, first_seed, is_thorough};
use program::Done;
use replay::replayed;
use settings::Settings;

/// Plays `total` steps on one heap, a new seed every few thousand.
fn rounds(settings: &Settings, total: usize) -> Done {
    let round = if settings.config.stress { 2_000 } else { 20_000 };
    let (mut all, mut seed) = (Done::default(), first_seed());
    while all.steps < total {
        let steps = round.min(total - all.steps);
        all.add(program::run(settings, seed, steps).unwrap_or_else(|what| panic!("{what}")));
        seed += 1;
    }
    println!("{}: {} objects alive, {all:?}", settings.name, all.seen / all.collections as usize);
    let verified = if settings.by_bytes { all.verified == all.collections } else { all.verified > 0 };
    assert!(!settings.config.verify || verified, "collections were verified: {all:?}");
    all
}

/// Plays one heap's share of the steps. The long suite looks whether the programs came to all that they are for, and plays them again where
/// clocks decide when collections come.
pub(crate) fn play(settings: &Settings) {
    let total = amount("HEAPWOOD_ORACLE_STEPS", 100_000_000, 1_000_000, 250_000) * settings.share / 100;
    let all = rounds(&replayed(settings), total);
    if is_thorough() {
        came_to_all(settings, &all);
        rounds(settings, total);
    }
}

fn came_to_all(settings: &Settings, all: &Done) {
    let total = all.steps;
    if total < 10_000 {
        return;
    }
    assert!(!settings.disturbed() || all.answered > total / 1000, "signals stopped the program");
    assert!(all.collections as usize > total / 20_000, "collections happened");
    assert!(settings.config.mark_stack.is_none() || all.overflows > 0, "the mark stack overflowed");
    // Verify mode uses no freed memory again so soon.
    let reused = all.reused > 0 || settings.config.verify;
    assert!(
        !settings.young || total < 40_000 || all.young > 0 && all.late > 0 && all.frees > 0 && reused,
        "all that young collections have to do with"
    );
    assert!(
        settings.disturbed() || all.weak_cleared > total as u64 / 2000 || total < 40_000,
        "ephemerons were cleared"
    );
    // Where stray words keep things few die, and the same in short runs.
    let (few, [ordered, at_once, data, waited]) = (!settings.exact() || total < 40_000, all.came);
    assert!(few || ordered > 0 && at_once > 0 && data > 0, "finalisers came: {all:?}");
    assert!(few || all.links_cleared > 0, "links were cleared: {all:?}");
    // At a limit a few dozen come in all, of which none may have had to.
    let limited = settings.config.limit.is_some();
    assert!(few || limited || waited > 0, "some have waited: {all:?}");
    assert!(all.arenas > 10 && (all.collected_arenas > 0 || total < 40_000), "arenas were used");
}
