//! The constants of all policies of the heap: what each means, its unit, and where it was measured. A constant that shows
//! nothing in an A/B is deleted. Those of collections are in `heapwood-gc/src/policy/tunables.rs`; sizes that the memory
//! layout fixes stand beside the layout. Invariant: policies use no other numbers.

/// The memory that mutators may cache, and take between two refills (docs/results/2026-11/threads.tsv, costs.tsv).
pub(super) mod share {
    use heapwood_os::HUGE_PAGE;
    use heapwood_pages::PAGE_SIZE;

    /// The least share of a mutator, in bytes.
    pub(in crate::policy) const LEAST_BYTES: usize = 256 << 10;
    /// All mutators together may cache this part of the heap: one twentieth.
    pub(in crate::policy) const PART_OF_HEAP: usize = 20;
    /// A mutator returns its cached pages before it takes spans off the lists if they are more than this part of its
    /// share: half of it (docs/design/allocation.md).
    pub(in crate::policy) const CROWDING_PART: usize = 2;
    /// The most pages for new spans that one refill grants: two huge pages, 4 MiB.
    pub(in crate::policy) const MOST_NEW_PAGES: u32 = (2 * HUGE_PAGE / PAGE_SIZE) as u32;
    /// The most pages of large objects that a mutator may take between two refills: 4 MiB.
    pub(in crate::policy) const MOST_LARGE_PAGES: usize = 2 * HUGE_PAGE / PAGE_SIZE;
    /// Near the end of the budget all mutators together take this many pages, or one each; and at most the other number
    /// each.
    pub(in crate::policy) const LAST_PAGES: usize = 128;
    pub(in crate::policy) const MOST_LAST_PAGES: usize = 32;
    /// Pages behind a large object are cached only if this many such objects fit.
    pub(in crate::policy) const LARGE_OBJECTS: usize = 4;
}

/// The spans of a refill (docs/results/2026-11/allocation-locks.tsv).
pub(super) mod refill {
    use heapwood_pages::PageCount;

    /// The most spans of one refill: 2 MiB with 8 KiB each, if the share has room.
    pub(in crate::policy) const MOST_SPANS: u32 = 256;
    /// A refill was worthwhile if its spans had room for this many objects.
    pub(in crate::policy) const WORTHWHILE_OBJECTS: u32 = 64;
    /// The most other shapes that one refill takes spans for.
    pub(in crate::policy) const MOST_OTHER_SHAPES: usize = 32;
    /// The demand of all shapes is halved whenever it exceeds this: 4 MiB.
    pub(in crate::policy) const MOST_DEMAND: PageCount = PageCount(512);
    /// The most freed cells of a shape that stay with the mutator that freed them, at a refill; with more, it returns all.
    /// It returns them without a refill when they are twice as many.
    pub(in crate::policy) const MOST_FREED_CELLS: u32 = 64;
    /// A refill may ignore a shape's spans while they are fewer than one for this many pages of the heap, up to the other
    /// number.
    pub(in crate::policy) const PAGES_A_SPAN: usize = 512;
    pub(in crate::policy) const MOST_IGNORED_SPANS: usize = 16;
}

/// The sweeping of mutators for all (docs/results/2026-11/threads.tsv).
pub(super) mod sweep {
    /// The most spans of a mutator's sweep batch.
    pub(in crate::policy) const MOST_SPANS: u32 = 512;
    /// The most of a mutator's least batch, and the spans that all mutators together leave unswept.
    pub(in crate::policy) const MOST_LEAST_SPANS: usize = 32;
    pub(in crate::policy) const MOST_LEFT_SPANS: usize = 64;
}

/// The heap's size (docs/results/2026-11/costs.tsv, first-touch.tsv).
pub(super) mod growth {
    use heapwood_os::HUGE_PAGE;
    use heapwood_pages::PAGE_SIZE;

    /// The heap grows by at least this many pages (4 MiB), so that commits are few and huge pages whole.
    pub(in crate::policy) const LEAST_PAGES: usize = 2 * HUGE_PAGE / PAGE_SIZE;
    /// It grows by this part of its size, since each step costs half a dozen system calls.
    pub(in crate::policy) const PART_OF_HEAP: usize = 16;
    /// It grows by at most this many pages at a time (64 MiB), unless it must.
    pub(in crate::policy) const MOST_PAGES: usize = (64 << 20) / PAGE_SIZE;
    /// No pages are cached in this part of a limit, its end.
    pub(in crate::policy) const UNCACHED_PART: usize = 8;
    /// The least number of runs that an allocating thread may release at a limit, and the least pages of each.
    pub(in crate::policy) const LEAST_RUNS_AT_LIMIT: usize = 4;
    pub(in crate::policy) const LEAST_RUN_PAGES: usize = 16;
    /// The nanoseconds of thread time that the first touch of a huge page may take: the cost of 512 small ones where
    /// these are cheap.
    pub(in crate::policy) const FIRST_TOUCH_NS: u64 = 1_000_000;
    /// After a slow first touch the heap grows by at least this many pages (32 MiB), and by the part of its size, before
    /// the next attempt.
    pub(in crate::policy) const FIRST_TOUCH_BACKOFF_PAGES: usize = (32 << 20) / PAGE_SIZE;
    pub(in crate::policy) const FIRST_TOUCH_BACKOFF_PART: usize = 2;
}

/// Bytes outside the heap.
pub(crate) mod external {
    /// Whoever adds bytes looks at the budget, under the central lock, once for each of these parts of what is left of it, and for no
    /// fewer bytes.
    pub(crate) const STEP_PART: usize = 8;
    pub(crate) const LEAST_STEP: usize = 64 << 10;
}

/// Arenas in the account of a mutator (docs/results/2026-11/arenas.tsv).
pub(crate) mod arenas {
    /// Bytes that arenas left to the collector are announced before the next refill once they reach this.
    pub(crate) const ANNOUNCED_BYTES: usize = 64 << 10;
    /// This part of quarantined addresses counts towards the next collection, which frees them: their tables may be
    /// resident, and so are their descriptors.
    pub(crate) const QUARANTINED_PART: usize = 40;
    /// A closed header is used again only after this many further closings: until then its old handle is known as closed.
    pub(crate) const CLOSED_HEADERS: usize = 32;
}
