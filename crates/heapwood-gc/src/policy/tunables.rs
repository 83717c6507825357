//! The constants of all policies: what each means, its unit, and where it was measured. A constant that shows nothing in an
//! A/B is deleted (docs/design/policy.md says how they act on each other). Those of the heap below, which are about spans
//! and pages, are in `heapwood-heap/policy`.
//! Invariant: policies use no other numbers.

/// How much a heap may grow between two full collections (docs/results/2026-11/costs.tsv, threads.tsv).
pub(super) mod growth {
    /// The part of CPU time that collecting may take.
    pub(in crate::policy) const WANTED_CPU: f64 = 0.07;
    /// Growth by up to this many bytes is worth that; growth by more only where collecting takes a part that is larger in
    /// proportion, but no more than this many times as large.
    pub(in crate::policy) const FREE_ROOM: usize = 64 << 20;
    pub(in crate::policy) const MOST_WANTED: f64 = 2.0;
    /// The least growth, in hundredths of what is alive.
    pub(in crate::policy) const LEAST_PERCENT: usize = 30;
    /// The least growth in bytes; the option `min_heap` if that is less.
    pub(in crate::policy) const LEAST: usize = 3 << 20;
    /// The most that growth may be multiplied by at once, and where less than half was freed of what has come
    /// since the last full collection.
    pub(in crate::policy) const AT_ONCE: f64 = 2.0;
    pub(in crate::policy) const AT_ONCE_IF_LITTLE_FREED: f64 = 3.0;
    /// Bytes of fresh memory that are touched in a nanosecond, small pages: two microseconds each (docs/results, "First touches").
    pub(in crate::policy) const TOUCHED_BYTES_A_NS: f64 = 2.0;
    /// The size in bytes that a heap may have for each mutator whatever is alive, if it would else collect all the time and
    /// `percent` is no less than usual.
    pub(in crate::policy) const SMALL: usize = 32 << 20;
    /// Up to this size in bytes a heap may grow by all of `percent`, and from the other size on by a third of it.
    pub(in crate::policy) const LARGE: usize = 256 << 20;
    pub(in crate::policy) const HUGE: usize = 64 << 30;
}

/// When young collections come (docs/results/2026-11/young.tsv).
pub(crate) mod nursery {
    /// The smallest nursery in bytes, which is the first, and the largest. With a smallest one of 1 MiB trees take a third more
    /// locks, and no less time.
    pub(in crate::policy) const LEAST: usize = 4 << 20;
    pub(in crate::policy) const MOST: usize = 64 << 20;
    /// There are no young collections of less than this.
    pub(crate) const LEAST_BUDGET_OF_YOUNG: usize = 1 << 20;
    /// It is at most this part of the room that is left, half of that while young collections are tried, and twice that once they
    /// pay. With a quarter then, too, trees 21 promote a fifth more, which full collections find dead; with a half from the
    /// beginning, programs in which all survives mark a quarter more (docs/results/README.md).
    pub(in crate::policy) const PART_OF_ROOM: usize = 4;
    /// It is doubled when more than this part survives, and halved when less than the other does.
    pub(in crate::policy) const DOUBLE: usize = 16;
    pub(in crate::policy) const HALVE: usize = 128;
    /// The same for the part of the time that its collections take.
    pub(in crate::policy) const MUCH_TIME: u64 = 24;
    pub(in crate::policy) const LITTLE_TIME: u64 = 100;
    /// It is also doubled while it is less than this many times the stacks that its collections scan: eight bytes of a stack
    /// take as long as one or two of allocation.
    pub(in crate::policy) const STACK_PART: usize = 8;
    /// Full collections after which one is tried again, at most.
    pub(in crate::policy) const LONGEST_BACKOFF: u32 = 16;
    /// Bytes of allocation that count like one of those.
    pub(in crate::policy) const BACKOFF_BYTES: usize = 32 << 20;
    /// Bytes that a pause promotes at most during a backoff, in a heap that marks beside the program: half a millisecond.
    pub(in crate::policy) const MOST_PROMOTED: usize = 8 << 20;
    /// Nanoseconds that a store into a young page takes in the slow half of the write barrier: a part of what young collections
    /// cost. Other stores count as several.
    pub(in crate::policy) const STORE_NS: u64 = 4;
    /// Bytes of the nursery for which one store may take it in any case: two stores for the smallest objects.
    pub(in crate::policy) const BYTES_A_STORE: usize = 8;
    /// A young collection may take this part of the time since the last, and no less or more nanoseconds than these. What is
    /// not marked then is promoted.
    pub(in crate::policy) const PART_OF_TIME: u64 = 8;
    pub(in crate::policy) const LEAST_TIME: u64 = 200_000;
    pub(in crate::policy) const MOST_TIME: u64 = 2_000_000;
}

