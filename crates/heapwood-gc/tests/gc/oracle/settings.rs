//! The heaps a program is played on.

use heapwood_gc::Config;
use heapwood_gc::settings::options::{Concurrent, Generational, Stop};

/// One heap's settings and the program's size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) name: &'static str,
    pub(crate) config: Config,
    /// How many objects the program tries to keep alive at most.
    pub(crate) objects: usize,
    /// An explicit collection comes once in so many steps.
    pub(crate) collect_every: usize,
    /// How much of the work it gets, of 100.
    pub(crate) share: usize,
    /// Whether no layout gets spans of its own, so that every object of one that could has pointer bits.
    pub(crate) mixed: bool,
    /// Whether each program draws how many threads mark, from 1 to 8.
    pub(crate) drawn: bool,
    /// Whether collections are young ones mostly, some of them late, and the program frees objects itself.
    pub(crate) young: bool,
    /// Whether each fourth step is one with what is weak or with finalisers, instead of each twentieth, and ephemerons are in chains.
    pub(crate) mostly_weak: bool,
    /// A full marking goes on beside the program, which follows fewer edges than this after each of its steps; none, if 0.
    pub(crate) edges: usize,
    /// Whether collections come by bytes and not by clocks ([`replay`](super::replay)).
    pub(crate) by_bytes: bool,
}

impl Settings {
    /// Only precise roots keep objects alive, so what is dead must be gone.
    pub(crate) fn exact(&self) -> bool {
        !self.config.conservative_stacks
    }

    /// Whether another thread collects all the time, between any two instructions of the program.
    pub(crate) fn disturbed(&self) -> bool {
        self.config.stop == Stop::Signals
    }
}

/// A marking beside the program comes in steps, or not at all.
const PRECISE: Config = heapwood_gc_testing::PRECISE.address_space(1 << 30).concurrent(Concurrent::Off);
const YOUNG: Config = PRECISE.generational(Generational::Always);
const SCANNED: Config = PRECISE.conservative_stacks(true);
const SIGNALS: Config = SCANNED.stop(Stop::Signals);
/// Full collections come when they are asked for.
const QUIET: Config = PRECISE.min_heap(256 << 20);
const YOUNG_QUIET: Config = YOUNG.min_heap(256 << 20);

const USUAL: Settings = Settings {
    name: "",
    config: PRECISE,
    objects: 1500,
    collect_every: 600,
    share: 7,
    mixed: false,
    drawn: false,
    young: false,
    mostly_weak: false,
    edges: 0,
    by_bytes: false,
};
const MIXED: Settings = Settings { mixed: true, ..USUAL };
const DRAWN: Settings = Settings { drawn: true, ..USUAL };
const OFTEN_YOUNG: Settings = Settings { young: true, ..USUAL };
const YOUNG_MIXED: Settings = Settings { mixed: true, ..OFTEN_YOUNG };
const YOUNG_DRAWN: Settings = Settings { drawn: true, ..OFTEN_YOUNG };
const WEAK: Settings = Settings { mostly_weak: true, ..USUAL };
const STEPS: Settings = Settings { edges: 6, ..USUAL };
const YOUNG_STEPS: Settings = Settings { edges: 6, ..OFTEN_YOUNG };

const fn on(
    of: Settings,
    config: Config,
    (objects, collect_every, share): (usize, usize, usize),
) -> Settings {
    Settings { config, objects, collect_every, share, ..of }
}

const MAX: usize = usize::MAX;

