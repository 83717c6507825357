//! The shadow-graph oracle on heaps of every sort. A million steps by default, shared out over the heaps;
//! `HEAPWOOD_ORACLE_STEPS` sets another number, and `HEAPWOOD_ORACLE_SEED` the first seed.

#[path = "oracle/mod.rs"]
mod shadow;

use shadow::settings::{ALL, Settings};

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")))
}

/// Plays one heap's share of the steps, a new seed every few thousand.
fn play(settings: &Settings) {
    let total = number("HEAPWOOD_ORACLE_STEPS").unwrap_or(1_000_000) as usize * settings.share / 100;
    let round = if settings.config.stress { 2_000 } else { 20_000 };
    let mut seed = number("HEAPWOOD_ORACLE_SEED").unwrap_or(1);
    let (mut left, mut collections, mut overflows, mut limits, mut verified) = (total, 0, 0, 0, 0);
    let mut seen = 0;
    while left > 0 {
        let done =
            shadow::program::run(settings, seed, left.min(round)).unwrap_or_else(|what| panic!("{what}"));
        left -= done.steps;
        collections += done.collections;
        overflows += done.overflows;
        limits += done.limits;
        verified += done.verified;
        seen += done.seen;
        seed += 1;
    }
    println!(
        "{}: {total} steps, {collections} collections, {overflows} overflows, {limits} limits, {} alive",
        settings.name,
        seen / collections as usize
    );
    if total < 10_000 {
        return;
    }
    assert!(collections as usize > total / 20_000, "collections happened");
    assert!(settings.config.mark_stack.is_none() || overflows > 0, "the mark stack overflowed");
    assert!(!settings.config.verify || verified == collections, "every collection was verified");
}

macro_rules! heaps {
    ($($name:ident = $index:literal;)*) => { $(
        #[test]
        fn $name() {
            play(&ALL[$index]);
        }
    )* };
}

heaps! {
    precise = 0;
    precise_left_to_itself = 1;
    precise_all_mixed = 2;
    precise_all_mixed_verified = 3;
    precise_small_mark_stack = 4;
    precise_smallest_mark_stack_verified = 5;
    precise_limited = 6;
    precise_verified = 7;
    precise_under_stress = 8;
    conservative = 9;
    conservative_small_mark_stack_verified = 10;
    any_number_of_markers = 11;
    any_number_of_markers_small_mark_stack_verified = 12;
}

#[test]
fn the_shares_are_all_the_steps_and_every_heap_is_played() {
    assert_eq!(ALL.iter().map(|s| s.share).sum::<usize>(), 100);
    assert_eq!(ALL.len(), 13);
}
