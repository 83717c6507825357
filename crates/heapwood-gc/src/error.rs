//! Errors, in words a user can act on. Invariant: each names the cause and the next step; making or formatting one
//! allocates nothing.

pub use crate::settings::size::SizeError;

use crate::settings::options::info::OptionInfo;
use core::fmt;
use heapwood_heap::{ArenaBytes, NoRoom, ShapeError};
use heapwood_layout::{LayoutError, ProgramError};
use heapwood_os::OsError;

/// Why an allocation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocError {
    /// Live objects leave no room under the heap's limit.
    Limit {
        /// The requested bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
        /// Live bytes at the last collection.
        live: usize,
        /// The part that arenas have.
        arenas: ArenaBytes,
        /// The part that is outside the heap ([`Mutator::external`](crate::Mutator::external)).
        external: usize,
    },
    /// The reserved address space has no room of this size.
    ReservationFull(NoRoom),
    /// The memory that the process may have is used up.
    Memory {
        /// The requested bytes.
        bytes: usize,
        /// The most bytes that the heap may take up.
        most: usize,
        /// Live bytes at the last collection.
        live: usize,
        /// The part that arenas have.
        arenas: ArenaBytes,
    },
    /// There is no room without a collection, and collections are off.
    CollectionsOff {
        /// The requested bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: Option<usize>,
        /// How often they are off.
        count: u32,
    },
    /// There is no room without a collection, and the thread is in a region without collections.
    NoCollection {
        /// The requested bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: Option<usize>,
    },
    /// The kernel gave no memory.
    Kernel(OsError),
    /// The heap has no room for the type's layout, or cannot use it.
    Layout(ShapeError),
    /// The heap cannot be used here and now.
    Misuse(MisuseError),
    /// The arena cannot be used here and now.
    Arena(ArenaError),
    /// There is no handle for a reserve.
    Handle(HandleError),
}

/// Why an object cannot be held, or released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HoldError {
    /// No object begins there.
    NoObject {
        /// The address.
        address: usize,
    },
    /// The kernel gives no memory for the record of held objects.
    Kernel(OsError),
    /// The heap cannot be used here and now.
    Misuse(MisuseError),
}

impl fmt::Display for HoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HoldError::NoObject { address } => write!(
                f,
                "no object begins at {address:#x}: hold an object by its first byte, while it exists; values of arenas cannot be held"
            ),
            HoldError::Kernel(e) => e.fmt(f),
            HoldError::Misuse(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for HoldError {}

/// Why an arena cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArenaError {
    /// No arena has this handle.
    NoArena {
        /// The handle.
        address: usize,
    },
    /// It was closed.
    Closed {
        /// Its number.
        arena: u64,
    },
    /// It was left to the collector.
    Left {
        /// Its number.
        arena: u64,
    },
    /// Another thread opened it.
    OtherThread {
        /// Its number.
        arena: u64,
    },
}

impl fmt::Display for ArenaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArenaError::NoArena { address } => write!(
                f,
                "{address:#x} is no arena of this heap: it was never one, or it was closed long ago; keep what opening an \
                 arena returned until it is closed"
            ),
            ArenaError::Closed { arena } => {
                write!(f, "arena {arena} has been closed: close each arena once, and use it only before")
            }
            ArenaError::Left { arena } => write!(
                f,
                "arena {arena} was left to the collector, by the program or as its thread left the heap: it takes no more \
                 values"
            ),
            ArenaError::OtherThread { arena } => {
                write!(
                    f,
                    "arena {arena} is another thread's: the thread that opened it uses it, and closes it"
                )
            }
        }
    }
}

impl core::error::Error for ArenaError {}

