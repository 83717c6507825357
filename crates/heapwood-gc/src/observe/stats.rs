//! The statistics of a heap: its collections so far, and its present state. One list is the source of [`Stats`], of the
//! C interface's `hw_stats`, of the keys of `heapwood run --json` and of docs/guide/statistics.md. Invariant: the list
//! has the order of `hw_stats`, with which programs are compiled; so between two releases a new statistic comes last.

/// The unit of a statistic.
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
    /// It only grows while the heap exists: the difference of two readings is the change between them.
    Total,
    /// The present value, or the value at the last collection.
    Level,
    /// A quantile of all durations since the heap was made.
    Quantile,
    /// The longest duration since the heap was made.
    Maximum,
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
    /// Its meaning.
    pub help: &'static str,
}

macro_rules! stats {
    ($($(#[doc = $help:literal])+ $name:ident: $type:ident, $unit:ident, $kind:ident;)*) => {
        /// Statistics of a heap: times are nanoseconds, sizes bytes. docs/guide/statistics.md explains them.
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
    /// Young ones among them, with pauses that only promote.
    young_collections: u64, Count, Total;
    /// Collections of an idle heap, which the heap's own thread made, or asked the marker for.
    idle_collections: u64, Count, Total;
    /// Live bytes at the last collection.
    live_bytes: usize, Bytes, Level;
    /// Live objects at the last collection.
    live_objects: usize, Count, Level;
    /// The size at which the next collection is due.
    goal_bytes: usize, Bytes, Level;
    /// Bytes handed out to mutators.
    allocated_bytes: u64, Bytes, Total;
    /// The part of `allocated_bytes` for small objects, up to 32 KiB.
    small_bytes: u64, Bytes, Total;
    /// Bytes of pages that objects occupy, or that mutators have cached.
    in_use_bytes: usize, Bytes, Level;
    /// Bytes of pages that may be resident: committed, and neither unused so far nor released.
    backed_bytes: usize, Bytes, Level;
    /// The most bytes that were ever committed for objects.
    committed_bytes: usize, Bytes, Level;
    /// Bytes given back to the kernel.
    released_bytes: u64, Bytes, Total;
    /// Bytes outside the heap that its objects own, as the program has told (`hw_external`). They count toward goal and limit, and are
    /// no part of the other sizes.
    external_bytes: usize, Bytes, Level;
    /// CPU time of collecting threads.
    collect_cpu_ns: u64, Nanoseconds, Total;
    /// Pauses, from the first request to stop until the last thread may go on: the median.
    pause_p50_ns: u64, Nanoseconds, Quantile;
    /// The 99th percentile.
    pause_p99_ns: u64, Nanoseconds, Quantile;
    /// The longest.
    pause_max_ns: u64, Nanoseconds, Maximum;
    /// The sum.
    pause_total_ns: u64, Nanoseconds, Total;
    /// The longest pause of a young collection.
    young_pause_max_ns: u64, Nanoseconds, Maximum;
    /// The longest time to stop: the first part of a pause, until every other thread has stopped.
    stop_max_ns: u64, Nanoseconds, Maximum;
    /// The longest time of marking, the second part.
    mark_max_ns: u64, Nanoseconds, Maximum;
    /// Prep: the time before marking, without sweeping. The collector asks the kernel, stops the threads and takes what they hand in.
    phase_prep_ns: u64, Nanoseconds, Total;
    /// The part of prep until every other thread had stopped.
    phase_stop_ns: u64, Nanoseconds, Total;
    /// Mark: until the threads go on.
    phase_mark_ns: u64, Nanoseconds, Total;
    /// Sweep: the sum over all threads, which report it when they next take the lock of the span lists.
    phase_sweep_ns: u64, Nanoseconds, Total;
    /// Page recovery: returning empty spans to the page allocator, by any thread.
    phase_recovery_ns: u64, Nanoseconds, Total;
    /// The sum of prep, mark, sweep and recovery.
    phase_total_ns: u64, Nanoseconds, Total;
    /// Acquisitions of the lock of the span lists, for small objects.
    span_lock_acquisitions: u64, Count, Total;
    /// Acquisitions of the page allocator's lock, for small objects.
    page_lock_acquisitions: u64, Count, Total;
    /// Read-modify-writes on memory that several threads write, for small objects: two for each acquisition of these two
    /// locks.
    shared_rmws: u64, Count, Total;
    /// Bytes that young collections promoted to old: found alive, or kept unmarked.
    promoted_bytes: u64, Bytes, Total;
    /// Young collections that took too long and ended early: all objects not yet marked were kept.
    promoted_en_masse: u64, Count, Total;
    /// Full markings beside the program (option `concurrent`) that have ended. Their pauses count among all, too: that of the
    /// start as a young collection, that of the end as a full one.
    concurrent_markings: u64, Count, Total;
    /// Those of them that ended in a stop which marked on, since the goal or the limit was met first.
    concurrent_degenerated: u64, Count, Total;
    /// CPU time of the marker beside the program.
    concurrent_mark_ns: u64, Nanoseconds, Total;
    /// Bytes of objects that these markings found, without what was promoted meanwhile.
    concurrent_mark_bytes: u64, Bytes, Total;
    /// How often allocations waited for the marker, since the heap filled faster than it was marked.
    mark_waits: u64, Count, Total;
    /// The sum of these waits.
    mark_wait_ns: u64, Nanoseconds, Total;
    /// The longest.
    mark_wait_max_ns: u64, Nanoseconds, Maximum;
    /// The longest pause that started one.
    mark_start_max_ns: u64, Nanoseconds, Maximum;
    /// The longest pause that ended one, without those that marked on.
    mark_end_max_ns: u64, Nanoseconds, Maximum;
    /// The most words that a pause which started one has looked at: of roots, of young objects that it marked, of spans and of
    /// tables.
    mark_start_max_words: u64, Count, Maximum;
    /// The same of pauses that ended one, without those that marked on.
    mark_end_max_words: u64, Count, Maximum;
    /// Overflows of the mark stack: objects had to be found a second time.
    mark_overflows: u64, Count, Total;
    /// Collections with the full set of checks (verify mode).
    verified: u64, Count, Total;
    /// Stores that bypassed the write barrier (verify mode).
    barrier_violations: u64, Count, Total;
    /// Floating garbage: objects that the last marking beside the program has kept, though nothing led to them when it ended
    /// (verify mode).
    floating_objects: usize, Count, Level;
    /// Arenas that were opened.
    arenas: u64, Count, Total;
    /// Bytes of pages of arenas that are open or referred to: part of `in_use_bytes`, not of `live_bytes`.
    arena_bytes: usize, Bytes, Level;
    /// Bytes of pages that arenas have released, for the next arenas or in quarantine.
    arena_free_bytes: usize, Bytes, Level;
    /// Finalisers that are registered, of objects that no collection has found dead.
    finalizers: usize, Count, Level;
    /// Finalisers of dead objects that wait on the queue for the program.
    finalizers_queued: usize, Count, Level;
    /// Finalisers that were ever queued.
    finalized: u64, Count, Total;
    /// Circles of ordered objects that the last full collection has found dead: they wait for each other, and are never queued.
    finalizer_circles: usize, Count, Level;
    /// Ephemerons and weak references that were cleared since their keys were dead.
    weak_cleared: u64, Count, Total;
    /// Threads attached now.
    threads: usize, Count, Level;
    /// How often the program has switched collections off and not on again.
    collections_off: u32, Count, Level;
    /// 1 if the heap's own thread is there, which sweeps and gives memory back. 0 if it is switched off or the system has refused it:
    /// threads that allocate sweep, and collections give memory back, a quarter at a time of what is too much.
    own_thread: u32, Count, Level;
}
