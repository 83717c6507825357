//! The heaps a program is played on.

use heapwood_gc::Config;
use heapwood_gc::settings::options::{Generational, Stop};

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

const PRECISE: Config = heapwood_gc_testing::PRECISE.address_space(1 << 30);
const YOUNG: Config = PRECISE.generational(Generational::Always);
const SCANNED: Config = PRECISE.conservative_stacks(true);
const SIGNALS: Config = SCANNED.stop(Stop::Signals);
/// Full collections come when they are asked for.
const QUIET: Config = PRECISE.min_heap(256 << 20);
const YOUNG_QUIET: Config = YOUNG.min_heap(256 << 20);

const USUAL: Settings = Settings {
    name: "precise",
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

/// How many objects are alive at most; a collection comes once in so many steps; and a share of the work.
const fn on(
    of: Settings,
    name: &'static str,
    config: Config,
    (objects, collect_every, share): (usize, usize, usize),
) -> Settings {
    Settings { name, config, objects, collect_every, share, ..of }
}

const MAX: usize = usize::MAX;

/// The usual collection of heaps.
pub(crate) const ALL: [Settings; 40] = [
    USUAL,
    on(USUAL, "precise, left to itself", PRECISE.percent(30), (3000, MAX, 7)),
    on(MIXED, "precise, all mixed", PRECISE, (1500, 400, 4)),
    on(
        MIXED,
        "precise, all mixed, verify, mark stack of 8",
        PRECISE.mark_stack(8).verify(true),
        (1000, 400, 3),
    ),
    on(USUAL, "precise, mark stack of 8", PRECISE.mark_stack(8), (1500, 500, 4)),
    on(USUAL, "precise, mark stack of 1, verify", PRECISE.mark_stack(1).verify(true), (800, 500, 2)),
    on(USUAL, "precise, limited", PRECISE.limit(4 << 20).percent(400), (MAX, 3000, 5)),
    on(USUAL, "precise, verify", PRECISE.verify(true), (1000, 500, 3)),
    on(USUAL, "precise, stress", PRECISE.stress(true), (120, 50, 1)),
    on(USUAL, "conservative stacks", SCANNED, (1500, 600, 4)),
    on(
        USUAL,
        "conservative stacks, mark stack of 8, verify",
        SCANNED.verify(true).mark_stack(8),
        (1000, 500, 2),
    ),
    on(DRAWN, "any number of markers", PRECISE, (1500, 500, 3)),
    on(DRAWN, "any number of markers, scanned, verify", SCANNED.verify(true).mark_stack(8), (1000, 400, 1)),
    on(OFTEN_YOUNG, "young, precise", YOUNG, (1500, 200, 6)),
    on(OFTEN_YOUNG, "young, left to itself", YOUNG.percent(30).min_heap(24 << 20), (3000, MAX, 5)),
    on(YOUNG_MIXED, "young, all mixed", YOUNG, (1500, 150, 4)),
    on(
        YOUNG_MIXED,
        "young, all mixed, verify, mark stack of 8",
        YOUNG.mark_stack(8).verify(true),
        (800, 150, 4),
    ),
    on(OFTEN_YOUNG, "young, mark stack of 1, verify", YOUNG.mark_stack(1).verify(true), (800, 200, 3)),
    on(OFTEN_YOUNG, "young, verify", YOUNG.verify(true), (1000, 200, 5)),
    on(OFTEN_YOUNG, "young, limited", YOUNG.limit(4 << 20).percent(400), (MAX, 1000, 4)),
    on(OFTEN_YOUNG, "young, stress", YOUNG.stress(true), (120, 50, 1)),
    on(
        OFTEN_YOUNG,
        "young, conservative stacks, mark stack of 8, verify",
        YOUNG.conservative_stacks(true).verify(true).mark_stack(8),
        (1000, 200, 3),
    ),
    on(YOUNG_DRAWN, "young, any number of markers", YOUNG, (1500, 200, 2)),
    on(USUAL, "stopped by signals", SIGNALS, (1000, 400, 1)),
    on(MIXED, "stopped by signals, all mixed", SIGNALS, (1000, 400, 1)),
    on(
        USUAL,
        "stopped by signals, mark stack of 8, verify",
        SIGNALS.mark_stack(8).verify(true),
        (600, 400, 1),
    ),
    on(DRAWN, "stopped by signals, any number of markers", SIGNALS.stop_signal(34), (1000, 400, 1)),
    on(WEAK, "precise, mostly weak", PRECISE, (300, 50, 1)),
    on(
        WEAK,
        "precise, mostly weak, mark stack of 8, verify",
        PRECISE.mark_stack(8).verify(true),
        (300, 50, 1),
    ),
    on(Settings { drawn: true, ..WEAK }, "any number of markers, mostly weak", PRECISE, (300, 50, 1)),
    on(Settings { young: true, ..WEAK }, "young, mostly weak", YOUNG, (300, 50, 1)),
    on(STEPS, "in steps", QUIET, (1500, 1500, 1)),
    on(
        Settings { mixed: true, edges: 2, ..STEPS },
        "in steps, all mixed, edge by edge",
        QUIET,
        (1500, 1500, 1),
    ),
    on(STEPS, "in steps, verify", QUIET.verify(true), (1500, 1500, 1)),
    on(Settings { mostly_weak: true, ..STEPS }, "in steps, mostly weak", QUIET, (300, 1500, 1)),
    on(YOUNG_STEPS, "young, in steps", YOUNG_QUIET, (1500, 1500, 1)),
    on(
        Settings { mixed: true, edges: 100, ..YOUNG_STEPS },
        "young, in long steps",
        YOUNG_QUIET,
        (1500, 1500, 1),
    ),
    on(YOUNG_STEPS, "young, in steps, verify", YOUNG_QUIET.verify(true), (1500, 1500, 1)),
    on(YOUNG_STEPS, "young, in steps, mark stack of 8", YOUNG_QUIET.mark_stack(8), (1500, 1500, 1)),
    on(
        Settings { mostly_weak: true, ..YOUNG_STEPS },
        "young, in steps, mostly weak",
        YOUNG_QUIET,
        (300, 1500, 1),
    ),
];