/// Adds the parts of arenas and of memory outside the heap, which `live` does not include, and the next step. What is said of the quarantine comes last: C
/// has no room for all of a text.
fn tell_room(f: &mut fmt::Formatter<'_>, arenas: ArenaBytes, external: usize, raise: &str) -> fmt::Result {
    let ArenaBytes { in_use, quarantined, .. } = arenas;
    if in_use > 0 {
        write!(f, ", and arenas have {in_use}")?;
    }
    if external > 0 {
        write!(f, ", and {external} are outside the heap")?;
    }
    write!(f, "; {raise} or keep less alive")?;
    if quarantined > 0 {
        write!(
            f,
            "; {quarantined} are addresses of freed arenas, in quarantine until a full collection finds no pointer to them: \
             clear such pointers, or free arenas with the promise that there are none (HW_ARENA_RECYCLE)"
        )?;
    }
    Ok(())
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocError::Limit { bytes, limit, live, arenas, external } => {
                write!(
                    f,
                    "no room for {bytes} bytes: the heap's limit is {limit} bytes, and {live} were live after the \
                     last collection"
                )?;
                tell_room(f, *arenas, *external, "raise the limit")
            }
            AllocError::Misuse(e) => e.fmt(f),
            AllocError::Arena(e) => e.fmt(f),
            AllocError::Handle(e) => e.fmt(f),
            AllocError::Memory { bytes, most, live, arenas } => {
                write!(
                    f,
                    "no room for {bytes} bytes: the heap may take up {most} of the memory that the process's control group \
                     allows (memory.max), and {live} were live after the last collection"
                )?;
                tell_room(f, *arenas, 0, "raise it")
            }
            AllocError::ReservationFull(e) => e.fmt(f),
            AllocError::CollectionsOff { bytes, limit, count } => {
                write!(f, "no room for {bytes} bytes without a collection")?;
                if let Some(limit) = limit {
                    write!(f, " under the heap's limit of {limit}")?;
                }
                write!(
                    f,
                    ", and the program has switched collections off {count} times more than on: switch them on, or raise the \
                     limit"
                )
            }
            AllocError::NoCollection { bytes, limit } => {
                write!(f, "no room for {bytes} bytes without a collection")?;
                if let Some(limit) = limit {
                    write!(f, " under the heap's limit of {limit}")?;
                }
                f.write_str(
                    ", and nothing is collected inside `mutate`: leave it more often (`fuel`), or raise the limit",
                )
            }
            AllocError::Kernel(e) => e.fmt(f),
            AllocError::Layout(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for AllocError {}

/// Why an object was not freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FreeError {
    /// The address is not that of an object that can be freed.
    Refused(heapwood_heap::FreeError),
    /// It has a finaliser.
    Finalizer {
        /// The object.
        address: usize,
    },
    /// It takes plain stores.
    Plain {
        /// The object.
        address: usize,
    },
    /// What is weak refers to it (verify mode).
    Weak {
        /// The object.
        address: usize,
    },
    /// It has a link, or is the place of one (verify mode).
    Link {
        /// The object.
        address: usize,
        /// The link's slot.
        slot: usize,
    },
    /// The mutator cannot be used now.
    Misuse(MisuseError),
}

impl fmt::Display for FreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FreeError::Refused(e) => e.fmt(f),
            FreeError::Finalizer { address } => write!(
                f,
                "the object at {address:#x} has a finaliser, which waits for its death: cancel that first, or leave the object \
                 to the collector"
            ),
            FreeError::Plain { address } => {
                write!(
                    f,
                    "the object at {address:#x} takes plain stores: end that first, or leave the object to the collector"
                )
            }
            FreeError::Weak { address } => write!(
                f,
                "a weak reference, an ephemeron or a weak table refers to the object at {address:#x}, or did so until lately: \
                 remove it from its tables, and leave what weak references lead to to the collector"
            ),
            FreeError::Link { address, slot } => write!(
                f,
                "the link at {slot:#x} refers to the object at {address:#x}, or lies in it: end it first (hw_link_remove), or leave \
                 the object to the collector"
            ),
            FreeError::Misuse(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for FreeError {}

/// Why a finaliser was not registered or cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinalizeError {
    /// No object begins there.
    NoObject {
        /// The address that was given.
        address: usize,
    },
    /// It lies in an arena.
    InArena {
        /// The address that was given.
        address: usize,
        /// The arena's number.
        arena: u64,
    },
    /// The heap has as many finalisers as it can have.
    Full {
        /// How many that are.
        most: usize,
    },
    /// The kernel gave no memory for an entry.
    Kernel(OsError),
    /// There is no such queue.
    NoQueue {
        /// The number that was given.
        queue: u64,
    },
    /// The heap has as many queues as it can have.
    ManyQueues {
        /// How many that are.
        most: usize,
    },
    /// The queue is in use.
    QueueInUse {
        /// Registrations for it.
        registered: usize,
        /// Entries on it.
        queued: usize,
    },
    /// The queue's function is running.
    QueueCalled,
    /// The kernel gave no eventfd.
    NoDescriptor {
        /// Its error number.
        errno: i32,
    },
    /// Its object is dead: the entry is on the queue, or was taken off it.
    Queued,
    /// It was cancelled before, or is none of this heap.
    NoFinalizer {
        /// The number that was given.
        token: u64,
    },
    /// The mutator cannot be used now.
    Misuse(MisuseError),
}

impl fmt::Display for FinalizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FinalizeError::NoObject { address } => write!(
                f,
                "{address:#x} is no object of this heap: register what allocation returned, while it is alive"
            ),
            FinalizeError::InArena { address, arena } => write!(
                f,
                "{address:#x} lies in arena {arena}, whose values die together: register an object of the heap, or end what it \
                 owns with the arena"
            ),
            FinalizeError::Full { most } => write!(
                f,
                "the heap has {most} finalisers, the most there can be: take those that wait on the queue, or have one \
                 object own more"
            ),
            FinalizeError::Kernel(e) => e.fmt(f),
            FinalizeError::NoQueue { queue } => write!(
                f,
                "{queue:#x} is no queue of finalisers of this heap, or was ended before; the heap's own, 0, stays: pass the number \
                 with which it was made"
            ),
            FinalizeError::ManyQueues { most } => write!(
                f,
                "the heap has {most} queues of finalisers, the most there can be: end those that are not used, or have several \
                 kinds of objects share one, and tell them by their tags"
            ),
            FinalizeError::QueueInUse { registered, queued } => write!(
                f,
                "the queue has {queued} entries, and {registered} finalisers are registered for it: take the ones, and cancel \
                 the others, before it is ended"
            ),
            FinalizeError::QueueCalled => f.write_str(
                "the queue's function is being called: change it, or end the queue, when it has returned, and not from inside",
            ),
            FinalizeError::NoDescriptor { errno } => write!(
                f,
                "the kernel gave no eventfd (errno {errno}): close some of the process's descriptors, or wait on the queue \
                 without one"
            ),
            FinalizeError::Queued => f.write_str(
                "the finaliser's object is dead: its entry is on the queue or was taken, and is the taker's",
            ),
            FinalizeError::NoFinalizer { token } => write!(
                f,
                "{token:#x} is no finaliser of this heap, or was cancelled or taken before: pass the number that its \
                 registration returned, once"
            ),
            FinalizeError::Misuse(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for FinalizeError {}

/// Why an ephemeron or a weak reference was not made, read or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WeakError {
    /// No object begins there.
    NoObject {
        /// The address that was given.
        address: usize,
    },
    /// The key lies in an arena.
    InArena {
        /// The address that was given.
        address: usize,
        /// The arena's number.
        arena: u64,
    },
    /// No ephemeron begins there.
    NotWeak {
        /// The address that was given.
        address: usize,
    },
    /// It cannot be the place of a pointer.
    NoSlot {
        /// The address that was given.
        slot: usize,
    },
    /// The slot has no link.
    NoLink {
        /// The address that was given.
        slot: usize,
    },
    /// The heap has as many links as it can have.
    FullOfLinks {
        /// How many that are.
        most: usize,
    },
    /// No weak table begins there.
    NoTable {
        /// The address that was given.
        address: usize,
    },
    /// The kernel gave no memory for what collections need for the first ephemeron.
    Kernel(OsError),
    /// There is no room for it.
    Alloc(AllocError),
    /// The mutator cannot be used now.
    Misuse(MisuseError),
}

impl fmt::Display for WeakError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeakError::NoObject { address } => write!(
                f,
                "{address:#x} is no object of this heap: refer weakly to what allocation returned, while it is alive"
            ),
            WeakError::InArena { address, arena } => write!(
                f,
                "{address:#x} lies in arena {arena}, whose values die together: refer weakly to an object of the heap, or strongly \
                 to the value"
            ),
            WeakError::NotWeak { address } => write!(
                f,
                "{address:#x} is no ephemeron or weak reference of this heap: pass what making one has returned, and keep it alive"
            ),
            WeakError::NoSlot { slot } => {
                write!(
                    f,
                    "{slot:#x} is no place of a pointer: give an address that is a multiple of 8, not NULL, and if it is in the \
                     heap, in an object that is alive and no weak reference"
                )
            }
            WeakError::NoLink { slot } => write!(
                f,
                "the word at {slot:#x} has no link: it was never given one, or its object is dead, or it was ended before"
            ),
            WeakError::FullOfLinks { most } => write!(
                f,
                "the heap has {most} links, the most there can be: end those that are not needed, or use weak references, which \
                 are objects"
            ),
            WeakError::NoTable { address } => write!(
                f,
                "{address:#x} is no weak table of this heap: pass what making one has returned, and keep it alive"
            ),
            WeakError::Kernel(e) => e.fmt(f),
            WeakError::Alloc(e) => e.fmt(f),
            WeakError::Misuse(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for WeakError {}

/// Why an object does not take plain stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlainError {
    /// No object begins there, or it lies in an arena.
    NoObject {
        /// The address that was given.
        address: usize,
    },
    /// No word of it is a pointer, or it is weak.
    NoSlots {
        /// Its address.
        address: usize,
    },
    /// It takes them already.
    Begun {
        /// Its address.
        address: usize,
    },
    /// It does not take them.
    NotBegun {
        /// The address that was given.
        address: usize,
    },
    /// More words than the object has.
    Top {
        /// What was given.
        top: usize,
        /// The words that the object has.
        words: usize,
    },
    /// As many objects take plain stores as can do.
    Full {
        /// How many that are.
        most: usize,
    },
    /// The kernel gave no memory for the table.
    Kernel(OsError),
    /// The mutator cannot be used now.
    Misuse(MisuseError),
}

impl fmt::Display for PlainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlainError::NoObject { address } => write!(
                f,
                "{address:#x} is no object of this heap, or lies in an arena: pass what an allocation has returned, while it is alive"
            ),
            PlainError::NoSlots { address } => write!(
                f,
                "the object at {address:#x} has no slots that the program stores into: it takes no plain stores of pointers"
            ),
            PlainError::Begun { address } => {
                write!(
                    f,
                    "the object at {address:#x} takes plain stores already: end that first, or only change its top"
                )
            }
            PlainError::NotBegun { address } => write!(
                f,
                "no object at {address:#x} takes plain stores: it was not begun, was ended, or is dead"
            ),
            PlainError::Top { top, words } => {
                write!(
                    f,
                    "a top of {top} words is beyond the object, which has {words}: count words from its first byte"
                )
            }
            PlainError::Full { most } => write!(
                f,
                "{most} objects take plain stores, the most that can at once: end those whose stacks do not run"
            ),
            PlainError::Kernel(e) => e.fmt(f),
            PlainError::Misuse(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for PlainError {}

/// Why a change of the bytes outside the heap was not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExternalError {
    /// It cannot be one.
    Refused(heapwood_heap::ExternalError),
    /// An allocation of so many bytes would fail, too; or the mutator cannot be used now.
    Alloc(AllocError),
}

impl fmt::Display for ExternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExternalError::Refused(e) => e.fmt(f),
            ExternalError::Alloc(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for ExternalError {}

/// Why it cannot be told what keeps an object alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyAliveError {
    /// No object begins at the address.
    NoObject {
        /// The address.
        address: usize,
    },
    /// The kernel refuses memory for a walk over the heap.
    Kernel(OsError),
    /// The mutator cannot be used.
    Misuse(MisuseError),
}

impl fmt::Display for WhyAliveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhyAliveError::NoObject { address } => {
                write!(f, "no object begins at {address:#x}: pass the address that its allocation returned")
            }
            WhyAliveError::Kernel(error) => write!(f, "no memory to walk over the heap: {error}"),
            WhyAliveError::Misuse(misuse) => misuse.fmt(f),
        }
    }
}

