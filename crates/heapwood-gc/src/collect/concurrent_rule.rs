//! Which full collections mark beside the program: those of heaps whose threads poll, with a thread of the heap's own, at least
//! two cores, and so much alive that a stop would be long. Invariant: it does not change.

use crate::policy::start_limits::LEAST_LIVE;
use crate::settings::options::{Concurrent, Config, Stop};
use heapwood_os::process::cores;

/// The rule of one heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConcurrentRule {
    /// The least bytes alive; `None` if it never does.
    least: Option<usize>,
    /// Trace functions may run beside the program.
    traces: bool,
}

impl ConcurrentRule {
    /// By the options of a heap, and the cores that the process has now.
    pub(super) fn new(config: &Config) -> Self {
        let can = config.stop == Stop::Polls && config.background_release && !config.stress;
        let least = match config.concurrent {
            Concurrent::Off => None,
            Concurrent::Auto | Concurrent::On => (cores::available() > 1).then_some(LEAST_LIVE),
            Concurrent::Always => Some(0),
        };
        ConcurrentRule { least: least.filter(|_| can), traces: config.concurrent != Concurrent::Auto }
    }

    /// Whether the heap has a marker thread.
    pub(super) fn has_marker(self) -> bool {
        self.least.is_some()
    }

    /// Whether they do even where a stop would cost less.
    pub(super) fn is_always(self) -> bool {
        self.least == Some(0)
    }

    /// Whether trace functions may run beside the program.
    pub(super) fn allows_traces(self) -> bool {
        self.traces
    }

    /// Whether a full collection of a heap with so many bytes alive marks beside the program.
    pub(super) fn applies(self, live: usize) -> bool {
        self.least.is_some_and(|least| live >= least)
    }
}
