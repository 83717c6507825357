//! A shadow oracle for many threads: each plays random steps on graphs of its own, whose model it keeps in plain memory,
//! and hands whole graphs to others. Every object's memory is filled with what only it can have, and compared whenever it
//! is visited; where objects lie is known by granule, so that nothing is handed out twice; and the threads meet now and
//! then, and the heap must hold what all their models hold. Invariant: what is played depends on the seed, the order in
//! which threads do it on the machine.
//!
//! A million allocations by default (five in release builds), shared out over heaps of every sort, with 1 to 16 threads;
//! `HEAPWOOD_LONG=1` makes a hundred million of it, `HEAPWOOD_ORACLE_ALLOCATIONS` another number, and `HEAPWOOD_ORACLE_SEED` sets the
//! first seed.

mod check;
mod cluster;
mod estates;
mod exchange;
mod frees;
mod granules;
mod hand;
mod meeting;
pub(crate) mod settings;
mod weaks;
pub(crate) mod worker;
pub(crate) mod world;

use heapwood_gc_testing::settings::{amount, first_seed, is_thorough};
use settings::Settings;
use worker::Done;
use world::World;

/// What is played in all.
fn allocations() -> usize {
    let thorough = if cfg!(debug_assertions) { 1_000_000 } else { 5_000_000 };
    amount("HEAPWOOD_ORACLE_ALLOCATIONS", 100_000_000, thorough, 200_000)
}

/// Plays one heap's share, on a new heap with a new seed every few rounds.
pub(crate) fn play(settings: &Settings) {
    if cfg!(heapwood_tsan) && settings.disturbed() {
        println!("skipped: ThreadSanitizer delays signals until their thread makes a system call");
        return;
    }
    let share = allocations() * settings.share / 100;
    let round = settings.round.min((share / settings.threads / 2).max(50));
    let settings = &Settings { round, ..*settings };
    let most = round * settings.threads * 25;
    let mut seed = first_seed();
    let (mut all, mut left, mut counts) = (Done::default(), share, [0; 9]);
    while left > 0 {
        let world = World::new(*settings, seed);
        let done = world.play(seed, left.min(most)).unwrap_or_else(|what| panic!("{what}"));
        let stats = world.heap.inspect().stats();
        let (came, reads) = (world.estates.came(), world.weaks.read_so_far());
        let beside = stats.concurrent_markings as usize;
        let [collections, young, late] =
            [stats.collections, stats.young_collections, stats.promoted_en_masse].map(|n| n as usize);
        let these =
            [collections, young, late, beside, came.0, came.1, reads.0, reads.1, stats.mark_waits as usize];
        (0..9).for_each(|i| counts[i] += these[i]);
        left = left.saturating_sub(done.allocations);
        all.add(done);
        seed += 1;
    }
    let [collections, young, late, beside, came, came_data, found, cleared, waits] = counts;
    println!(
        "{}: {all:?}, {came} clusters and {came_data} data came back, {found} weak reads found something and {cleared} nothing, \
         {collections} collections, {young} young, {late} late, {beside} beside the threads, {waits} waits for the marker",
        settings.name,
    );
    assert!(all.allocations >= share);
    // What follows is what threads come to, which depends on how the machine runs them.
    if !is_thorough() {
        return;
    }
    assert!(collections > all.allocations / 100_000, "collections happened");
    // What follows is rarer; a short run, as on an emulator or under a sanitizer, need not come to all of it.
    if allocations() < 500_000 {
        return;
    }
    // Each comes every 1,000 allocations or so, so in a short run there may be none.
    let rarely = all.allocations / 10_000;
    let came_back = came > rarely && came_data > rarely;
    assert!(all.allocations < 50_000 || came_back, "what was dropped came back");
    let were_read = found > rarely && cleared > rarely / 10;
    assert!(all.allocations < 50_000 || were_read, "what is weak was read, before and after it was cleared");
    assert!(!settings.young || young > late && late > 0, "some are young, and not all of them late");
    let marked = beside > 0 || settings.config.stress;
    assert!(!settings.marks_beside() || marked, "markings went on beside the threads");
    // Threads that are stopped all the time find each other's boxes full more often.
    let few = all.allocations / if settings.disturbed() { 1000 } else { 100 };
    assert!(settings.threads == 1 || all.sent > few, "clusters went from thread to thread");
    assert!(!settings.disturbed() || all.answered > 0, "signals stopped threads that computed");
    assert!(!settings.come_and_go || all.attached > settings.threads, "threads came and went");
}
