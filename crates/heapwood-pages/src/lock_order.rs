//! The rank of the page allocator's lock in the order of locks (`heapwood_os::threads::lock_order`): the last. Invariant:
//! nothing waits for another lock while it holds this one.

use heapwood_os::threads::lock_order::LockRank;

/// The pages.
pub const PAGES: LockRank = 50;
