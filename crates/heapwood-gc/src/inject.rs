//! Fault injection, for tests of the tests (`--cfg heapwood_inject`, and loom's models): a heap can be told to lose an edge now
//! and then, to skip a root, or to free an object that lives. A test suite that does not notice is worth nothing. Invariant:
//! without these cfgs every occasion goes well, which the compiler knows, so that a line in the marker's loop costs nothing.

#[cfg(any(heapwood_inject, loom))]
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use heapwood_heap::{Collection, Space, Stopped};
use heapwood_layout::program::Nest;

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
    /// The last pointer of an element that a program describes is not seen.
    ShortProgram = 4,
    /// The last pointer bit of an object in a mixed span is not seen.
    ShortBits = 5,
    /// A store of a young object into an old one is not remembered.
    StoreNotRecorded = 6,
    /// Words that are filled after their object was made are not remembered.
    InitNotRecorded = 7,
    /// A chunk of remembered stores is lost when a collector closes it.
    RecordLost = 8,
    /// The mark of a large object that is not old yet is taken back as a young collection ends.
    YoungLargeForgotten = 9,
    /// An object in a cell that the program had freed is not remembered.
    ReusedNotRecorded = 10,
    /// It is not noted that a handle refers to another object.
    HandleNotNoted = 11,
    /// What the registers of a thread hold that a signal has stopped is not looked at.
    RegistersUnscanned = 12,
    /// Nor is the cell that it was about to take.
    CellUnscanned = 13,
    /// A signal stops a thread in a no-preempt region.
    StopInNoPreempt = 14,
    /// What the dynamic loader has loaded since is not looked at.
    LibrariesNotUpdated = 15,
    /// A store overwrites what is not shaded for the active marking.
    ShadeSkipped = 16,
    /// A store shades what it has stored instead of what was there.
    ShadeAfterStore = 17,
    /// An object with a trace function is stored into without what it refers to being shaded.
    TracedUnshaded = 18,
    /// Survivors of a young collection are not marked for the full active marking.
    SurvivorUnmarked = 19,
    /// The same of what is promoted en masse.
    PromotedUnmarked = 20,
    /// The same of what is made in a cell that the program had freed.
    ReusedUnmarked = 21,
    /// What the program frees is gone before the active marking has looked at it.
    FreedAtOnce = 22,
    /// A piece of an arena does not lead to the next.
    RingCut = 23,
    /// What an arena was given since the last collection is not looked at by a young one.
    ArenaWindowLost = 24,
    /// The thread that frees an arena during a concurrent marking does not wait for that.
    ArenaClosedAtOnce = 25,
    /// The last pointer of a part of an arena is not seen.
    ArenaBitsShort = 26,
    /// A store of a young object into an arena is not remembered.
    ArenaStoreNotRecorded = 27,
    /// That a piece of an arena has marks of its inside is not noted.
    ArenaInsideNotNoted = 28,
    /// What an arena that is closed during a concurrent marking was given since the last collection is not remembered.
    ArenaWindowForgotten = 29,
    /// What a mutator has shaded is lost when it is handed in by a pause.
    ShadedLost = 30,
    /// A young collection skips the first frame that the last collection has noted, too.
    NotedFrameSkipped = 31,
    /// A marker beside the program takes the mark of an arena's value for its piece's.
    ArenaValueMarkTaken = 32,
    /// A concurrent marking starts before all spans are swept.
    StartedUnswept = 33,
    /// What the program frees during one is freed though the log has no room to have it looked at.
    FreedUnlogged = 34,
    /// What the helpers of a marker beside the program were asked to leave stays with them.
    LeftWithHelpers = 35,
    /// A thread that is attached during a concurrent marking does not take over the heap's barrier flag.
    AttachedUnflagged = 36,
    /// A young collection takes objects for dead that a full one would not have marked.
    FinalizedByMark = 37,
    /// A full collection finds an object dead, and its finaliser stays.
    FinalizerMissed = 38,
    /// An entry that was taken is registered again.
    FinalizedTwice = 39,
    /// Objects are queued though others that died lead to them.
    FinalizerUnordered = 40,
    /// What waits on a queue of finalisers is no root.
    QueueNoRoot = 41,
    /// What a finaliser revives is not marked.
    RevivedUnmarked = 42,
    /// Data is queued though another finaliser has revived its object.
    RevivedDataQueued = 43,
    /// A full collection takes objects for dead that it has reached.
    FinalizerEarly = 44,
    /// A marker takes the value of an ephemeron for an edge, whatever its key is.
    EphemeronKeyTaken = 50,
    /// What waits for its key is not found when that is marked.
    EphemeronForgotten = 51,
    /// An ephemeron is cleared though its key is alive.
    EphemeronEarly = 52,
    /// An ephemeron is not cleared though its key is dead.
    EphemeronLate = 53,
    /// A read of a weak key does not shade it for the active marking.
    WeakReadUnshaded = 54,
    /// What a marker has listed does not come to the marking's list.
    UndecidedLost = 55,
    /// A link is cleared though its object is alive.
    LinkEarly = 56,
    /// A link is not cleared though its object is dead.
    LinkLate = 57,
    /// A link is not dropped though its slot lies in a dead object.
    LinkKept = 58,
    /// Long links are cleared before finalisers have brought something back.
    LongLinkEarly = 59,
    /// What is weak is cleared after finalisers have brought something back.
    RevivedKeyKept = 60,
    /// Held objects are no roots.
    HeldNoRoot = 61,
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

    /// Goes through the large objects that a marking has found, before it ends: those that no sweep has.
    pub(crate) fn forget_young_large(&self, world: &Stopped<'_>, kind: Collection) {
        if kind != Collection::Young
            || self.fault.load(Ordering::Relaxed) != Fault::YoungLargeForgotten as u32
        {
            return;
        }
        world.for_each_span(|page, span| {
            // The pool of chunks of arenas, whose lists would close into a ring, is not what this is about.
            let is_young = span.is_unseen_large() && !world.is_arena_chunk(page);
            for object in span.iter().filter(|&object| is_young && world.is_allocated(object)) {
                if self.fails(Fault::YoungLargeForgotten) {
                    world.forget_allocated(object);
                }
            }
        });
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
    pub(crate) fn forget_young_large(&self, _: &Stopped<'_>, _: Collection) {}

    #[inline(always)]
    pub(crate) fn free_survivors(&self, _: &Stopped<'_>) {}
}

impl FaultInjector {
    /// Where the words of an element that a program describes end, from `word` up to `end`.
    #[inline(always)]
    pub(crate) fn end_of_program(&self, nest: Nest<'_>, word: u64, end: u64) -> u64 {
        if !self.fails(Fault::ShortProgram) {
            return end;
        }
        (word..end).rev().find(|&w| nest.first_pointer_at_or_after(w) == Some(w)).unwrap_or(end)
    }

    /// Where an object at `addr` ends whose pointers are bits.
    #[inline(always)]
    pub(crate) fn end_of_bits(&self, space: &Space, addr: usize, end: usize) -> usize {
        let mut last = end;
        if self.fails(Fault::ShortBits) {
            // SAFETY: the marker asks for objects whose page's entry says that they have bits.
            unsafe { space.pointer_bits().for_each(addr..end, |slot| last = slot) };
        }
        last
    }
}
