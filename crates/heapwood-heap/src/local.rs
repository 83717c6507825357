//! What a mutator keeps beside its bumps, so that most spans come without a lock: a page cache, and an account of what
//! it has taken since it last visited the shared state. Invariant: what is owed to the account is at most
//! `MOST_SPANS` spans; nothing is left in it while its mutator is stopped at a safepoint and flushed.

use core::cell::Cell;
use heapwood_os::region::Zeroed;
use heapwood_pages::PageCache;

/// How many spans a mutator takes between two visits to the shared state: as many as it may take home to sweep, or new
/// ones. So a collection begins at most that much late for each mutator.
pub(crate) const MOST_SPANS: u32 = 16;

/// A mutator's own, beside its bumps.
#[derive(Default)]
pub struct Local {
    pub(crate) pages: Cell<PageCache>,
    /// Bytes taken and not yet charged.
    pub(crate) owed: Cell<usize>,
    /// How many new spans it may still take before the next visit.
    pub(crate) credit: Cell<u32>,
    /// Spans taken since the last visit.
    pub(crate) spans: Cell<u32>,
}

// SAFETY: all-zero bytes are an empty cache and plain zeros; nothing needs a drop.
unsafe impl Zeroed for Local {}
