//! The arena log of verify mode: the callers that opened and closed the last arenas, some thousand. If a value of a
//! closed arena is used, the fault's handler names that arena and the place where it was closed. Invariant: an entry is
//! written under the lock. A handler reads it without, so it may see a torn entry and then reports too little.

use crate::error::Refusal;
use crate::lock_order::ARENA_LOG;
use crate::state::Reports;
use core::fmt;
use core::ops::Range;
use heapwood_os::diagnose::backtrace::{Callers, CodeLocation, callers};
use heapwood_os::diagnose::message::write_line;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{ForkLock, KernelRef, Lock, Mapped, MappedArray, OsError};

/// The arenas in the log.
const ENTRIES: usize = 1 << 14;

/// The log entry of an arena.
#[derive(Clone, Copy)]
struct ArenaRecord {
    arena: u64,
    opened: Callers,
    closed: Callers,
}

// SAFETY: all-zero bytes are an entry of no arena.
unsafe impl Zeroed for ArenaRecord {}

/// The log of a heap.
pub(crate) struct ArenaLog {
    entries: MappedArray<ArenaRecord>,
    lock: Lock<(), ARENA_LOG>,
}

/// Callers, innermost first.
struct CallerList(Callers);

impl fmt::Display for CallerList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut known = self.0.iter().take_while(|&&address| address != 0);
        match known.next() {
            None => f.write_str("an unknown place"),
            Some(&first) => {
                write!(f, "{}", CodeLocation::of(first))?;
                known.try_for_each(|&address| write!(f, " < {}", CodeLocation::of(address)))
            }
        }
    }
}

impl ArenaLog {
    pub(crate) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let entries = MappedArray::new(kernel, ENTRIES)?;
        entries.commit(0..ENTRIES)?;
        // The unwinder allocates when it is first used.
        callers();
        Ok(ArenaLog { entries, lock: Lock::new(()) })
    }

    /// The lock, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.lock
    }

    fn update(&self, arena: u64, f: impl FnOnce(ArenaRecord) -> ArenaRecord) {
        let here = self.entries.at(arena as usize % ENTRIES);
        let _one = self.lock.lock();
        // SAFETY: all entries are committed, and the lock is held.
        unsafe {
            let before = here.read();
            let known = if before.arena == arena {
                before
            } else {
                ArenaRecord { arena, opened: [0; 8], closed: [0; 8] }
            };
            here.write(f(known));
        }
    }

    /// Logs that an arena is opened here.
    pub(crate) fn opened(&self, arena: u64) {
        let opened = callers();
        self.update(arena, |entry| ArenaRecord { opened, ..entry });
    }

    /// Logs that it is closed or emptied here.
    pub(crate) fn closed(&self, arena: u64) {
        let closed = callers();
        self.update(arena, |entry| ArenaRecord { closed, ..entry });
    }

    /// Reports an arena whose thread leaves the heap without having closed it.
    pub(crate) fn leaked(&self, reports: &Reports, arena: u64) {
        reports.tell_with(
            format_args!(
                "arena {arena} was not closed before its thread left the heap: it is the collector's now. It was opened by"
            ),
            || self.write_callers(arena, |entry| entry.opened),
        );
    }

    /// Reports an arena that was not used, for this reason.
    pub(crate) fn refused(&self, reports: &Reports, why: Refusal) {
        reports.tell_with(format_args!("{why}"), || match why {
            Refusal::ArenaClosed { arena } => self.report_end(arena),
            Refusal::ArenaLeft { arena } | Refusal::ArenaOfOtherThread { arena } => {
                write_line(format_args!("heapwood: verify: it was opened by"));
                self.write_callers(arena, |entry| entry.opened);
            }
            _ => {}
        });
    }

    /// Reports where an arena was opened and closed.
    pub(crate) fn report_end(&self, arena: u64) {
        write_line(format_args!("heapwood: verify: the arena was closed or emptied by"));
        self.write_callers(arena, |entry| entry.closed);
        write_line(format_args!("heapwood: verify: and opened by"));
        self.write_callers(arena, |entry| entry.opened);
    }

    fn write_callers(&self, arena: u64, of: impl FnOnce(&ArenaRecord) -> Callers) {
        // SAFETY: all entries are committed; a concurrent write does no harm (invariant).
        let entry = unsafe { self.entries.at(arena as usize % ENTRIES).read_volatile() };
        match entry.arena == arena {
            true => write_line(format_args!("  {}", CallerList(of(&entry)))),
            false => write_line(format_args!("  (too many arenas have been opened since to say)")),
        }
    }
}

impl Mapped for ArenaLog {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.entries.for_each_mapping(f);
    }
}
