//! Errors, in words a user can act on. Invariant: each names the cause and the next step; making or formatting one
//! allocates nothing.
//!
//! [`AllocError`] is what allocation meets, [`HeapError`] why a heap is not made or a thread not attached, [`Misuse`] why a
//! mutator cannot be used here and now, and [`Refusal`] all else.
#![allow(missing_docs, reason = "the sentence of each variant says what it is, and what its numbers are")]

use crate::settings::options::info::OptionInfo;
use core::fmt::{self, Display};
use heapwood_heap::{ArenaBytes, NoRoom};
use heapwood_layout::{LayoutError, ProgramError};
use heapwood_os::OsError;
use thiserror::Error;

/// Why an allocation failed. All numbers are bytes; `live` was alive at the last collection, without what arenas have and what is
/// outside the heap ([`Mutator::external`](crate::Mutator::external)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AllocError {
    #[error(
        "no room for {bytes} bytes: the heap's limit is {limit} bytes, and {live} were live after the last collection{}",
        Room(.arenas, *.external, "raise the limit")
    )]
    Limit { bytes: usize, limit: usize, live: usize, arenas: ArenaBytes, external: usize },
    /// The reserved address space has no room of this size.
    #[error("{0}")]
    ReservationFull(NoRoom),
    #[error(
        "no room for {bytes} bytes: the heap may take up {most} of the memory that the process's control group allows \
         (memory.max), and {live} were live after the last collection{}",
        Room(.arenas, 0, "raise it")
    )]
    Memory { bytes: usize, most: usize, live: usize, arenas: ArenaBytes },
    /// There is no room without a collection, and collections are off `count` times.
    #[error(
        "no room for {bytes} bytes without a collection{}, and the program has switched collections off {count} times more than \
         on: switch them on, or raise the limit",
        under(*.limit)
    )]
    CollectionsOff { bytes: usize, limit: Option<usize>, count: u32 },
    /// The kernel gave no memory.
    #[error(transparent)]
    Kernel(#[from] OsError),
    /// The heap cannot be used here and now.
    #[error(transparent)]
    Misuse(#[from] Misuse),
    /// The arena, the object or the type cannot be used so.
    #[error(transparent)]
    Refused(Refusal),
}

impl From<Refusal> for AllocError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Kernel(e) => AllocError::Kernel(e),
            Refusal::Misuse(e) => AllocError::Misuse(e),
            refusal => AllocError::Refused(refusal),
        }
    }
}

impl From<heapwood_heap::Refusal> for AllocError {
    fn from(refusal: heapwood_heap::Refusal) -> Self {
        Refusal::from(refusal).into()
    }
}

/// The parts of arenas and of memory outside the heap, which what was alive does not include, and the next step. What is said of the
/// quarantine comes last: C has no room for all of a text.
struct Room<'a>(&'a ArenaBytes, usize, &'static str);

impl Display for Room<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Room(&ArenaBytes { in_use, quarantined, .. }, external, raise) = *self;
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
}

/// The limit, if there is one.
fn under(limit: Option<usize>) -> impl Display {
    fmt::from_fn(move |f| match limit {
        Some(limit) => write!(f, " under the heap's limit of {limit}"),
        None => Ok(()),
    })
}

/// Why a mutator cannot be used here and now, or collections are not switched so. Whoever collects returns it in registers: larger
/// errors leave words on the stack that a conservative scan takes for pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Misuse {
    #[error("the heap is used inside a blocking region: end the region first")]
    InNative,
    #[error(
        "the heap is used inside a trace function, in the middle of a collection: such a function only reports pointers"
    )]
    Tracing,
    #[error(
        "the heap is used inside a hook of a collection, while threads are stopped: note there what is to be done, and do it \
         afterwards"
    )]
    Hook,
    #[error("the thread was detached from the heap: attach it again, and use what that returns")]
    Detached,
    #[error("this mutator is another thread's: each thread attaches for itself")]
    OtherThread,
    #[error(
        "the thread runs on another stack (a fiber's, or one for deep recursion) than the one it was attached on, and did not \
         announce it: register the stack and announce the switch, or collect on the thread's own stack"
    )]
    OtherStack,
    #[error(
        "the ticket is not one of this heap: wait for what starting a collection of the same heap has returned"
    )]
    NoTicket,
    #[error(
        "collections are off: the program has switched them off {0} times more than on: switch them on first"
    )]
    CollectionsOff(u32),
    #[error("collections are on: the program has switched them on more often than off")]
    CollectionsOn,
}

