//! A seed is a program. Where no clock decides when a collection comes, and the heap has no thread of its own, a program does the same
//! at each step whenever it is played, in any process: what once failed fails again, for a debugger, too.

use super::program::{Done, play};
use super::settings::{ALL, Settings};
use super::world::World;
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc_testing::settings::{first_seed, is_thorough};

/// The same heap, where a seed decides everything. (Signals come when they come.)
pub(crate) fn replayed(settings: &Settings) -> Settings {
    let mut config = settings.config.background_release(false).concurrent(Concurrent::Off);
    if !settings.drawn {
        // How many help otherwise follows a clock.
        config = config.mark_threads(1);
    }
    Settings { config, by_bytes: true, ..*settings }
}

/// What a program has done, and what its heap has counted.
fn played(world: &mut World, seed: u64) -> (Done, [u64; 3]) {
    let steps = if is_thorough() && !world.settings.config.stress { 20_000 } else { 2_000 };
    let done = play(world, seed, steps).unwrap_or_else(|what| panic!("{what}"));
    // In what order objects are marked may depend on their addresses: weak tables are hashed by those. It decides nothing but this.
    let done = Done { overflows: 0, ..done };
    let stats = world.heap.inspect().stats();
    (done, [stats.collections, stats.young_collections, stats.allocated_bytes])
}

#[test]
fn a_seed_is_replayed_exactly() {
    // A small mark stack makes steps follow more edges or fewer, by the order in which objects are marked, and so by addresses.
    let by_order = |settings: &Settings| settings.edges > 0 && settings.config.mark_stack.is_some();
    for settings in ALL.iter().filter(|settings| settings.exact() && !by_order(settings)).map(replayed) {
        let seed = first_seed();
        // The second heap lies elsewhere: the first is still there.
        let mut worlds = [(); 2].map(|()| World::new(settings, seed));
        let [first, second] = worlds.each_mut().map(|world| played(world, seed));
        assert_eq!(first, second, "heap \"{}\", seed {seed}", settings.name);
    }
}
