//! The heap's size: the steps by which it grows, the use of huge pages, and caching near a limit. Invariant: a step has
//! room for the pages that are asked for.

use super::tunables::growth::*;
use heapwood_os::HUGE_PAGE;
use heapwood_pages::{PAGE_SIZE, PageCount};

/// The pages by which a heap of `heap` pages grows when it needs `needed`, at most `room`, which is no less.
pub(crate) fn step(heap: usize, needed: usize, room: usize) -> usize {
    let step = (heap / PART_OF_HEAP).clamp(LEAST_PAGES, MOST_PAGES);
    needed.max(step).next_multiple_of(LEAST_PAGES).min(room)
}

/// The bytes of a limit up to which pages are cached.
#[inline]
pub(crate) fn cached_below(limit: usize) -> usize {
    limit - limit / UNCACHED_PART
}

/// The most runs that a thread which took `taken` pages releases when the heap is over its limit.
pub(crate) fn runs_at_limit(taken: PageCount) -> usize {
    taken.0.max(LEAST_RUNS_AT_LIMIT)
}

/// The most pages of such a run, when `over` pages are over the limit.
pub(crate) fn run_at_limit(over: usize) -> PageCount {
    PageCount(over.clamp(LEAST_RUN_PAGES, HUGE_PAGE / PAGE_SIZE))
}

/// Whether a first touch of a huge page that took this long was worth it.
pub(crate) fn is_fast_touch(ns: u64) -> bool {
    ns <= FIRST_TOUCH_NS
}

/// The page up to which a heap that reaches up to page `end` has no huge pages after a slow first touch.
pub(crate) fn backoff_after_slow_touch(end: usize) -> usize {
    end + (end / FIRST_TOUCH_BACKOFF_PART).max(FIRST_TOUCH_BACKOFF_PAGES)
}