const _: () = assert!(size_of::<Result<bool, Misuse>>() <= 8);

/// Why a call was refused: the program may not make it so or here, a table is full, or the kernel gave no memory for an entry.
/// Addresses and numbers are those that were given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    // Arenas, by their numbers.
    #[error(
        "{address:#x} is no arena of this heap: it was never one, or it was closed long ago; keep what opening an arena returned \
         until it is closed"
    )]
    NoArena { address: usize },
    #[error("arena {arena} has been closed: close each arena once, and use it only before")]
    ArenaClosed { arena: u64 },
    #[error(
        "arena {arena} was left to the collector, by the program or as its thread left the heap: it takes no more values"
    )]
    ArenaLeft { arena: u64 },
    #[error("arena {arena} is another thread's: the thread that opened it uses it, and closes it")]
    ArenaOfOtherThread { arena: u64 },

    // Objects that are held or freed. The last two are found in verify mode alone.
    #[error(
        "no object begins at {address:#x}: hold an object by its first byte, while it exists; values of arenas cannot be held"
    )]
    CannotHold { address: usize },
    #[error(
        "the object at {address:#x} has a finaliser, which waits for its death: cancel that first, or leave the object to the \
         collector"
    )]
    HasFinalizer { address: usize },
    #[error(
        "a weak reference, an ephemeron or a weak table refers to the object at {address:#x}, or did so until lately: remove it \
         from its tables, and leave what weak references lead to to the collector"
    )]
    HasWeak { address: usize },
    #[error(
        "the link at {slot:#x} refers to the object at {address:#x}, or lies in it: end it first (hw_link_remove), or leave the \
         object to the collector"
    )]
    HasLink { address: usize, slot: usize },

    // Finalisers and their queues.
    #[error("{address:#x} is no object of this heap: register what allocation returned, while it is alive")]
    CannotFinalize { address: usize },
    #[error(
        "{address:#x} lies in arena {arena}, whose values die together: register an object of the heap, or end what it owns with \
         the arena"
    )]
    CannotFinalizeInArena { address: usize, arena: u64 },
    #[error(
        "the heap has {most} finalisers, the most there can be: take those that wait on the queue, or have one object own more"
    )]
    ManyFinalizers { most: usize },
    #[error(
        "{queue:#x} is no queue of finalisers of this heap, or was ended before; the heap's own, 0, stays: pass the number with \
         which it was made"
    )]
    NoQueue { queue: u64 },
    #[error(
        "the heap has {most} queues of finalisers, the most there can be: end those that are not used, or have several kinds of \
         objects share one, and tell them by their tags"
    )]
    ManyQueues { most: usize },
    #[error(
        "the queue has {queued} entries, and {registered} finalisers are registered for it: take the ones, and cancel the others, \
         before it is ended"
    )]
    QueueInUse { registered: usize, queued: usize },
    #[error(
        "the queue's function is being called: change it, or end the queue, when it has returned, and not from inside"
    )]
    QueueCalled,
    #[error(
        "the kernel gave no eventfd (errno {errno}): close some of the process's descriptors, or wait on the queue without one"
    )]
    NoDescriptor { errno: i32 },
    #[error("the finaliser's object is dead: its entry is on the queue or was taken, and is the taker's")]
    FinalizerQueued,
    #[error(
        "{token:#x} is no finaliser of this heap, or was cancelled or taken before: pass the number that its registration \
         returned, once"
    )]
    NoFinalizer { token: u64 },

    // Ephemerons, weak references, weak tables and links.
    #[error(
        "{address:#x} is no object of this heap: refer weakly to what allocation returned, while it is alive"
    )]
    CannotReferWeakly { address: usize },
    #[error(
        "{address:#x} lies in arena {arena}, whose values die together: refer weakly to an object of the heap, or strongly to the \
         value"
    )]
    CannotReferWeaklyInArena { address: usize, arena: u64 },
    #[error(
        "{address:#x} is no ephemeron or weak reference of this heap: pass what making one has returned, and keep it alive"
    )]
    NoEphemeron { address: usize },
    #[error(
        "{address:#x} is no weak table of this heap: pass what making one has returned, and keep it alive"
    )]
    NoTable { address: usize },
    #[error(
        "{slot:#x} is no place of a pointer: give an address that is a multiple of 8, not NULL, and if it is in the heap, in an \
         object that is alive and no weak reference"
    )]
    NoSlot { slot: usize },
    #[error(
        "the word at {slot:#x} has no link: it was never given one, or its object is dead, or it was ended before"
    )]
    NoLink { slot: usize },
    #[error(
        "the heap has {most} links, the most there can be: end those that are not needed, or use weak references, which are \
         objects"
    )]
    ManyLinks { most: usize },

    // Roots, stacks and handles.
    #[error(
        "{most} roots are registered, as many as a heap can have: remove some, register neighbours as one, or keep objects in an \
         array that one root leads to"
    )]
    ManyRoots { most: usize },
    #[error(
        "{most} handles are held, as many as this heap can have: free some, or keep objects in an array that one handle leads to"
    )]
    ManyHandles { most: usize },
    #[error(
        "{most} stacks are registered, as many as a heap can have: remove those of fibers that have ended, and use their memory \
         again"
    )]
    ManyStacks { most: usize },
    #[error(
        "the end of a stack is not above its lowest address: give its lowest address, and one past its highest"
    )]
    NoStack,
    #[error("a thread is on the stack: switch it to another stack first")]
    StackInUse,
    #[error("the stack was removed from the heap: register it again")]
    StackRemoved,
    #[error(
        "the thread is not on the stack that it was said to be on: each switch is announced, also the one back to the thread's \
         own stack"
    )]
    NotOnStack,
    #[error(
        "{address:#x} is in no library that is loaded, nor in the program: name one by the address of a function or a variable of \
         its own"
    )]
    NoLibrary { address: usize },
    #[error(
        "{most} ranges of libraries' data are excluded, as many as can be: exclude neighbours as one range"
    )]
    ManyExcluded { most: usize },
    #[error(
        "a pointer {bytes} bytes behind the first of its object cannot be registered, only up to {most}: switch interior pointers \
         on, or keep a pointer to the first byte"
    )]
    Displacement { bytes: usize, most: usize },

    // Types.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error("the program that describes the type is wrong: {0}")]
    Program(ProgramError),

    /// The mutator cannot be used here and now.
    #[error(transparent)]
    Misuse(#[from] Misuse),
    /// The object cannot be freed, bytes outside the heap cannot be counted, or the type cannot be registered.
    #[error(transparent)]
    Heap(heapwood_heap::Refusal),
    /// The kernel gave no memory.
    #[error(transparent)]
    Kernel(#[from] OsError),
}

impl From<heapwood_heap::Refusal> for Refusal {
    fn from(refusal: heapwood_heap::Refusal) -> Self {
        match refusal {
            heapwood_heap::Refusal::Kernel(e) => Refusal::Kernel(e),
            refusal => Refusal::Heap(refusal),
        }
    }
}

/// Why a heap could not be made, ended or set otherwise, or a thread not attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HeapError {
    #[error(
        "option {} is {}: it must be {}; choose such a value, or leave it out{}",
        .option.name,
        .option.show(*.value),
        .option.range_text(),
        for_the_default(.option)
    )]
    OutOfRange { option: &'static OptionInfo, value: u64 },
    #[error(
        "the heap has {count} finalisers: queue all (hw_finalize_all), and take each from the queue before it is destroyed, or \
         what its objects own outside is lost"
    )]
    Finalizers { count: usize },
    /// The kernel gave no memory for the heap's tables.
    #[error(transparent)]
    Kernel(#[from] OsError),
    #[error(
        "this kernel's pages have {bytes} bytes; heaps work with up to {}: boot one with smaller pages",
        heapwood_os::MOST_KERNEL_PAGE
    )]
    KernelPages { bytes: usize },
    #[error(
        "the memory control group of this process allows {bytes} bytes (memory.max), and a heap without a limit of its own needs \
         {least}: raise it, or give the heap a limit"
    )]
    Memory { bytes: usize, least: usize },
    #[error(
        "option generational is always and stop is signals: a store that is interrupted between its barrier and itself would be \
         lost to a young collection; leave generational out, or stop threads by polls"
    )]
    SignalsAndYoung,
    #[error(
        "option concurrent is on and stop is signals: a store that is interrupted between its barrier and itself would be \
         lost to a marking beside the program; leave concurrent out, or stop threads by polls"
    )]
    SignalsAndConcurrent,
    #[error(
        "option concurrent is on and background_release is off: no thread of the heap's own could mark beside the program; \
         leave one of them out"
    )]
    ConcurrentWithoutThread,
    #[error(
        "option conservative_stacks is off and stop is signals: between two instructions objects may be in registers alone; scan \
         stacks, or stop threads by polls"
    )]
    SignalsAndPrecise,
    #[error(
        "option stop_signal is {signal}: processors, the C library or the kernel use that signal; choose another, such as SIGURG \
         or SIGUSR2"
    )]
    Signal { signal: u32 },
    #[error("the system does not say where this thread's stack ends: give its address")]
    UnknownStack,
    /// A signal may come while the thread is on another stack.
    #[error(
        "the stack is not the thread's own, and signals stop threads of this heap: give both of its ends"
    )]
    StackBounds,
    #[error(
        "the thread is attached to this heap already: pass its mutator on, or call with_mutator (in C hw_attach_if_needed), which \
         attaches only a thread that is not"
    )]
    AttachedAlready,
    #[error(
        "the process has used up its keys for thread-specific values (PTHREAD_KEYS_MAX), or the memory for them: a thread's end \
         would not be noticed"
    )]
    ThreadKeys,
    #[error(
        "{count} {} attached to the heap: detach each first, from that thread",
        if *.count == 1 { "thread is" } else { "threads are" }
    )]
    MutatorsAttached { count: usize },
}