impl core::error::Error for WhyAliveError {}

/// Why a mutator cannot be used here and now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MisuseError {
    /// Its thread is inside a blocking region.
    InNative,
    /// Its thread is inside a trace function.
    Tracing,
    /// Its thread is inside a hook of a collection.
    Hook,
    /// Its thread was detached.
    Detached,
    /// It is another thread's.
    OtherThread,
    /// Its thread runs on a stack that the heap does not know.
    OtherStack,
    /// The ticket of a collection is not one of this heap.
    NoTicket,
    /// Collections are off, as often as this says.
    CollectionsOff(u32),
    /// Collections were switched on more often than off.
    CollectionsOn,
    /// No blocking region was begun that could end here.
    NoRegion,
    /// A blocking region that began later has not ended.
    LaterRegion,
    /// Its thread has given it away, and no other has taken it.
    Given,
    /// It was not given away.
    NotGiven,
    /// Its thread is in a region without collections.
    NoCollection,
}

impl fmt::Display for MisuseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MisuseError::CollectionsOff(count) => {
                return write!(
                    f,
                    "collections are off: the program has switched them off {count} times more than on: switch them on first"
                );
            }
            MisuseError::CollectionsOn => {
                "collections are on: the program has switched them on more often than off"
            }
            MisuseError::InNative => "the heap is used inside a blocking region: end the region first",
            MisuseError::Tracing => {
                "the heap is used inside a trace function, in the middle of a collection: such a function only reports \
                 pointers"
            }
            MisuseError::Hook => {
                "the heap is used inside a hook of a collection, while threads are stopped: note there what is to be done, and do \
                 it afterwards"
            }
            MisuseError::Detached => "the thread was detached from the heap: attach it again, and use what that returns",
            MisuseError::OtherThread => "this mutator is another thread's: each thread attaches for itself",
            MisuseError::OtherStack => {
                "the thread runs on another stack (a fiber's, or one for deep recursion) than the one it was attached on, and \
                 did not announce it: register the stack and announce the switch, or collect on the thread's own stack"
            }
            MisuseError::NoRegion => {
                "no blocking region was begun that could end here: each end belongs to a beginning by the same mutator, in the same \
                 function"
            }
            MisuseError::LaterRegion => {
                "a blocking region that began later has not ended: end regions in reverse order, also those of other heaps"
            }
            MisuseError::Given => {
                "the mutator was given away, and no thread has taken it: take it first, on the thread that is to use it"
            }
            MisuseError::NotGiven => {
                "the mutator is a thread's, or of another heap: that thread gives it away before another takes it"
            }
            MisuseError::NoCollection => {
                "nothing is collected inside `mutate`, and the thread does not stop there: do this outside"
            }
            MisuseError::NoTicket => {
                "the ticket is not one of this heap: wait for what starting a collection of the same heap has returned"
            }
        })
    }
}

