//! The ranks of a heap's locks, in the order in which they are taken (`heapwood_os::threads::lock_order`); those of its space
//! follow. Invariant: each lock of a heap has a rank here, and a fork holds those of `HELD_BY_FORK`, which it checks in debug
//! builds (`process/fork.rs`). A new lock gets a rank: either a fork holds it, or the comment says why a child needs no whole value.

use heapwood_os::threads::lock_order::{LockRank, set_of};

/// The list of heaps. Held during a fork by the fork handlers themselves (`process/mod.rs`).
pub(crate) const HEAPS: LockRank = 1;
/// Signal handlers, while one is installed. The fork handler in the child frees it.
pub(crate) const SIGNAL_HANDLERS: LockRank = 2;
/// The collection. A child gives up one that is under way.
pub(crate) const COLLECTION: LockRank = 4;
/// Sweeping for a collection, given up like it.
pub(crate) const SWEEPING: LockRank = 5;
/// The heap's own thread. A child starts another.
pub(crate) const BACKGROUND: LockRank = 6;

/// The attached mutators.
pub(crate) const REGISTRY: LockRank = 10;
/// Roots in libraries, then slots and ranges, handles, stacks.
pub(crate) const LIBRARIES: LockRank = 11;
pub(crate) const ROOT_TABLE: LockRank = 12;
pub(crate) const HANDLES: LockRank = 13;
pub(crate) const STACKS: LockRank = 14;
/// The table of finalisers, which a collection holds while it revives what they want: after the roots, some of which it has.
pub(crate) const FINALIZERS: LockRank = 15;
/// Calls of trace functions by a concurrent marking, given up like it. What they visit is noted in the marking's log.
pub(crate) const TRACE_TURN: LockRank = 19;
/// What is known of collections, reports of them, snapshots of pages.
pub(crate) const RECORD: LockRank = 20;
pub(crate) const TRACING: LockRank = 21;
pub(crate) const SNAPSHOTS: LockRank = 22;
/// The remembered set, the logs of concurrent markings and of stores.
pub(crate) const REMEMBERED: LockRank = 23;
pub(crate) const MARKING_LOG: LockRank = 24;
pub(crate) const STORE_LOG: LockRank = 25;
/// The keys of ephemerons in verify mode.
pub(crate) const WEAK_KEYS: LockRank = 26;
/// The table of links.
pub(crate) const LINKS: LockRank = 27;
/// The places where objects were made, in verify mode.
pub(crate) const SITES: LockRank = 28;
/// The client's lock.
pub(crate) const CLIENT: LockRank = 30;
/// A table of the client. A thread takes it while it holds the other, so a fork finds it free.
pub const CLIENT_TABLE: LockRank = 31;
/// The log of arenas in verify mode.
pub(crate) const ARENA_LOG: LockRank = 34;
/// Workers that mark. A child gives up their marking.
pub(crate) const MARKER_POOL: LockRank = 60;
pub(crate) const MARK_TOTALS: LockRank = 61;

/// Those that a fork holds.
pub(crate) const HELD_BY_FORK: u64 = heapwood_heap::lock_order::HELD_BY_FORK
    | set_of(&[
        REGISTRY,
        LIBRARIES,
        ROOT_TABLE,
        HANDLES,
        STACKS,
        FINALIZERS,
        RECORD,
        TRACING,
        SNAPSHOTS,
        REMEMBERED,
        MARKING_LOG,
        STORE_LOG,
        WEAK_KEYS,
        LINKS,
        SITES,
        CLIENT,
        ARENA_LOG,
    ]);