/// The default of an option, if it has one.
fn for_the_default(option: &OptionInfo) -> impl Display {
    fmt::from_fn(move |f| match option.default {
        Some(default) => write!(f, " for the default, {}", option.show(default)),
        None => Ok(()),
    })
}

/// Why a setting, such as one of the variable `HEAPWOOD`, was ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(crate) enum SettingError<'a> {
    #[error("it is not UTF-8: write key=value,key=value")]
    NotText,
    #[error("{} has no value: write key=value", .setting.escape_debug())]
    NoValue { setting: &'a str },
    /// There is no such option among `options`.
    #[error("{}", no_option(.name, *.nearest, .options))]
    NoOption { name: &'a str, nearest: Option<&'static str>, options: &'static [OptionInfo] },
    /// The text is not a size, for this reason.
    #[error("option {} is {}: {why}", .option.name, .text.escape_debug())]
    NoSize { option: &'static OptionInfo, text: &'a str, why: &'static str },
    /// The text is not a value of the option.
    #[error(
        "option {} is {}: it must be {}{}",
        .option.name,
        .text.escape_debug(),
        if .option.unit.is_in_words() { "" } else { "a number, " },
        .option.range_text()
    )]
    Value { option: &'static OptionInfo, text: &'a str },
    /// The value is out of range.
    #[error("{}", HeapError::OutOfRange { option, value: *.value })]
    Range { option: &'static OptionInfo, value: u64 },
}

fn no_option(name: &str, nearest: Option<&'static str>, options: &'static [OptionInfo]) -> impl Display {
    fmt::from_fn(move |f| {
        match name {
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
    })
}
