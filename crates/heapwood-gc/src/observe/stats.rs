//! What the collector has done, and what the heap is now. There is one list of statistics: of it are made [`Stats`], the C
//! interface's `hw_stats`, the keys of `heapwood run --json` and docs/guide/statistics.md. Invariant: the order of the list
//! is that of `hw_stats`, which programs are compiled with; so what is new comes last.

/// What a statistic counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatUnit {
    /// Things, or events.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
}

/// How a statistic changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatKind {
    /// It only grows while the heap exists: the difference between two readings is what happened between them.
    Total,
    /// It is what was so at the moment, or at the last collection.
    Level,
    /// A quantile of all durations since the heap was made.
    Quantile,
    /// The longest duration since the heap was made.
    Maximum,
}

impl StatKind {
    /// Its name, as the guide has it.
    pub fn name(self) -> &'static str {
        match self {
            StatKind::Total => "total",
            StatKind::Level => "level",
            StatKind::Quantile => "quantile",
            StatKind::Maximum => "maximum",
        }
    }
}

/// One line of the list: a statistic, its unit and its help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatInfo {
    /// Its name, as a field of [`Stats`] and of `hw_stats`.
    pub name: &'static str,
    /// What it counts.
    pub unit: StatUnit,
    /// How it changes.
    pub kind: StatKind,
    /// What it says.
    pub help: &'static str,
}

