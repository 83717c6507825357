//! The options of a heap. One list is the source of [`Config`], its checks and its setters, of the keys of the variable
//! `HEAPWOOD` (`environment.rs`), of the C interface's `hw_options`, of the command's flags and of
//! docs/guide/options.md; mmtk-core, too, makes its options from one macro (util/options.rs). Invariant: the list has
//! the order of `hw_options`, with which programs are compiled; so a new option comes last.

pub(crate) mod info;
mod words;

pub use info::{Audience, OptionInfo, OptionUnit};
use words::Value;
pub use words::{Concurrent, GcTrace, Generational, Stop};

use crate::error::HeapError;
use core::ops::RangeInclusive;
use heapwood_heap::{MAX_RESERVATION, MIN_RESERVATION};
use heapwood_layout::MAX_MASK_WORDS;
use heapwood_os::threads::signal;

/// Passes the list to the macro `$to`: for each option a help text, name, type, default, unit, range, audience, and, if
/// it has no default, what the heap does without it.
///
/// The first sentence of a help text can stand alone. It holds in Rust, in C and on the command line.
#[doc(hidden)]
#[macro_export]
macro_rules! options_list {
    ($to:ident) => {
        $to! {
            /// No full collection is due while the heap is smaller than this. With bounded memory it is at most an
            /// eighth of the bound.
            min_heap: usize = 4 << 20, Bytes 0..=u64::MAX, Everyone;

            /// The bytes that objects may occupy, in whole pages. Allocation fails above it, after a
            /// full collection has made no room.
            limit: Option<usize> = None, Bytes Config::MIN_LIMIT as u64..=u64::MAX, Everyone, "no limit of its own";

            /// The address space for objects, rounded up to a power of two. It costs no memory, and `ulimit -v` counts what
            /// is used of it.
            address_space: Option<usize> = None, Bytes MIN_RESERVATION as u64..=MAX_RESERVATION as u64, Everyone,
                "twice the memory there is (at least 4 GiB), or twice the limit and 64 MiB if that is less; \
                 `ulimit -v` at most, and less if the kernel refuses";

            /// The most that may be allocated between full collections, in percent of the live bytes at the last one.
            /// It is less, down to 30, while collections take less than 7 % of CPU time (14 % from 128 MiB of it on), and
            /// from 256 MiB on. A small heap may grow to 32 MiB.
            percent: u32 = 150, Percent 1..=Config::MAX_PERCENT as u64, Everyone;

            /// Ask the kernel for huge pages behind objects, once the heap is larger than 8 MiB and while their first
            /// touch is fast. If off, the heap gets none.
            huge_pages: bool = true, Switch 0..=1, Everyone;

            /// Scan the stacks and registers of attached threads, and treat every word that looks like a pointer as
            /// one. If off, only precise roots keep objects alive: frames, handles, slots. The Rust interface always
            /// scans.
            conservative_stacks: bool = true, Switch 0..=1, InC;

            /// Check the whole heap at collections, fill freed memory and keep it (`quarantine`), and report stores that bypassed
            /// the barrier. Report threads that keep a collection waiting for a second. Abort if the heap is corrupt. The checks
            /// take no more time than all else; collections that the program asks for, and small heaps, are always checked.
            verify: bool = false, Switch 0..=1, Everyone;

            /// Collect at every allocation. Very slow.
            stress: bool = false, Switch 0..=1, Tests;

            /// Return unused memory to the kernel, in a thread of the heap that takes at most a hundredth of one CPU
            /// for it. It also sweeps after collections, with at most a quarter. Without it threads that allocate sweep, and each
            /// collection gives back a quarter of what is too much (statistic `own_thread`).
            background_release: bool = true, Switch 0..=1, Everyone;

            /// The most words of a type, given as a program or as text, that the heap stores as a mask, which is
            /// faster (docs/design/layout.md).
            mask_words: u32 = MAX_MASK_WORDS as u32, Words 0..=MAX_MASK_WORDS as u64, Tests;

            /// The edges that the mark stack holds before it overflows to a slower method.
            mark_stack: Option<u32> = None, Edges 1..=1 << 28, Tests, "by the size of the address space";

            /// The memory that the process may have, which bounds a heap without a limit. The heap tries to keep the
            /// process a tenth below it; objects take up at most seven eighths.
            process_memory: Option<usize> = None, Bytes Config::LEAST_MEMORY as u64..=u64::MAX, Everyone,
                "what memory control groups (version 2) allow, if that is less than the machine has";

            /// Report collections on standard error: `1`, a line after each, in the format of Go's gctrace; `off`, nothing.
            trace: Option<GcTrace> = None, Trace 1..=2, Everyone,
                "what the variable HEAPWOOD says of it, and otherwise nothing";

            /// The threads that mark: the collecting one, and helpers that sleep between collections. If set, all of
            /// them mark in every full collection, however small the heap. Half of them mark beside the program
            /// (`concurrent`), or else a quarter of the cores do; one does at least.
            mark_threads: Option<usize> = None, Threads 1..=Config::MOST_MARK_THREADS as u64, Everyone,
                "as many as the processor cores that the process may use, where marking takes long enough";

            /// Collect an idle heap, to return its garbage to the kernel: after ten seconds without a collection, and
            /// with less than a MiB allocated, while all its threads are in blocking regions. It needs
            /// `background_release`.
            idle_collection: bool = true, Switch 0..=1, Everyone;

            /// Young collections, which look only at objects allocated since the last one: `auto`, while they are
            /// profitable; `off`, never (then promotions, which keep all that is young, come beside the program's markings);
            /// `always`, for tests. With them each store of a pointer into an object takes
            /// the slow path of the write barrier.
            generational: Generational = Generational::Auto, When 0..=2, Everyone;

            /// How collections stop threads: `polls`, where they allocate, poll or are in blocking regions;
            /// `signals`, by a signal, anywhere. With signals there are no young collections and no write barrier,
            /// and stacks are scanned.
            stop: Stop = Stop::Polls, Stops 0..=1, Everyone;

            /// The signal that stops threads, by its number or name. Signals from elsewhere still have the effect
            /// that the program set before it made the heap.
            stop_signal: Option<u32> = None, Signal 1..=64, Everyone, "SIGURG, at which nothing happens by default";
            /// Treat every word in the writable data of the program and of all loaded libraries, but not thread-local
            /// variables, as a pointer if it looks like one. Each collection reads all of it, while threads are
            /// stopped.
            library_roots: bool = false, Switch 0..=1, Everyone;

            /// Raise SIGSEGV in a thread that accesses an arena after it was freed, until a full collection has found
            /// no pointer to it. Arenas then need far more system calls and page faults (docs/design/arenas.md).
            /// `verify` does this, too, and reports the arena.
            arena_faults: bool = false, Switch 0..=1, Everyone;

            /// Full markings beside the program, so that stops do not grow with the heap: `auto`, where threads poll, there
            /// are two cores, a stop would be longer than `max_pause`, and no type has a trace function; `on`, with trace
            /// functions, too, which run beside the program then; `off`, never. They need `background_release`,
            /// and take a core while they last; who allocates faster than they mark waits for them.
            concurrent: Concurrent = Concurrent::Auto, Beside 0..=2, Everyone;

            /// The longest pause that is wanted: a full collection that would stop the program for longer marks beside it
            /// (`concurrent`), and a young one ends earlier, and keeps what it has not looked at. With `off` throughput
            /// alone counts, and all full ones mark in stops; with 0 none does.
            max_pause: u64 = 5_000_000, Time 0..=u64::MAX, Everyone;

            /// In verify mode: how many bytes of freed objects are kept, so that a stale pointer leads to no new object. At most a
            /// quarter of a limit. With 0 memory is used again at once.
            quarantine: usize = 256 << 20, Bytes 0..=u64::MAX, Everyone;

            /// Say on standard error which thread keeps a collection waiting, when it has waited so long, and again at each minute.
            /// In verify mode it is said after a second, and so it is of a thread that does not answer a stop signal.
            report_wait: u64 = 10_000_000_000, Time 0..=u64::MAX, Everyone;

            /// In verify mode: abort after the first report of a mistake, also of one that does the heap no harm by itself.
            verify_stop: bool = false, Switch 0..=1, Everyone;
        }
    };
}

