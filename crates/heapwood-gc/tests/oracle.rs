//! The shadow-graph oracle on heaps of every sort. A million steps by default, shared out over the heaps; `HEAPWOOD_LONG=1`
//! makes a hundred million of it, `HEAPWOOD_ORACLE_STEPS` another number, and `HEAPWOOD_ORACLE_SEED` the first seed.

#[path = "oracle/mod.rs"]
mod shadow;

use shadow::settings::{ALL, Settings};

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")))
}

/// Plays one heap's share of the steps, a new seed every few thousand.
fn play(settings: &Settings) {
    let long = std::env::var_os("HEAPWOOD_LONG").is_some_and(|v| v == "1");
    let steps = number("HEAPWOOD_ORACLE_STEPS").unwrap_or(if long { 100_000_000 } else { 1_000_000 });
    let total = steps as usize * settings.share / 100;
    let round = if settings.config.stress { 2_000 } else { 20_000 };
    let mut seed = number("HEAPWOOD_ORACLE_SEED").unwrap_or(1);
    let (mut left, mut collections, mut overflows, mut limits, mut verified) = (total, 0, 0, 0, 0);
    let (mut seen, mut young, mut late, mut frees, mut reused, mut answered) = (0, 0, 0, 0, 0, 0);
    let (mut arenas, mut collected_arenas) = (0, 0);
    while left > 0 {
        let done =
            shadow::program::run(settings, seed, left.min(round)).unwrap_or_else(|what| panic!("{what}"));
        left -= done.steps;
        collections += done.collections;
        overflows += done.overflows;
        limits += done.limits;
        verified += done.verified;
        seen += done.seen;
        young += done.young;
        late += done.late;
        frees += done.frees;
        reused += done.reused;
        answered += done.answered;
        arenas += done.arenas;
        collected_arenas += done.collected_arenas;
        seed += 1;
    }
    println!(
        "{}: {total} steps, {collections} collections, {young} checked that were young, {late} late, {overflows} \
         overflows, {limits} limits, {frees} freed, {reused} in their places, {answered} stops where it computed, {} alive, {arenas} arenas, {collected_arenas} of them collected",
        settings.name,
        seen / collections as usize
    );
    assert!(!settings.disturbed() || answered > total / 1000, "signals stopped the program");
    if total < 10_000 {
        return;
    }
    assert!(collections as usize > total / 20_000, "collections happened");
    assert!(settings.config.mark_stack.is_none() || overflows > 0, "the mark stack overflowed");
    assert!(
        !settings.young || young > 0 && late > 0 && frees > 0 && reused > 0,
        "all that young collections have to do with"
    );
    assert!(arenas > 10 && (collected_arenas > 0 || total < 40_000), "arenas were used");
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
    young = 13;
    young_left_to_itself = 14;
    young_all_mixed = 15;
    young_all_mixed_verified = 16;
    young_smallest_mark_stack_verified = 17;
    young_verified = 18;
    young_limited = 19;
    young_under_stress = 20;
    young_conservative_small_mark_stack_verified = 21;
    young_any_number_of_markers = 22;
    stopped_by_signals = 23;
    stopped_by_signals_all_mixed = 24;
    stopped_by_signals_small_mark_stack_verified = 25;
    stopped_by_signals_any_number_of_markers = 26;
}

#[test]
fn the_shares_are_all_the_steps_and_every_heap_is_played() {
    assert_eq!(ALL.iter().map(|s| s.share).sum::<usize>(), 100);
    assert_eq!(ALL.len(), 27);
}
