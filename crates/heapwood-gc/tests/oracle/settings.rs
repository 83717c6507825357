//! The heaps a program is played on.

use heapwood_gc::Config;

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
}

impl Settings {
    /// Only precise roots keep objects alive, so what is dead must be gone.
    pub(crate) fn exact(&self) -> bool {
        !self.config.conservative_stacks
    }
}

const PRECISE: Config = Config {
    min_heap: 1 << 20,
    reserve: Some(1 << 30),
    huge_pages: false,
    conservative_stacks: false,
    ..Config::DEFAULT
};

/// The usual collection of heaps.
pub(crate) const ALL: [Settings; 11] = [
    Settings { name: "precise", config: PRECISE, objects: 1500, collect_every: 600, share: 24, mixed: false },
    Settings {
        name: "precise, left to itself",
        config: Config { percent: 30, ..PRECISE },
        objects: 3000,
        collect_every: usize::MAX,
        share: 20,
        mixed: false,
    },
    Settings {
        name: "precise, all mixed",
        config: PRECISE,
        objects: 1500,
        collect_every: 400,
        share: 6,
        mixed: true,
    },
    Settings {
        name: "precise, all mixed, verify, mark stack of 8",
        config: Config { mark_stack: Some(8), verify: true, ..PRECISE },
        objects: 1000,
        collect_every: 400,
        share: 4,
        mixed: true,
    },
    Settings {
        name: "precise, mark stack of 8",
        config: Config { mark_stack: Some(8), ..PRECISE },
        objects: 1500,
        collect_every: 500,
        share: 10,
        mixed: false,
    },
    Settings {
        name: "precise, mark stack of 1, verify",
        config: Config { mark_stack: Some(1), verify: true, ..PRECISE },
        objects: 800,
        collect_every: 500,
        share: 4,
        mixed: false,
    },
    Settings {
        name: "precise, limited",
        config: Config { limit: Some(4 << 20), percent: 400, ..PRECISE },
        objects: usize::MAX,
        collect_every: 3000,
        share: 10,
        mixed: false,
    },
    Settings {
        name: "precise, verify",
        config: Config { verify: true, ..PRECISE },
        objects: 1000,
        collect_every: 500,
        share: 6,
        mixed: false,
    },
    Settings {
        name: "precise, stress",
        config: Config { stress: true, ..PRECISE },
        objects: 120,
        collect_every: 50,
        share: 2,
        mixed: false,
    },
    Settings {
        name: "conservative stacks",
        config: Config { conservative_stacks: true, ..PRECISE },
        objects: 1500,
        collect_every: 600,
        share: 10,
        mixed: false,
    },
    Settings {
        name: "conservative stacks, mark stack of 8, verify",
        config: Config { conservative_stacks: true, verify: true, mark_stack: Some(8), ..PRECISE },
        objects: 1000,
        collect_every: 500,
        share: 4,
        mixed: false,
    },
];