impl OptionInfo {
    /// The option of this name.
    pub fn find(name: &str) -> Option<&'static OptionInfo> {
        OPTIONS.iter().find(|option| option.name == name)
    }

    /// Whether `value` is in range.
    pub fn check(&'static self, value: u64) -> Result<(), HeapError> {
        match self.range().contains(&value) {
            true => Ok(()),
            false => Err(HeapError::OutOfRange { option: self, value }),
        }
    }
}

/// The default as a number; `None` for an option without one.
macro_rules! default_number {
    (Option<$inner:ty> = $default:expr) => {
        $default as Option<u64>
    };
    ($type:ident = $default:expr) => {{
        const DEFAULT: $type = $default;
        Some(DEFAULT as u64)
    }};
}

/// A method of [`Config`] that sets an option.
macro_rules! setter {
    ($name:ident: Option<$inner:ty>, $help:expr) => {
        #[doc = $help]
        #[must_use]
        pub const fn $name(mut self, $name: $inner) -> Self {
            self.$name = Some($name);
            self
        }
    };
    ($name:ident: $type:ident, $help:expr) => {
        #[doc = $help]
        #[must_use]
        pub const fn $name(mut self, $name: $type) -> Self {
            self.$name = $name;
            self
        }
    };
}

macro_rules! config {
    ($($(#[doc = $help:literal])+ $name:ident: $type:tt $(<$inner:ty>)? = $default:expr, $unit:ident $range:expr,
       $audience:ident $(, $unset:literal)?;)*) => {
        /// Settings of a heap: [`Config::default`], changed by methods of the same names.
        ///
        /// ```
        /// # use heapwood_gc::Config;
        /// let config = Config::default().percent(50).limit(1 << 30);
        /// assert_eq!(config.limit, Some(1 << 30));
        /// ```
        ///
        /// Sizes are bytes. A value out of range is an error, with the option's name, when a heap is made. With the
        /// defaults binary trees take about as much memory as in Go, and a quarter of the CPU time or less
        /// (docs/results/README.md).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Config {
            $($(#[doc = $help])+ pub $name: $type $(<$inner>)?,)*
        }

        impl Config {
            /// The defaults.
            pub const DEFAULT: Config = Config { $($name: $default,)* };

            $(setter! { $name: $type $(<$inner>)?, concat!($($help),+) })*

            /// The value of each option, in the order of [`OPTIONS`]; `None` if the heap finds it.
            pub fn values(&self) -> [Option<u64>; OPTIONS.len()] {
                [$(Value::number(self.$name)),*]
            }

            /// Sets one option, unless the value is out of its range.
            pub fn set(&mut self, option: &'static OptionInfo, value: u64) -> Result<(), HeapError> {
                option.check(value)?;
                match option.name {
                    $(stringify!($name) => self.$name = Value::of(value),)*
                    other => unreachable!("an OptionInfo is one of OPTIONS, and none is called {other}"),
                }
                Ok(())
            }
        }

        /// All options, in the order of the C interface's `hw_options`.
        pub static OPTIONS: [OptionInfo; [$(stringify!($name)),*].len()] = [$({
            const RANGE: RangeInclusive<u64> = $range;
            OptionInfo {
                name: stringify!($name),
                unit: OptionUnit::$unit,
                least: *RANGE.start(),
                most: *RANGE.end(),
                default: default_number!($type $(<$inner>)? = $default),
                unset: concat!($($unset)?),
                audience: Audience::$audience,
                help: concat!($($help),+).trim_ascii_start(),
            }
        }),*];
    };
}

options_list!(config);

impl Config {
    /// The largest growth percentage.
    pub const MAX_PERCENT: u32 = 100_000;

    /// The smallest limit in bytes: one growth step of the heap.
    pub const MIN_LIMIT: usize = 4 << 20;

    /// The least memory, in bytes, that a process may have for a heap without a limit.
    pub const LEAST_MEMORY: usize = 16 << 20;

    /// The most threads that mark one heap.
    pub const MOST_MARK_THREADS: u32 = 128;

    /// Applies the consequences of the option `stop`: with signals every collection is full.
    pub(crate) fn for_its_stops(self) -> Result<Self, HeapError> {
        let Some(signal) = self.signal() else { return Ok(self) };
        match () {
            () if self.generational == Generational::Always => Err(HeapError::SignalsAndYoung),
            () if self.concurrent == Concurrent::On => Err(HeapError::SignalsAndConcurrent),
            () if !self.conservative_stacks => Err(HeapError::SignalsAndPrecise),
            () if !signal::is_free(signal) => Err(HeapError::Signal { signal: signal as u32 }),
            () => Ok(self.generational(Generational::Off).concurrent(Concurrent::Off)),
        }
    }

    /// Applies the consequences of the option `background_release`: without a thread of the heap's own every marking is in a stop.
    pub(crate) fn for_its_thread(self) -> Result<Self, HeapError> {
        match self.concurrent {
            _ if self.background_release => Ok(self),
            Concurrent::On => Err(HeapError::ConcurrentWithoutThread),
            _ => Ok(self.concurrent(Concurrent::Off)),
        }
    }

    /// The signal that stops threads; `None` if they poll.
    pub(crate) fn signal(&self) -> Option<i32> {
        let signal = self.stop_signal.map_or(signal::USUAL, |signal| signal as i32);
        (self.stop == Stop::Signals).then_some(signal)
    }

    /// Whether all options are in range. [`Heap::create`](crate::Heap::create) checks this.
    pub fn check(&self) -> Result<(), HeapError> {
        let given = OPTIONS.iter().zip(self.values());
        given.filter_map(|(option, value)| Some((option, value?))).try_for_each(|(o, value)| o.check(value))
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_in_range_and_told() {
        assert_eq!(Config::DEFAULT.check(), Ok(()));
        for (option, value) in OPTIONS.iter().zip(Config::DEFAULT.values()) {
            assert_eq!(option.default, value, "{}", option.name);
            assert_eq!(value.is_none(), !option.unset.is_empty(), "{}: what happens without it", option.name);
            assert!(option.help.ends_with('.') && !option.summary().is_empty(), "{}", option.name);
        }
    }

    #[test]
    fn options_are_set_by_name_as_by_methods() {
        let mut config = Config::default();
        for (name, value) in [("percent", 50), ("limit", 8 << 20), ("verify", 1), ("mark_stack", 7)] {
            config.set(OptionInfo::find(name).unwrap(), value).unwrap();
        }
        assert_eq!(config, Config::default().percent(50).limit(8 << 20).verify(true).mark_stack(7));
        let percent = OptionInfo::find("percent").unwrap();
        assert_eq!(config.set(percent, 0), Err(HeapError::OutOfRange { option: percent, value: 0 }));
        assert_eq!(config.percent, 50);
        assert!(OptionInfo::find("Percent").is_none());
    }

    #[test]
    fn what_is_out_of_range_is_refused_with_name_value_range_and_what_to_do() {
        let said = |config: Config| config.check().unwrap_err().to_string();
        assert_eq!(
            said(Config::default().percent(0)),
            "option percent is 0: it must be 1 to 100000; choose such a value, or leave it out for the default, 150"
        );
        assert_eq!(
            said(Config::default().limit(1 << 20)),
            "option limit is 1 MiB: it must be at least 4 MiB; choose such a value, or leave it out"
        );
        assert!(said(Config::default().address_space(1)).contains("16 MiB to 16 TiB"));
        let switch = OptionInfo::find("verify").unwrap().check(2).unwrap_err();
        assert!(switch.to_string().starts_with("option verify is 2: it must be on (1) or off (0)"));
        for config in [
            Config::default().percent(Config::MAX_PERCENT + 1),
            Config::default().limit(Config::MIN_LIMIT - 1),
            Config::default().address_space(MAX_RESERVATION + 1),
            Config::default().mask_words(257),
            Config::default().mark_stack(0),
            Config::default().process_memory(1),
        ] {
            assert!(config.check().is_err(), "{config:?}");
        }
    }
}