impl core::error::Error for MisuseError {}

/// Why a heap could not be made, or a thread not attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeapError {
    /// An option is out of range.
    OutOfRange(OptionError),
    /// It has finalisers, of which nobody will take the tags.
    Finalizers {
        /// How many, registered and on the queue.
        count: usize,
    },
    /// The kernel gave no memory for the heap's tables.
    Kernel(OsError),
    /// The kernel has larger pages than heaps can use.
    KernelPages {
        /// Their size in bytes.
        bytes: usize,
    },
    /// The process may have too little memory for any heap.
    Memory {
        /// The bytes that it may have.
        bytes: usize,
        /// The bytes that a heap needs at least.
        least: usize,
    },
    /// Stopping threads by signals excludes young collections, which were requested.
    SignalsAndYoung,
    /// Threads are to be stopped by signals, and markings to go on beside the program.
    SignalsAndConcurrent,
    /// Markings are to go on beside the program, without a thread of the heap.
    ConcurrentWithoutThread,
    /// Stopping threads by signals requires scanning stacks, which was turned off.
    SignalsAndPrecise,
    /// Programs cannot use this signal.
    Signal {
        /// Its number.
        signal: u32,
    },
    /// The system does not say where this thread's stack ends.
    UnknownStack,
    /// The stack is not the thread's own and only its end is known; a signal may come while the thread is on another.
    StackBounds,
    /// The mutator was not given away by the thread that had it.
    NotGiven,
    /// The thread is attached to the heap already.
    AttachedAlready,
    /// The process has no key for a thread-specific value left.
    ThreadKeys,
    /// Threads are attached to the heap.
    MutatorsAttached {
        /// The number of threads.
        count: usize,
    },
}

