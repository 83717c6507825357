//! Who opened and closed arenas, for the reports of verify mode: the last some thousand of each. When a value is used whose arena was
//! closed, the fault's handler says from here which arena that was and where it was closed.
//! Invariant: an entry is written under the lock and read by a handler without, which may see a torn one and then says too little.

use crate::error::ArenaError;
use core::fmt;
use heapwood_os::backtrace::{Callers, Place, callers};
use heapwood_os::message::write_line;
use heapwood_os::region::Zeroed;
use heapwood_os::{ForkLock, KernelRef, Lock, MappedArray, OsError};

/// How many arenas are remembered.
const ENTRIES: usize = 1 << 14;

/// What is known of an arena.
#[derive(Clone, Copy)]
struct ArenaRecord {
    arena: u64,
    opened: Callers,
    closed: Callers,
}

// SAFETY: all-zero bytes are of no arena.
unsafe impl Zeroed for ArenaRecord {}

/// The log of a heap.
pub(crate) struct ArenaLog {
    entries: MappedArray<ArenaRecord>,
    lock: Lock<()>,
}

/// Callers, one behind the other.
struct Told(Callers);

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut known = self.0.iter().take_while(|&&address| address != 0);
        match known.next() {
            None => f.write_str("an unknown place"),
            Some(&first) => {
                write!(f, "{}", Place::of(first))?;
                known.try_for_each(|&address| write!(f, " < {}", Place::of(address)))
            }
        }
    }
}

impl ArenaLog {
    pub(crate) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let entries = MappedArray::new(kernel, ENTRIES)?;
        entries.commit(0..ENTRIES)?;
        // The unwinder allocates when it is used first.
        callers();
        Ok(ArenaLog { entries, lock: Lock::new(()) })
    }

    /// The lock, for a process that forks.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.lock
    }

    fn update(&self, arena: u64, f: impl FnOnce(ArenaRecord) -> ArenaRecord) {
        let here = self.entries.at(arena as usize % ENTRIES);
        let _one = self.lock.lock();
        // SAFETY: all are committed, and the lock is held.
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

    /// An arena is opened here.
    pub(crate) fn opened(&self, arena: u64) {
        let opened = callers();
        self.update(arena, |entry| ArenaRecord { opened, ..entry });
    }

    /// It is closed, or emptied, here.
    pub(crate) fn closed(&self, arena: u64) {
        let closed = callers();
        self.update(arena, |entry| ArenaRecord { closed, ..entry });
    }

    /// The thread that opened it leaves its heap without having closed it.
    pub(crate) fn leaked(&self, arena: u64) {
        write_line(format_args!(
            "heapwood: verify: arena {arena} was not closed before its thread left the heap: it is the collector's now. It was opened by"
        ));
        self.tell(arena, |entry| entry.opened);
    }

    /// An arena is not used, for this reason.
    pub(crate) fn refused(&self, why: ArenaError) {
        write_line(format_args!("heapwood: verify: {why}"));
        match why {
            ArenaError::Closed { arena } => self.tell_of(arena),
            ArenaError::Left { arena } | ArenaError::OtherThread { arena } => {
                write_line(format_args!("heapwood: verify: it was opened by"));
                self.tell(arena, |entry| entry.opened);
            }
            ArenaError::NoArena { .. } => {}
        }
    }

    /// Says where an arena was opened and closed.
    pub(crate) fn tell_of(&self, arena: u64) {
        write_line(format_args!("heapwood: verify: the arena was closed or emptied by"));
        self.tell(arena, |entry| entry.closed);
        write_line(format_args!("heapwood: verify: and opened by"));
        self.tell(arena, |entry| entry.opened);
    }

    fn tell(&self, arena: u64, of: impl FnOnce(&ArenaRecord) -> Callers) {
        // SAFETY: all are committed; who writes one meanwhile is of no account (invariant).
        let entry = unsafe { self.entries.at(arena as usize % ENTRIES).read_volatile() };
        match entry.arena == arena {
            true => write_line(format_args!("  {}", Told(of(&entry)))),
            false => write_line(format_args!("  (too many arenas have been opened since to say)")),
        }
    }
}
