//! The heaps that threads play on.

use heapwood_gc::Config;
use heapwood_gc::settings::options::{Concurrent, Generational, Stop};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) name: &'static str,
    pub(crate) config: Config,
    pub(crate) threads: usize,
    /// How many clusters a thread keeps, and objects in one, at most.
    pub(crate) clusters: usize,
    pub(crate) objects: usize,
    /// How much of the work it gets, of 100.
    pub(crate) share: usize,
    /// How many allocations of each thread lie between two meetings.
    pub(crate) round: usize,
    /// Whether no layout gets spans of its own.
    pub(crate) mixed: bool,
    /// Whether threads leave and others take their place.
    pub(crate) come_and_go: bool,
    /// Whether collections are young ones mostly, some of them late.
    pub(crate) young: bool,
    /// Whether pointers have tags, mostly.
    pub(crate) tagged: bool,
    /// A second heap that half of the threads use, too.
    pub(crate) companion: Option<Config>,
}

impl Settings {
    /// Only precise roots keep objects alive, so what is dead must be gone.
    pub(crate) fn exact(&self) -> bool {
        !self.config.conservative_stacks
    }

    /// Whether another thread collects all the time, so that these are stopped in the middle of everything.
    pub(crate) fn disturbed(&self) -> bool {
        self.config.stop == Stop::Signals
    }

    /// Whether full markings go on beside the threads.
    pub(crate) fn marks_beside(&self) -> bool {
        self.config.concurrent == Concurrent::Always
    }

    /// Whether what is dead and not freed may refer to what is freed. Where words of a stack may keep a dead object, it may not.
    pub(crate) fn frees_some(&self) -> bool {
        !self.config.conservative_stacks
    }
}

const PRECISE: Config = heapwood_gc_testing::PRECISE.address_space(1 << 28);

/// Full markings go on beside the threads.
const CONCURRENT: Config = PRECISE.concurrent(Concurrent::Always);

const YOUNG: Config = CONCURRENT.generational(Generational::Always);

const USUAL: Settings = Settings {
    name: "",
    config: PRECISE,
    threads: 4,
    clusters: 8,
    objects: 100,
    share: 0,
    round: 10_000,
    mixed: false,
    come_and_go: false,
    young: false,
    tagged: false,
    companion: None,
};

const SIGNALS: Config = PRECISE.conservative_stacks(true).stop(Stop::Signals);

const BY_SIGNALS: Settings = Settings { config: SIGNALS, share: 2, ..USUAL };

const OFTEN_YOUNG: Settings = Settings { config: YOUNG, young: true, ..USUAL };