impl fmt::Display for HeapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeapError::Finalizers { count } => write!(
                f,
                "the heap has {count} finalisers: queue all (hw_finalize_all), and take each from the queue before it is destroyed, \
                 or what its objects own outside is lost"
            ),
            HeapError::OutOfRange(e) => e.fmt(f),
            HeapError::Kernel(e) => e.fmt(f),
            HeapError::KernelPages { bytes } => write!(
                f,
                "this kernel's pages have {bytes} bytes; heaps work with up to {}: boot one with smaller pages",
                heapwood_os::MOST_KERNEL_PAGE
            ),
            HeapError::Memory { bytes, least } => write!(
                f,
                "the memory control group of this process allows {bytes} bytes (memory.max), and a heap without a limit of \
                 its own needs {least}: raise it, or give the heap a limit"
            ),
            HeapError::SignalsAndYoung => write!(
                f,
                "option generational is always and stop is signals: a store that is interrupted between its barrier and itself \
                 would be lost to a young collection; leave generational out, or stop threads by polls"
            ),
            HeapError::SignalsAndConcurrent => write!(
                f,
                "option concurrent is always and stop is signals: a store that is interrupted between its barrier and itself would \
                 be lost to a marking beside the program; leave concurrent out, or stop threads by polls"
            ),
            HeapError::ConcurrentWithoutThread => write!(
                f,
                "option concurrent is always and background_release is off: no thread of the heap's own could mark beside the \
                 program; leave one of them out"
            ),
            HeapError::SignalsAndPrecise => write!(
                f,
                "option conservative_stacks is off and stop is signals: between two instructions objects may be in registers \
                 alone; scan stacks, or stop threads by polls"
            ),
            HeapError::Signal { signal } => write!(
                f,
                "option stop_signal is {signal}: processors, the C library or the kernel use that signal; choose another, such \
                 as SIGURG or SIGUSR2"
            ),
            HeapError::UnknownStack => {
                write!(f, "the system does not say where this thread's stack ends: give its address")
            }
            HeapError::StackBounds => write!(
                f,
                "the stack is not the thread's own, and signals stop threads of this heap: give both of its ends"
            ),
            HeapError::NotGiven => MisuseError::NotGiven.fmt(f),
            HeapError::AttachedAlready => write!(
                f,
                "the thread is attached to this heap already: pass its mutator on, or find it where that is not possible \
                 (Heap::with_mutator in Rust, hw_self in C)"
            ),
            HeapError::ThreadKeys => write!(
                f,
                "the process has used up its keys for thread-specific values (PTHREAD_KEYS_MAX), or the memory for them: \
                 a thread's end would not be noticed"
            ),
            HeapError::MutatorsAttached { count } => {
                let are = if *count == 1 { "thread is" } else { "threads are" };
                write!(f, "{count} {are} attached to the heap: detach each first, from that thread")
            }
        }
    }
}