/// The goal, and collections near a limit (docs/results/2026-11/costs.tsv).
pub(crate) mod goal {
    /// A heap is near its limit when less than this part is left.
    pub(in crate::policy) const NEAR: usize = 16;
    /// Bytes that may be allocated before the next collection even at the limit.
    pub(crate) const LEAST_BUDGET: usize = 64 << 10;
}

/// Whether workers help with a marking (docs/design/parallel-marking.md).
pub(super) mod help {
    /// A marking that takes one thread this many nanoseconds may have help.
    pub(in crate::policy) const LEAST_HELPED_NS: u64 = 8_000_000;
    /// The first marking has help if N bytes are in use.
    pub(in crate::policy) const FIRST_HELP_BYTES: usize = 256 << 20;
    /// Help must make a marking this much faster, for all threads together take more: two that are half as fast again as one
    /// take a third more CPU time.
    pub(in crate::policy) const LEAST_SPEEDUP: f64 = 1.5;
    /// One in N markings that may have help is done the other way.
    pub(in crate::policy) const TRY_EVERY: u32 = 16;
}

/// When an idle heap is collected (docs/design/threads.md).
pub(crate) mod idle {
    use core::time::Duration;

    /// A heap that was not in use for so long is idle. As long after a try that found it in use comes the next.
    pub(crate) const QUIET: Duration = Duration::from_secs(10);
    /// As many bytes in that time are no use of the heap, and are not worth a collection.
    pub(in crate::policy) const LITTLE: u64 = 1 << 20;
    /// The part of what was alive that is worth a collection once as much was allocated.
    pub(in crate::policy) const PART: u64 = 8;
}

/// Which memory goes back to the kernel (docs/design/pages.md).
pub(super) mod release {
    use core::time::Duration;

    /// The part of the goal that is kept beside it.
    pub(in crate::policy) const KEPT_PART: usize = 10;
    /// A heap is far larger than it needs if its memory exceeds the goal by this part.
    pub(in crate::policy) const FAR_PART: usize = 2;
    /// What one collection gives back of a heap without a thread of its own: this part of what is too much, or this much.
    pub(in crate::policy) const COLLECTION_PART: usize = 4;
    pub(in crate::policy) const LEAST_AT_COLLECTION: usize = 16 << 20;
    pub(in crate::policy) const MOST_AT_COLLECTION: usize = 256 << 20;
    /// If it has been so for this long, memory that was in use a moment ago goes, too.
    pub(in crate::policy) const LONG_FAR: Duration = Duration::from_secs(1);
}