pub(crate) const ALL: [Settings; 32] = [
    Settings { name: "one thread", threads: 1, share: 4, ..USUAL },
    Settings { name: "two threads, 30 %", threads: 2, config: CONCURRENT.percent(30), share: 7, ..USUAL },
    Settings { name: "four threads", config: CONCURRENT.mark_threads(6), share: 7, ..USUAL },
    Settings { name: "16 threads", threads: 16, clusters: 4, objects: 60, round: 3_000, share: 7, ..USUAL },
    Settings {
        name: "threads that come and go",
        threads: 6,
        come_and_go: true,
        round: 4_000,
        share: 7,
        ..USUAL
    },
    Settings {
        name: "layouts that share all spans",
        config: CONCURRENT,
        threads: 3,
        mixed: true,
        share: 2,
        ..USUAL
    },
    Settings { name: "mark stack of 8", threads: 2, config: CONCURRENT.mark_stack(8), share: 2, ..USUAL },
    Settings {
        name: "limited",
        threads: 3,
        config: CONCURRENT.limit(6 << 20),
        clusters: 50,
        share: 2,
        ..USUAL
    },
    Settings {
        name: "verified",
        threads: 3,
        config: PRECISE.verify(true),
        clusters: 4,
        objects: 60,
        round: 5_000,
        share: 1,
        ..USUAL
    },
    Settings {
        name: "stressed",
        threads: 3,
        config: PRECISE.stress(true),
        clusters: 2,
        objects: 20,
        round: 400,
        share: 1,
        come_and_go: true,
        ..USUAL
    },
    Settings {
        name: "conservative stacks",
        config: PRECISE.conservative_stacks(true),
        share: 6,
        come_and_go: true,
        ..USUAL
    },
    Settings { name: "young, one thread", threads: 1, share: 5, ..OFTEN_YOUNG },
    Settings {
        name: "young, two threads, left to themselves",
        threads: 2,
        config: YOUNG.min_heap(24 << 20),
        share: 9,
        ..OFTEN_YOUNG
    },
    Settings {
        name: "young, threads that come and go",
        threads: 6,
        come_and_go: true,
        round: 4_000,
        share: 9,
        ..OFTEN_YOUNG
    },
    Settings {
        name: "young, layouts that share all spans",
        config: YOUNG.mark_threads(4),
        threads: 3,
        mixed: true,
        share: 5,
        ..OFTEN_YOUNG
    },
    Settings {
        name: "young, mark stack of 8",
        threads: 2,
        config: YOUNG.mark_stack(8),
        share: 3,
        ..OFTEN_YOUNG
    },
    Settings {
        name: "young, limited",
        threads: 3,
        config: YOUNG.limit(6 << 20),
        clusters: 50,
        share: 4,
        ..OFTEN_YOUNG
    },
    Settings {
        name: "young, verified",
        threads: 3,
        config: YOUNG.verify(true),
        clusters: 4,
        objects: 60,
        round: 5_000,
        share: 1,
        ..OFTEN_YOUNG
    },
    Settings {
        name: "young, stressed",
        threads: 3,
        config: YOUNG.stress(true),
        clusters: 2,
        objects: 20,
        round: 400,
        share: 1,
        come_and_go: true,
        ..OFTEN_YOUNG
    },
    Settings { name: "signals, one thread", threads: 1, share: 1, ..BY_SIGNALS },
    Settings { name: "signals, two threads", threads: 2, share: 1, ..BY_SIGNALS },
    Settings { name: "signals, four threads", ..BY_SIGNALS },
    Settings {
        name: "signals, eight threads that come and go",
        threads: 8,
        come_and_go: true,
        round: 3_000,
        ..BY_SIGNALS
    },
    Settings {
        name: "signals, 16 threads",
        threads: 16,
        clusters: 4,
        objects: 60,
        round: 2_000,
        ..BY_SIGNALS
    },
    Settings {
        name: "signals, layouts that share all spans",
        threads: 3,
        mixed: true,
        share: 1,
        ..BY_SIGNALS
    },
    Settings {
        name: "signals, limited",
        threads: 3,
        config: SIGNALS.limit(6 << 20),
        clusters: 50,
        share: 1,
        ..BY_SIGNALS
    },
    Settings {
        name: "signals, verified",
        threads: 3,
        config: SIGNALS.verify(true).mark_stack(16),
        clusters: 4,
        objects: 60,
        round: 2_000,
        come_and_go: true,
        share: 1,
        ..BY_SIGNALS
    },
    Settings {
        name: "signals, and beside it a heap that polls",
        companion: Some(PRECISE.conservative_stacks(true)),
        come_and_go: true,
        ..BY_SIGNALS
    },
    Settings {
        name: "polls, and beside it a heap that signals",
        companion: Some(SIGNALS),
        come_and_go: true,
        share: 1,
        ..USUAL
    },
    Settings {
        name: "signals, and beside it a heap with another signal, verified",
        companion: Some(SIGNALS.stop_signal(35).verify(true)),
        come_and_go: true,
        share: 1,
        ..BY_SIGNALS
    },
    Settings {
        name: "tagged",
        threads: 3,
        config: CONCURRENT.mark_threads(4).tagged_stacks(true),
        share: 1,
        tagged: true,
        ..USUAL
    },
    Settings {
        name: "young, tagged, verified",
        threads: 3,
        config: YOUNG.verify(true).tagged_stacks(true),
        clusters: 4,
        objects: 60,
        round: 5_000,
        share: 1,
        tagged: true,
        ..OFTEN_YOUNG
    },
];