impl core::error::Error for HeapError {}

impl From<OsError> for HeapError {
    fn from(e: OsError) -> Self {
        HeapError::Kernel(e)
    }
}

impl From<OptionError> for HeapError {
    fn from(e: OptionError) -> Self {
        HeapError::OutOfRange(e)
    }
}

/// An option that is out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionError {
    /// The option.
    pub option: &'static OptionInfo,
    /// The rejected value, in its unit.
    pub value: u64,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OptionError { option, value } = self;
        let (name, value, range) = (option.name, option.show(*value), option.range_text());
        write!(f, "option {name} is {value}: it must be {range}; choose such a value, or leave it out")?;
        match option.default {
            Some(default) => write!(f, " for the default, {}", option.show(default)),
            None => Ok(()),
        }
    }
}

impl core::error::Error for OptionError {}

/// Why a setting, such as one of the variable `HEAPWOOD`, was ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingError<'a> {
    /// The text is not UTF-8.
    NotText,
    /// The setting has no equals sign.
    NoValue {
        /// The whole setting.
        setting: &'a str,
    },
    /// There is no such option.
    NoOption {
        /// The unknown name.
        name: &'a str,
        /// A similar name.
        nearest: Option<&'static str>,
        /// All options.
        options: &'static [OptionInfo],
    },
    /// The text is not a value of the option.
    Value {
        /// The option.
        option: &'static OptionInfo,
        /// The rejected text.
        text: &'a str,
        /// Why it is not a size, if the option is one.
        why: Option<SizeError>,
    },
    /// The value is out of range.
    Range(OptionError),
}