// How many objects are alive at most; a collection comes once in so many steps; and a share of the work.
heapwood_gc_testing::heaps! {
    super::play, Settings;
    precise = USUAL;
    precise_left_to_itself = on(USUAL, PRECISE.percent(30), (3000, MAX, 7));
    precise_all_mixed = on(MIXED, PRECISE, (1500, 400, 4));
    precise_all_mixed_verified = on(MIXED, PRECISE.mark_stack(8).verify(true), (1000, 400, 3));
    precise_small_mark_stack = on(USUAL, PRECISE.mark_stack(8), (1500, 500, 4));
    precise_smallest_mark_stack_verified = on(USUAL, PRECISE.mark_stack(1).verify(true), (800, 500, 2));
    precise_limited = on(USUAL, PRECISE.limit(4 << 20).percent(400), (MAX, 3000, 5));
    precise_verified = on(USUAL, PRECISE.verify(true), (1000, 500, 3));
    precise_under_stress = on(USUAL, PRECISE.stress(true), (120, 50, 1));
    conservative = on(USUAL, SCANNED, (1500, 600, 4));
    conservative_small_mark_stack_verified = on(USUAL, SCANNED.verify(true).mark_stack(8), (1000, 500, 2));
    any_number_of_markers = on(DRAWN, PRECISE, (1500, 500, 3));
    any_number_of_markers_small_mark_stack_verified =
        on(DRAWN, SCANNED.verify(true).mark_stack(8), (1000, 400, 1));
    young = on(OFTEN_YOUNG, YOUNG, (1500, 200, 6));
    young_left_to_itself = on(OFTEN_YOUNG, YOUNG.percent(30).min_heap(24 << 20), (3000, MAX, 5));
    young_all_mixed = on(YOUNG_MIXED, YOUNG, (1500, 150, 4));
    young_all_mixed_verified = on(YOUNG_MIXED, YOUNG.mark_stack(8).verify(true), (800, 150, 4));
    young_smallest_mark_stack_verified = on(OFTEN_YOUNG, YOUNG.mark_stack(1).verify(true), (800, 200, 3));
    young_verified = on(OFTEN_YOUNG, YOUNG.verify(true), (1000, 200, 5));
    young_limited = on(OFTEN_YOUNG, YOUNG.limit(4 << 20).percent(400), (MAX, 1000, 4));
    young_under_stress = on(OFTEN_YOUNG, YOUNG.stress(true), (120, 50, 1));
    young_conservative_small_mark_stack_verified =
        on(OFTEN_YOUNG, YOUNG.conservative_stacks(true).verify(true).mark_stack(8), (1000, 200, 3));
    young_any_number_of_markers = on(YOUNG_DRAWN, YOUNG, (1500, 200, 2));
    stopped_by_signals = on(USUAL, SIGNALS, (1000, 400, 1));
    stopped_by_signals_all_mixed = on(MIXED, SIGNALS, (1000, 400, 1));
    stopped_by_signals_small_mark_stack_verified =
        on(USUAL, SIGNALS.mark_stack(8).verify(true), (600, 400, 1));
    stopped_by_signals_any_number_of_markers = on(DRAWN, SIGNALS.stop_signal(34), (1000, 400, 1));
    mostly_weak = on(WEAK, PRECISE, (300, 50, 1));
    mostly_weak_small_mark_stack_verified = on(WEAK, PRECISE.mark_stack(8).verify(true), (300, 50, 1));
    mostly_weak_any_number_of_markers = on(Settings { drawn: true, ..WEAK }, PRECISE, (300, 50, 1));
    mostly_weak_young = on(Settings { young: true, ..WEAK }, YOUNG, (300, 50, 1));
    in_steps = on(STEPS, QUIET, (1500, 1500, 1));
    in_steps_all_mixed_edge_by_edge = on(Settings { mixed: true, edges: 2, ..STEPS }, QUIET, (1500, 1500, 1));
    in_steps_verified = on(STEPS, QUIET.verify(true), (1500, 1500, 1));
    in_steps_mostly_weak = on(Settings { mostly_weak: true, ..STEPS }, QUIET, (300, 1500, 1));
    young_in_steps = on(YOUNG_STEPS, YOUNG_QUIET, (1500, 1500, 1));
    young_in_long_steps_all_mixed =
        on(Settings { mixed: true, edges: 100, ..YOUNG_STEPS }, YOUNG_QUIET, (1500, 1500, 1));
    young_in_steps_verified = on(YOUNG_STEPS, YOUNG_QUIET.verify(true), (1500, 1500, 1));
    young_in_steps_small_mark_stack = on(YOUNG_STEPS, YOUNG_QUIET.mark_stack(8), (1500, 1500, 1));
    young_in_steps_mostly_weak =
        on(Settings { mostly_weak: true, ..YOUNG_STEPS }, YOUNG_QUIET, (300, 1500, 1));
}
