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
const SCANNED: Config = PRECISE.conservative_stacks(true);
const SIGNALS: Config = SCANNED.stop(Stop::Signals);

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
    companion: None,
};
const MIXED: Settings = Settings { mixed: true, ..USUAL };
const COMING: Settings = Settings { come_and_go: true, round: 4_000, ..USUAL };
const OFTEN_YOUNG: Settings = Settings { young: true, ..USUAL };
/// Many threads, with little each; what is looked at more closely; and what is collected at each allocation.
const CROWD: Settings = Settings { clusters: 4, objects: 60, round: 3_000, ..USUAL };
const VERIFIED: Settings = Settings { clusters: 4, objects: 60, round: 5_000, ..USUAL };
const STRESSED: Settings = Settings { clusters: 2, objects: 20, round: 400, come_and_go: true, ..USUAL };
const LIMITED: Settings = Settings { clusters: 50, ..USUAL };

const fn on(of: Settings, name: &'static str, config: Config, threads: usize, share: usize) -> Settings {
    Settings { name, config, threads, share, ..of }
}

const fn beside(name: &'static str, config: Config, companion: Config, share: usize) -> Settings {
    Settings { name, config, companion: Some(companion), share, come_and_go: true, ..USUAL }
}

const fn young(of: Settings) -> Settings {
    Settings { young: true, ..of }
}

pub(crate) const ALL: [Settings; 30] = [
    on(USUAL, "one thread", PRECISE, 1, 4),
    on(USUAL, "two threads, 30 %", CONCURRENT.percent(30), 2, 7),
    on(USUAL, "four threads", CONCURRENT.mark_threads(6), 4, 7),
    on(CROWD, "16 threads", PRECISE, 16, 7),
    on(COMING, "threads that come and go", PRECISE, 6, 7),
    on(MIXED, "layouts that share all spans", CONCURRENT, 3, 2),
    on(USUAL, "mark stack of 8", CONCURRENT.mark_stack(8), 2, 2),
    on(LIMITED, "limited", CONCURRENT.limit(6 << 20), 3, 2),
    on(VERIFIED, "verified", PRECISE.verify(true), 3, 1),
    on(STRESSED, "stressed", PRECISE.stress(true), 3, 1),
    on(Settings { come_and_go: true, ..USUAL }, "conservative stacks", SCANNED, 4, 6),
    on(OFTEN_YOUNG, "young, one thread", YOUNG, 1, 5),
    on(OFTEN_YOUNG, "young, two threads, left to themselves", YOUNG.min_heap(24 << 20), 2, 9),
    on(young(COMING), "young, threads that come and go", YOUNG, 6, 11),
    on(young(MIXED), "young, layouts that share all spans", YOUNG.mark_threads(4), 3, 5),
    on(OFTEN_YOUNG, "young, mark stack of 8", YOUNG.mark_stack(8), 2, 3),
    on(young(LIMITED), "young, limited", YOUNG.limit(6 << 20), 3, 4),
    on(young(VERIFIED), "young, verified", YOUNG.verify(true), 3, 1),
    on(young(STRESSED), "young, stressed", YOUNG.stress(true), 3, 1),
    on(USUAL, "signals, one thread", SIGNALS, 1, 1),
    on(USUAL, "signals, two threads", SIGNALS, 2, 1),
    on(USUAL, "signals, four threads", SIGNALS, 4, 2),
    on(COMING, "signals, eight threads that come and go", SIGNALS, 8, 2),
    on(CROWD, "signals, 16 threads", SIGNALS, 16, 2),
    on(MIXED, "signals, layouts that share all spans", SIGNALS, 3, 1),
    on(LIMITED, "signals, limited", SIGNALS.limit(6 << 20), 3, 1),
    on(
        Settings { come_and_go: true, ..VERIFIED },
        "signals, verified",
        SIGNALS.verify(true).mark_stack(16),
        3,
        1,
    ),
    beside("signals, and beside it a heap that polls", SIGNALS, SCANNED, 2),
    beside("polls, and beside it a heap that signals", PRECISE, SIGNALS, 1),
    beside(
        "signals, and beside it another signal, verified",
        SIGNALS,
        SIGNALS.stop_signal(35).verify(true),
        1,
    ),
];