macro_rules! stats {
    ($($(#[doc = $help:literal])+ $name:ident: $type:ident, $unit:ident, $kind:ident;)*) => {
        /// Statistics of a heap: times are nanoseconds, sizes bytes. docs/guide/statistics.md says how to read them.
        #[derive(Clone, Copy, Debug, Default)]
        #[non_exhaustive]
        pub struct Stats {
            $($(#[doc = $help])+ pub $name: $type,)*
        }

        /// All statistics, in the order of the C interface's `hw_stats`.
        pub static STATISTICS: [StatInfo; [$(stringify!($name)),*].len()] = [$(StatInfo {
            name: stringify!($name),
            unit: StatUnit::$unit,
            kind: StatKind::$kind,
            help: concat!($($help),+).trim_ascii_start(),
        }),*];

        impl Stats {
            /// The value of each statistic, in the order of [`STATISTICS`].
            pub fn values(&self) -> [u64; STATISTICS.len()] {
                [$(self.$name as u64),*]
            }
        }
    };
}

stats! {
    /// Collections so far.
    collections: u64, Count, Total;
    /// What the last collection found alive, in cells and pages.
    live_bytes: usize, Bytes, Level;
    /// The objects it found alive.
    live_objects: usize, Count, Level;
    /// The size at which the next collection is due.
    goal_bytes: usize, Bytes, Level;
    /// Handed out to mutators.
    allocated_bytes: u64, Bytes, Total;
    /// In pages that objects occupy now, or that running mutators have cached.
    in_use_bytes: usize, Bytes, Level;
    /// Committed for objects: the most the heap ever had.
    committed_bytes: usize, Bytes, Level;
    /// CPU time of collecting threads.
    collect_cpu_ns: u64, Nanoseconds, Total;
    /// The median pause: from the first request to stop until the last thread may go on.
    pause_p50_ns: u64, Nanoseconds, Quantile;
    /// The pause that 99 % do not exceed.
    pause_p99_ns: u64, Nanoseconds, Quantile;
    /// The longest pause.
    pause_max_ns: u64, Nanoseconds, Maximum;
    /// All pauses together.
    pause_total_ns: u64, Nanoseconds, Total;
    /// How often the mark stack was full, and objects had to be found a second time.
    mark_overflows: u64, Count, Total;
    /// Stores that went around the write barrier (verify mode).
    barrier_violations: u64, Count, Total;
    /// Collections that were followed by the full set of checks (verify mode).
    verified: u64, Count, Total;
    /// Threads attached now.
    threads: usize, Count, Level;
    /// Time to stop, a part of each pause: from the first request until every other thread had stopped. 99 % of stops took
    /// no longer.
    stop_p99_ns: u64, Nanoseconds, Quantile;
    /// The longest time to stop.
    stop_max_ns: u64, Nanoseconds, Maximum;
    /// All times to stop together.
    stop_total_ns: u64, Nanoseconds, Total;
    /// Time marking, another part of each pause. 99 % of markings took no longer.
    mark_p99_ns: u64, Nanoseconds, Quantile;
    /// The longest marking.
    mark_max_ns: u64, Nanoseconds, Maximum;
    /// All markings together.
    mark_total_ns: u64, Nanoseconds, Total;
    /// Time that the collecting thread swept what the cycle before had left, before it asked the others to stop: no part of
    /// a pause, but its own thread waits. 99 % took no longer.
    sweep_p99_ns: u64, Nanoseconds, Quantile;
    /// The longest of these sweeps.
    sweep_max_ns: u64, Nanoseconds, Maximum;
    /// All of them together.
    sweep_total_ns: u64, Nanoseconds, Total;
    /// The longest that the lock of the span lists was held, which others may have waited for.
    hold_spans_max_ns: u64, Nanoseconds, Maximum;
    /// The same of the page allocator's lock.
    hold_pages_max_ns: u64, Nanoseconds, Maximum;
    /// The same of the lock for registering layouts.
    hold_types_max_ns: u64, Nanoseconds, Maximum;
    /// The same of the lock of the list of threads, which a collection holds during its pause.
    hold_threads_max_ns: u64, Nanoseconds, Maximum;
    /// The same of the lock of the table of roots.
    hold_roots_max_ns: u64, Nanoseconds, Maximum;
    /// The same of the lock of the handles.
    hold_handles_max_ns: u64, Nanoseconds, Maximum;
    /// In pages that may have memory behind them (resident): of those committed, without those that were never used or
    /// were released.
    backed_bytes: usize, Bytes, Level;
    /// Given back to the kernel, in the background or when asked to.
    released_bytes: u64, Bytes, Total;
    /// Spans of small objects handed out to mutators, as far as they have told.
    spans: u64, Count, Total;
    /// How often the lock of the span lists was taken for them.
    span_lock_acquisitions: u64, Count, Total;
    /// How often the lock of the page allocator was taken, by anyone.
    page_lock_acquisitions: u64, Count, Total;
    /// How often threads were stopped, or found stopped.
    stops: u64, Count, Total;
    /// The median time to stop.
    stop_p50_ns: u64, Nanoseconds, Quantile;
    /// The phases of collections, which add up to `phase_total_ns`. Prep: what comes before marking, but for sweeping: the
    /// kernel is asked, threads are stopped, their runs are taken away.
    phase_prep_ns: u64, Nanoseconds, Total;
    /// CPU time of the collecting thread in it.
    phase_prep_cpu_ns: u64, Nanoseconds, Total;
    /// The part of prep from the first request until every other thread had stopped.
    phase_stop_ns: u64, Nanoseconds, Total;
    /// CPU time of the collecting thread in it.
    phase_stop_cpu_ns: u64, Nanoseconds, Total;
    /// Marking, until the threads go on.
    phase_mark_ns: u64, Nanoseconds, Total;
    /// CPU time in it, of all threads that mark.
    phase_mark_cpu_ns: u64, Nanoseconds, Total;
    /// Sweeping, by any thread: of all threads together, so that it may exceed what passed. Threads tell of it when they next
    /// take the lock of the span lists.
    phase_sweep_ns: u64, Nanoseconds, Total;
    /// CPU time in it: the same, since it comes in batches of microseconds, which are seldom interrupted.
    phase_sweep_cpu_ns: u64, Nanoseconds, Total;
    /// Page recovery: giving spans without objects to the page allocator, by any thread.
    phase_recovery_ns: u64, Nanoseconds, Total;
    /// CPU time in it: the same.
    phase_recovery_cpu_ns: u64, Nanoseconds, Total;
    /// Grand total: prep, mark, sweep and recovery.
    phase_total_ns: u64, Nanoseconds, Total;
    /// CPU time in them.
    phase_total_cpu_ns: u64, Nanoseconds, Total;
    /// The part of the sweeping that threads did which allocate.
    sweep_allocation_ns: u64, Nanoseconds, Total;
    /// The part that the heap's own thread did, in the background.
    sweep_background_ns: u64, Nanoseconds, Total;
    /// The part that threads did which collect, before they marked.
    sweep_collector_ns: u64, Nanoseconds, Total;
    /// Spans swept by threads that allocate, as far as they have told.
    swept_by_allocation: u64, Count, Total;
    /// Spans swept by the heap's own thread.
    swept_by_background: u64, Count, Total;
    /// Spans swept by threads that collect, before they marked.
    swept_by_collector: u64, Count, Total;
    /// What of `allocated_bytes` was for objects that share pages with others, up to 32 KiB.
    small_bytes: u64, Bytes, Total;
    /// Read-modify-writes on memory that several threads write, for small objects: two each time that one of these two locks was
    /// taken, but for the three times that a large object takes them.
    shared_rmws: u64, Count, Total;
    /// How often a thread that allocates needed another span's cells.
    refills: u64, Count, Total;
    /// Spans that threads took off the shared lists.
    spans_taken: u64, Count, Total;
    /// Spans that they put there.
    spans_returned: u64, Count, Total;
    /// Collections of a heap that was idle, which the heap's own thread made.
    idle_collections: u64, Count, Total;
    /// Those that it withdrew, since some thread neither stopped within a millisecond nor was in a blocking region.
    idle_withdrawn: u64, Count, Total;
    /// The system's number of the thread for which the last was withdrawn; 0 if none was.
    idle_withdrawn_thread: u32, Count, Level;
    /// Those of the collections that looked only at what was made since the one before.
    young_collections: u64, Count, Total;
    /// The median of their pauses, which are pauses like the others, too.
    young_pause_p50_ns: u64, Nanoseconds, Quantile;
    /// The pause that 99 % of them do not exceed.
    young_pause_p99_ns: u64, Nanoseconds, Quantile;
    /// The longest.
    young_pause_max_ns: u64, Nanoseconds, Maximum;
    /// All of them together.
    young_pause_total_ns: u64, Nanoseconds, Total;
    /// What young collections found alive, or kept unseen: it counts as old since.
    promoted_bytes: u64, Bytes, Total;
    /// Young collections that were ended early, for they took too long: what they had not seen was kept.
    promoted_en_masse: u64, Count, Total;
    /// Arenas that were opened.
    arenas: u64, Count, Total;
    /// In pages of arenas that are open, or that something points into. Part of `in_use_bytes`, but not of `live_bytes`: arenas
    /// make no collection due as long as they are open.
    arena_bytes: usize, Bytes, Level;
    /// In pages that arenas have given up: for the next arenas, or until a collection has seen no pointer there.
    arena_free_bytes: usize, Bytes, Level;
}
