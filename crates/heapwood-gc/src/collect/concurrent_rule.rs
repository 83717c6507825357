//! Whether full collections may mark beside the program: those of heaps whose threads poll, with a thread of the heap's own and at
//! least two cores. Which of them do is the policy's (`policy/start`). Invariant: it does not change.

use crate::settings::options::{Concurrent, Config, Stop};
use crate::settings::time;
use heapwood_os::process::cores;

/// Why a full collection is made in a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InStop {
    /// It takes less than the option `max_pause`.
    Short,
    /// A marking beside the program has not ended in time.
    Late,
    /// There is no room below a limit, or little.
    Limit,
    /// The program waits for it.
    Asked,
    /// A type has a trace function.
    TraceFunctions,
    /// The process has one core.
    OneCore,
    /// By the options of the heap.
    Off,
}

impl InStop {
    /// Its name in trace lines.
    pub(super) fn name(self) -> &'static str {
        match self {
            InStop::Short => "short",
            InStop::Late => "late",
            InStop::Limit => "limit",
            InStop::Asked => "asked",
            InStop::TraceFunctions => "trace-functions",
            InStop::OneCore => "one-core",
            InStop::Off => "off",
        }
    }
}

/// The rule of one heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConcurrentRule {
    /// The heap has a marker thread, or why none.
    may: Result<(), InStop>,
    /// Nanoseconds of a stop that is wanted.
    max_pause: u64,
    /// Trace functions may run beside the program.
    traces: bool,
}

impl ConcurrentRule {
    /// By the options of a heap, and the cores that the process has now.
    pub(super) fn new(config: &Config) -> Self {
        let can = config.stop == Stop::Polls && config.background_release && !config.stress;
        let may = match config.concurrent {
            _ if !can => Err(InStop::Off),
            Concurrent::Off => Err(InStop::Off),
            _ if config.max_pause == time::OFF => Err(InStop::Off),
            Concurrent::Auto | Concurrent::On if cores::available() < 2 && config.max_pause > 0 => {
                Err(InStop::OneCore)
            }
            Concurrent::Auto | Concurrent::On => Ok(()),
        };
        ConcurrentRule { may, max_pause: config.max_pause, traces: config.concurrent != Concurrent::Auto }
    }

    /// Whether the heap has a marker thread.
    pub(super) fn has_marker(self) -> bool {
        self.may.is_ok()
    }

    /// The same, or why not.
    pub(super) fn may(self) -> Result<(), InStop> {
        self.may
    }

    /// Whether they do even where a stop would be short.
    pub(super) fn is_always(self) -> bool {
        self.max_pause == 0
    }

    /// The longest pause that is wanted, in nanoseconds.
    pub(super) fn max_pause(self) -> u64 {
        self.max_pause
    }

    /// Whether trace functions may run beside the program.
    pub(super) fn allows_traces(self) -> bool {
        self.traces
    }
}
