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
    /// Whether pointers in slots have tags, mostly.
    pub(crate) tagged: bool,
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
    tagged: false,
};

const OFTEN_YOUNG: Settings = Settings { config: YOUNG, collect_every: 200, young: true, ..USUAL };

const USUAL_TAGGED: Settings = Settings { config: PRECISE.tagged_stacks(true), tagged: true, ..USUAL };

const YOUNG_TAGGED: Settings = Settings { config: YOUNG.tagged_stacks(true), tagged: true, ..OFTEN_YOUNG };

/// Small graphs, which are looked at often.
const MOSTLY_WEAK: Settings =
    Settings { objects: 300, collect_every: 50, share: 1, mostly_weak: true, ..USUAL };

const BY_SIGNALS: Settings = Settings {
    name: "stopped by signals",
    config: PRECISE.conservative_stacks(true).stop(Stop::Signals),
    objects: 1000,
    collect_every: 400,
    share: 1,
    ..USUAL
};

/// The usual collection of heaps.
pub(crate) const ALL: [Settings; 35] = [
    USUAL,
    Settings {
        name: "precise, left to itself",
        config: PRECISE.percent(30),
        objects: 3000,
        collect_every: usize::MAX,
        share: 8,
        ..USUAL
    },
    Settings { name: "precise, all mixed", collect_every: 400, share: 4, mixed: true, ..USUAL },
    Settings {
        name: "precise, all mixed, verify, mark stack of 8",
        config: PRECISE.mark_stack(8).verify(true),
        objects: 1000,
        collect_every: 400,
        share: 3,
        mixed: true,
        ..USUAL
    },
    Settings {
        name: "precise, mark stack of 8",
        config: PRECISE.mark_stack(8),
        collect_every: 500,
        share: 5,
        ..USUAL
    },
    Settings {
        name: "precise, mark stack of 1, verify",
        config: PRECISE.mark_stack(1).verify(true),
        objects: 800,
        collect_every: 500,
        share: 2,
        ..USUAL
    },
    Settings {
        name: "precise, limited",
        config: PRECISE.limit(4 << 20).percent(400),
        objects: usize::MAX,
        collect_every: 3000,
        share: 6,
        ..USUAL
    },
    Settings {
        name: "precise, verify",
        config: PRECISE.verify(true),
        objects: 1000,
        collect_every: 500,
        share: 3,
        ..USUAL
    },
    Settings {
        name: "precise, stress",
        config: PRECISE.stress(true),
        objects: 120,
        collect_every: 50,
        share: 1,
        ..USUAL
    },
    Settings { name: "conservative stacks", config: PRECISE.conservative_stacks(true), share: 5, ..USUAL },
    Settings {
        name: "conservative stacks, mark stack of 8, verify",
        config: PRECISE.conservative_stacks(true).verify(true).mark_stack(8),
        objects: 1000,
        collect_every: 500,
        share: 2,
        ..USUAL
    },
    Settings { name: "any number of markers", collect_every: 500, share: 3, drawn: true, ..USUAL },
    Settings {
        name: "any number of markers, conservative stacks, mark stack of 8, verify",
        config: PRECISE.conservative_stacks(true).verify(true).mark_stack(8),
        objects: 1000,
        collect_every: 400,
        share: 1,
        drawn: true,
        ..USUAL
    },
    Settings { name: "young, precise", share: 6, ..OFTEN_YOUNG },
    Settings {
        name: "young, precise, left to itself",
        config: YOUNG.percent(30).min_heap(24 << 20),
        objects: 3000,
        collect_every: usize::MAX,
        share: 5,
        ..OFTEN_YOUNG
    },
    Settings { name: "young, precise, all mixed", collect_every: 150, share: 5, mixed: true, ..OFTEN_YOUNG },
    Settings {
        name: "young, precise, all mixed, verify, mark stack of 8",
        config: YOUNG.mark_stack(8).verify(true),
        objects: 800,
        collect_every: 150,
        share: 4,
        mixed: true,
        ..OFTEN_YOUNG
    },
    Settings {
        name: "young, precise, mark stack of 1, verify",
        config: YOUNG.mark_stack(1).verify(true),
        objects: 800,
        share: 3,
        ..OFTEN_YOUNG
    },
    Settings {
        name: "young, precise, verify",
        config: YOUNG.verify(true),
        objects: 1000,
        share: 5,
        ..OFTEN_YOUNG
    },
    Settings {
        name: "young, precise, limited",
        config: YOUNG.limit(4 << 20).percent(400),
        objects: usize::MAX,
        collect_every: 1000,
        share: 4,
        ..OFTEN_YOUNG
    },
    Settings {
        name: "young, precise, stress",
        config: YOUNG.stress(true),
        objects: 120,
        collect_every: 50,
        share: 1,
        ..OFTEN_YOUNG
    },
    Settings {
        name: "young, conservative stacks, mark stack of 8, verify",
        config: YOUNG.conservative_stacks(true).verify(true).mark_stack(8),
        objects: 1000,
        share: 3,
        ..OFTEN_YOUNG
    },
    Settings { name: "young, any number of markers", share: 2, drawn: true, ..OFTEN_YOUNG },
    BY_SIGNALS,
    Settings { name: "stopped by signals, all mixed", mixed: true, ..BY_SIGNALS },
    Settings {
        name: "stopped by signals, mark stack of 8, verify",
        config: BY_SIGNALS.config.mark_stack(8).verify(true),
        objects: 600,
        ..BY_SIGNALS
    },
    Settings {
        name: "stopped by signals, any number of markers",
        config: BY_SIGNALS.config.stop_signal(34),
        drawn: true,
        ..BY_SIGNALS
    },
    Settings { name: "precise, mostly weak", ..MOSTLY_WEAK },
    Settings {
        name: "precise, mostly weak, mark stack of 8, verify",
        config: PRECISE.mark_stack(8).verify(true),
        ..MOSTLY_WEAK
    },
    Settings { name: "any number of markers, mostly weak", drawn: true, ..MOSTLY_WEAK },
    Settings { name: "young, precise, mostly weak", config: YOUNG, young: true, ..MOSTLY_WEAK },
    Settings { name: "precise, tagged", share: 1, ..USUAL_TAGGED },
    Settings {
        name: "precise, tagged, all mixed, verify, mark stack of 8",
        config: USUAL_TAGGED.config.mark_stack(8).verify(true),
        objects: 1000,
        collect_every: 400,
        share: 1,
        mixed: true,
        drawn: true,
        ..USUAL_TAGGED
    },
    Settings { name: "young, precise, tagged", share: 1, ..YOUNG_TAGGED },
    Settings {
        name: "young, precise, tagged, verify",
        config: YOUNG_TAGGED.config.verify(true),
        objects: 1000,
        share: 1,
        ..YOUNG_TAGGED
    },
];
