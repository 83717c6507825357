//! Whether full collections may mark beside the program: those of heaps whose threads poll, with a thread of the heap's own and at
//! least two cores. Which of them do is the policy's (`policy/start`). Invariant: it does not change.

use crate::policy::start_limits::SHORT_STOP_NS;
use crate::settings::options::{Concurrent, Config, Stop};
use heapwood_os::process::cores;

/// The rule of one heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConcurrentRule {
    /// The heap has a marker thread.
    may: bool,
    /// They do even where a stop would be short.
    always: bool,
    /// Trace functions may run beside the program.
    traces: bool,
}

impl ConcurrentRule {
    /// By the options of a heap, and the cores that the process has now.
    pub(super) fn new(config: &Config) -> Self {
        let can = config.stop == Stop::Polls && config.background_release && !config.stress;
        let wants = match config.concurrent {
            Concurrent::Off => false,
            Concurrent::Auto | Concurrent::On => cores::available() > 1,
            Concurrent::Always => true,
        };
        ConcurrentRule {
            may: can && wants,
            always: config.concurrent == Concurrent::Always,
            traces: config.concurrent != Concurrent::Auto,
        }
    }

    /// Whether the heap has a marker thread.
    pub(super) fn has_marker(self) -> bool {
        self.may
    }

    /// Whether they do even where a stop would be short.
    pub(super) fn is_always(self) -> bool {
        self.always
    }

    /// Nanoseconds of a marking in a stop that is short.
    pub(super) fn short_stop_ns(self) -> f64 {
        if self.always { 0.0 } else { SHORT_STOP_NS }
    }

    /// Whether trace functions may run beside the program.
    pub(super) fn allows_traces(self) -> bool {
        self.traces
    }
}