impl fmt::Display for SettingError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingError::NotText => f.write_str("it is not UTF-8: write key=value,key=value"),
            SettingError::NoValue { setting } => {
                write!(f, "{} has no value: write key=value", setting.escape_debug())
            }
            SettingError::NoOption { name, nearest, options } => {
                match *name {
                    "" => f.write_str("no option has an empty name: ")?,
                    name => write!(f, "no option is called {}: ", name.escape_debug())?,
                }
                match nearest {
                    Some(nearest) => write!(f, "is {nearest} meant? There are ")?,
                    None => f.write_str("there are ")?,
                }
                options.iter().enumerate().try_for_each(|(i, option)| {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    f.write_str(option.name)
                })
            }
            SettingError::Value { option, text, why: Some(why) } => {
                write!(f, "option {} is {}: {why}", option.name, text.escape_debug())
            }
            SettingError::Value { option, text, why: None } => {
                let a_number = if option.unit.is_in_words() { "" } else { "a number, " };
                let text = text.escape_debug();
                write!(f, "option {} is {text}: it must be {a_number}{}", option.name, option.range_text())
            }
            SettingError::Range(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for SettingError<'_> {}

/// Why a root was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootError {
    /// The table is full.
    Full {
        /// The most roots.
        most: usize,
    },
    /// The heap has as many stacks as it can have.
    TooManyStacks {
        /// The most stacks.
        most: usize,
    },
    /// The addresses are not those of a stack: the end is not above the beginning.
    NoStack,
    /// The kernel gave no memory, or no thread to watch libraries.
    Kernel(OsError),
    /// No library holds the address.
    NoLibrary {
        /// The address.
        address: usize,
    },
    /// As many ranges of libraries' data are excluded as can be.
    TooManyExcluded {
        /// The most.
        most: usize,
    },
    /// A displacement is too large.
    Displacement {
        /// The bytes behind an object's first.
        bytes: usize,
        /// The most.
        most: usize,
    },
}