/// When a concurrent marking starts, and which (docs/design/concurrent.md).
pub(crate) mod start {
    /// The lead of the start over the expected growth.
    pub(in crate::policy) const MARGIN: f64 = 1.25;
    /// The lead is at least this part of the room.
    pub(in crate::policy) const LEAST_PART: usize = 10;
    /// The part of the room that no lead takes where all dies that is promoted: with 0.5 trees 20 and 21 mark a quarter more
    /// often.
    pub(in crate::policy) const SPARED: f64 = 0.75;
    /// What a full collection frees says how much of what is promoted dies if more than this part of what is alive was new.
    pub(in crate::policy) const LEARNS_PART: usize = 16;
    /// The parts of its goal by which a heap may exceed it while it is marked, if nothing dies, and if all does that is promoted.
    pub(in crate::policy) const SLIP: f64 = 0.25;
    pub(in crate::policy) const SLIP_OF_GARBAGE: f64 = 0.0625;
    /// Bytes a nanosecond: the rate at which the first marking is expected to mark, and the least that is believed.
    pub(in crate::policy) const FIRST_MARK_RATE: f64 = 4.0;
    pub(in crate::policy) const LEAST_MARK_RATE: f64 = 0.01;
    /// The speed of marking beside the program, before it is known, as a part of that in a stop.
    pub(in crate::policy) const EXPECTED_SPEED: f64 = 0.5;
    /// The part of what a marker beside the program takes that counts for the growth of the heap: it takes twice as long as in a
    /// stop, and memory is not to pay for that.
    pub(crate) const COUNTED_PART: u64 = 2;
    /// A pause that starts or ends a marking looks at so many bytes of young objects at most: if there are more, an ordinary
    /// young collection comes first, but no more than that many times.
    pub(crate) const MOST_YOUNG: usize = 1 << 20;
    pub(crate) const MOST_TRIES: u32 = 3;
    /// The same where barriers have noted more objects than this that the marker has not taken.
    pub(crate) const MOST_NOTED: usize = 64;
}

/// How much may be allocated while a marking goes on beside the program (docs/design/concurrent.md).
pub(crate) mod pace {
    use core::time::Duration;

    /// The part of the room that is granted before anything is marked, and the part of what is marked that may be left at least.
    pub(in crate::policy) const PART_AHEAD: usize = 16;
    pub(in crate::policy) const PART_UNSEEN: usize = 16;
    /// The least part of what is allocated that is believed to survive.
    pub(crate) const LEAST_SURVIVAL: f64 = 1.0 / 64.0;
    /// A slice of the marker's lasts so long at least, if somebody waits for it. With 50 us, and waits of half as long, trees 21 took a
    /// twelfth more CPU time.
    pub(crate) const LEAST_SLICE_NS: u64 = 200_000;
    /// An allocation waits no longer than this, or, if others have waited in vain, than eight times this. Then it, and others, may take so
    /// many bytes, whatever is marked.
    pub(crate) const WAIT: Duration = Duration::from_micros(400);
    pub(crate) const MOST_DOUBLED: u32 = 3;
    pub(crate) const PASSED_BYTES: usize = 16 << 10;
    /// A large object waits no more often than this.
    pub(crate) const PASSED_PART: usize = 8;
    /// How much is allocated at once by a mutator that defers a collection.
    pub(crate) const DEFERRED_BYTES: usize = 256 << 10;
}

/// The share of one CPU that each kind of background work takes, and when it begins.
pub(crate) mod background {
    use core::time::Duration;

    /// Sweeping takes one part in N of a CPU, releasing memory one in N.
    pub(crate) const SWEEP_PART: u32 = 4;
    pub(crate) const RELEASE_PART: u32 = 100;
    /// For so long after a collection the program is left to sweep itself. Where the next one comes before that, a second thread
    /// that sweeps would save little time, but move every line that it touches to another core and back.
    pub(crate) const SWEEP_DELAY: Duration = Duration::from_millis(2);
    /// How long memory waits for the next arena.
    pub(crate) const ARENA_PATIENCE: Duration = Duration::from_secs(1);
    /// The time between two looks at the caches of blocked threads, and the longest that a look holds the registry's lock.
    pub(crate) const CACHE_LOOKS: Duration = Duration::from_millis(400);
    pub(crate) const CACHE_LOOK_HOLD: Duration = Duration::from_micros(100);
}
