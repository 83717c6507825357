//! Fault injection, for tests of the tests (`--cfg heapwood_inject`, and loom's models): a heap can be told to lose an edge now
//! and then, to skip a root, or to free an object that lives. A test suite that does not notice is worth nothing. Invariant:
//! without these cfgs every occasion goes well, which the compiler knows, so that a line in the marker's loop costs nothing.

#[cfg(any(heapwood_inject, loom))]
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use heapwood_heap::Stopped;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum Fault {
    /// The marker drops edges.
    LoseMark = 1,
    /// Root slots, frame slots and handles are skipped.
    MissRoot = 2,
    /// Allocation bits of survivors are cleared when marking ends.
    WrongFree = 3,
    /// A store of a young object into an old one is not remembered.
    StoreNotRecorded = 4,
    /// A chunk of remembered stores is lost when a collector closes it.
    RecordLost = 5,
    /// What the registers of a thread hold that a signal has stopped is not looked at.
    RegistersUnscanned = 6,
    /// A signal stops a thread in a no-preempt region.
    StopInNoPreempt = 7,
    /// A store overwrites what is not shaded for the active marking.
    ShadeSkipped = 8,
    /// Survivors of a young collection are not marked for the full active marking.
    SurvivorUnmarked = 9,
    /// What the program frees is gone before the active marking has looked at it.
    FreedAtOnce = 10,
    /// What an arena was given since the last collection is not looked at by a young one.
    ArenaWindowLost = 11,
    /// The thread that frees an arena during a concurrent marking does not wait for that.
    ArenaClosedAtOnce = 12,
    /// What a mutator has shaded is lost when it is handed in by a pause.
    ShadedLost = 13,
    /// A thread that is attached during a concurrent marking does not take over the heap's barrier flag.
    AttachedUnflagged = 14,
    /// A young collection takes objects for dead that a full one would not have marked.
    FinalizedByMark = 15,
    /// A full collection finds an object dead, and its finaliser stays.
    FinalizerMissed = 16,
    /// An entry that was taken is registered again.
    FinalizedTwice = 17,
    /// Objects are queued though others that died lead to them.
    FinalizerUnordered = 18,
    /// What waits on a queue of finalisers is no root.
    QueueNoRoot = 19,
    /// What a finaliser revives is not marked.
    RevivedUnmarked = 20,
    /// A marker takes the value of an ephemeron for an edge, whatever its key is.
    EphemeronKeyTaken = 21,
    /// An ephemeron is cleared though its key is alive.
    EphemeronEarly = 22,
    /// An ephemeron is not cleared though its key is dead.
    EphemeronLate = 23,
    /// A read of a weak key does not shade it for the active marking.
    WeakReadUnshaded = 24,
    /// A link is cleared though its object is alive.
    LinkEarly = 25,
}

/// The fault that is injected into one heap: none at first.
#[derive(Debug, Default)]
pub struct FaultInjector {
    #[cfg(any(heapwood_inject, loom))]
    fault: AtomicU32,
    #[cfg(any(heapwood_inject, loom))]
    every: AtomicU64,
    #[cfg(any(heapwood_inject, loom))]
    occasions: AtomicU64,
    #[cfg(any(heapwood_inject, loom))]
    injected: AtomicU64,
}

#[cfg(any(heapwood_inject, loom))]
impl FaultInjector {
    /// Lets every `every`-th occasion for `fault` go wrong, counted over all collections from now on.
    pub fn inject(&self, fault: Fault, every: u64) {
        self.occasions.store(0, Ordering::Relaxed);
        self.every.store(every.max(1), Ordering::Relaxed);
        self.fault.store(fault as u32, Ordering::Relaxed);
    }

    /// How often something has gone wrong.
    pub fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }

    /// Whether this occasion for `fault` is one that goes wrong.
    pub(crate) fn fails(&self, fault: Fault) -> bool {
        if self.fault.load(Ordering::Relaxed) != fault as u32 {
            return false;
        }
        let occasion = self.occasions.fetch_add(1, Ordering::Relaxed) + 1;
        let fails = occasion.is_multiple_of(self.every.load(Ordering::Relaxed));
        self.injected.fetch_add(fails as u64, Ordering::Relaxed);
        fails
    }

    /// Goes through the survivors of a marking that has just ended.
    pub(crate) fn free_survivors(&self, world: &Stopped<'_>) {
        if self.fault.load(Ordering::Relaxed) != Fault::WrongFree as u32 {
            return;
        }
        world.for_each_span(|_, span| {
            for cell in span.iter().filter(|&cell| world.is_allocated(cell)) {
                if self.fails(Fault::WrongFree) {
                    world.forget_allocated(cell);
                }
            }
        });
    }
}

#[cfg(not(any(heapwood_inject, loom)))]
impl FaultInjector {
    #[inline(always)]
    pub(crate) fn fails(&self, _: Fault) -> bool {
        false
    }

    #[inline(always)]
    pub(crate) fn free_survivors(&self, _: &Stopped<'_>) {}
}