impl fmt::Display for RootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RootError::TooManyStacks { most } => write!(
                f,
                "{most} stacks are registered, as many as a heap can have: remove those of fibers that have ended, and use their \
                 memory again"
            ),
            RootError::NoStack => {
                write!(
                    f,
                    "the end of a stack is not above its lowest address: give its lowest address, and one past its highest"
                )
            }
            RootError::Full { most } => write!(
                f,
                "{most} roots are registered, as many as a heap can have: remove some, register neighbours as one, or \
                 keep objects in an array that one root leads to"
            ),
            RootError::Kernel(e) => e.fmt(f),
            RootError::TooManyExcluded { most } => write!(
                f,
                "{most} ranges of libraries' data are excluded, as many as can be: exclude neighbours as one range"
            ),
            RootError::Displacement { bytes, most } => write!(
                f,
                "a pointer {bytes} bytes behind the first of its object cannot be registered, only up to {most}: switch interior \
                 pointers on, or keep a pointer to the first byte"
            ),
            RootError::NoLibrary { address } => write!(
                f,
                "{address:#x} is in no library that is loaded, nor in the program: name one by the address of a function or \
                 a variable of its own"
            ),
        }
    }
}

impl core::error::Error for RootError {}

/// Why a thread does not switch stacks, or a stack is not removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StackError {
    /// A thread is on the stack, or is about to be.
    Busy,
    /// The stack was removed.
    Removed,
    /// The lowest address in use does not lie on the stack that the thread was announced to be on.
    NotOnIt,
    /// The mutator cannot be used now.
    Misuse(MisuseError),
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StackError::Busy => "a thread is on the stack: switch it to another stack first",
            StackError::Removed => "the stack was removed from the heap: register it again",
            StackError::NotOnIt => {
                "the thread is not on the stack that it was said to be on: each switch is announced, also the one back \
                 to the thread's own stack"
            }
            StackError::Misuse(e) => return e.fmt(f),
        })
    }
}

impl core::error::Error for StackError {}

/// Why no handle was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandleError {
    /// The table is full.
    Full {
        /// The most handles.
        most: usize,
    },
    /// The kernel gave no memory.
    Kernel(OsError),
}

impl fmt::Display for HandleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HandleError::Full { most } => write!(
                f,
                "{most} handles are held, as many as this heap can have: free some, or keep objects in an array that one \
                 handle leads to"
            ),
            HandleError::Kernel(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for HandleError {}

/// Why a type could not be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypeError {
    /// The layout is invalid.
    Layout(LayoutError),
    /// The program is invalid.
    Program(ProgramError),
    /// The description is valid, but the heap has no room for it, or cannot use it.
    Shape(ShapeError),
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeError::Layout(e) => e.fmt(f),
            TypeError::Program(e) => write!(f, "the program that describes the type is wrong: {e}"),
            TypeError::Shape(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for TypeError {}

impl From<LayoutError> for TypeError {
    fn from(e: LayoutError) -> Self {
        TypeError::Layout(e)
    }
}

/// Why objects cannot have a variable tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TailError {
    /// The header or the elements have a trace function.
    Traced,
    /// Elements with pointers would begin between two words.
    NotWholeWords {
        /// Bytes of the header.
        bytes: usize,
    },
    /// The header is too long, or has pointers too far behind, for elements with pointers to follow.
    LongHeader {
        /// Bytes of the header.
        bytes: usize,
    },
}

impl fmt::Display for TailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TailError::Traced => {
                write!(
                    f,
                    "no tails of or behind a type with a trace function, which knows single objects only"
                )
            }
            TailError::NotWholeWords { bytes } => {
                write!(f, "the header has {bytes} bytes: elements with pointers begin at a multiple of 8")
            }
            TailError::LongHeader { bytes } => write!(
                f,
                "the header has {bytes} bytes: one in front of elements with pointers has at most 2040, and its own pointers in the first \
                 512"
            ),
        }
    }
}

impl core::error::Error for TailError {}
