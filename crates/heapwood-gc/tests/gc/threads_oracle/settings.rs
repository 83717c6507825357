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
    /// Whether who allocates beside a marking waits each time.
    pub(crate) waits: bool,
    /// Whether collections are young ones mostly, some of them late.
    pub(crate) young: bool,
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
        self.config.concurrent == Concurrent::On
    }

    /// Whether what is dead and not freed may refer to what is freed. Where words of a stack may keep a dead object, it may not.
    pub(crate) fn frees_some(&self) -> bool {
        !self.config.conservative_stacks
    }
}

const PRECISE: Config = heapwood_gc_testing::PRECISE.address_space(1 << 28);
/// Full markings go on beside the threads.
const CONCURRENT: Config = PRECISE.concurrent(Concurrent::On).max_pause(0);
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
    waits: false,
    young: false,
};
const MIXED: Settings = Settings { mixed: true, ..USUAL };
const COMING: Settings = Settings { come_and_go: true, round: 4_000, ..USUAL };
const OFTEN_YOUNG: Settings = Settings { young: true, ..USUAL };
/// Many threads, with little each; what is looked at more closely; and what is collected at each allocation.
const CROWD: Settings = Settings { clusters: 4, objects: 60, round: 3_000, ..USUAL };
const VERIFIED: Settings = Settings { clusters: 4, objects: 60, round: 5_000, ..USUAL };
const STRESSED: Settings = Settings { clusters: 2, objects: 20, round: 400, come_and_go: true, ..USUAL };
const LIMITED: Settings = Settings { clusters: 50, ..USUAL };

const fn on(of: Settings, config: Config, threads: usize, share: usize) -> Settings {
    Settings { config, threads, share, ..of }
}

const fn young(of: Settings) -> Settings {
    Settings { young: true, ..of }
}

heapwood_gc_testing::heaps! {
    super::play, Settings;
    one_thread = on(USUAL, PRECISE, 1, 6);
    two_threads = on(USUAL, CONCURRENT.percent(30), 2, 7);
    four_threads = on(USUAL, CONCURRENT.mark_threads(6), 4, 7);
    sixteen_threads = on(CROWD, PRECISE, 16, 7);
    threads_that_come_and_go = on(COMING, PRECISE, 6, 6);
    all_mixed = on(MIXED, CONCURRENT, 3, 2);
    small_mark_stack = on(USUAL, CONCURRENT.mark_stack(8), 2, 2);
    waits = on(Settings { waits: true, ..COMING }, CONCURRENT, 4, 1);
    limited = on(LIMITED, CONCURRENT.limit(6 << 20), 3, 2);
    verified = on(VERIFIED, PRECISE.verify(true), 3, 1);
    stressed = on(STRESSED, PRECISE.stress(true), 3, 1);
    conservative = on(Settings { come_and_go: true, ..USUAL }, SCANNED, 4, 6);
    young_one_thread = on(OFTEN_YOUNG, YOUNG, 1, 5);
    young_two_threads_left_to_themselves = on(OFTEN_YOUNG, YOUNG.min_heap(24 << 20), 2, 9);
    young_threads_that_come_and_go = on(young(COMING), YOUNG, 6, 10);
    young_all_mixed = on(young(MIXED), YOUNG.mark_threads(4), 3, 5);
    young_small_mark_stack = on(OFTEN_YOUNG, YOUNG.mark_stack(8), 2, 3);
    young_waits = on(young(Settings { waits: true, ..COMING }), YOUNG, 3, 1);
    young_limited = on(young(LIMITED), YOUNG.limit(6 << 20), 3, 4);
    young_verified = on(young(VERIFIED), YOUNG.verify(true), 3, 1);
    young_stressed = on(young(STRESSED), YOUNG.stress(true), 3, 1);
    signals_one_thread = on(USUAL, SIGNALS, 1, 1);
    signals_two_threads = on(USUAL, SIGNALS, 2, 1);
    signals_four_threads = on(USUAL, SIGNALS, 4, 2);
    signals_eight_threads_that_come_and_go = on(COMING, SIGNALS, 8, 2);
    signals_sixteen_threads = on(CROWD, SIGNALS, 16, 2);
    signals_all_mixed = on(MIXED, SIGNALS, 3, 1);
    signals_limited = on(LIMITED, SIGNALS.limit(6 << 20), 3, 1);
    signals_verified =
        on(Settings { come_and_go: true, ..VERIFIED }, SIGNALS.verify(true).mark_stack(16), 3, 3);
}
