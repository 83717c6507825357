//! The life cycle of arenas and of their memory: one list of states, and one table of the steps between them.
//!
//! ```text
//!               open                 close: its mutator                  full marking met no pointer into it
//!   Unused ------------> Open ---------+--------------> Free ------------------------------------> Unused
//!   (pages of the heap)   |  ^ ^       |                ^ |  next arena takes it
//!                         |  | |       |                | +--> Open
//!                         |  | |       +--> Quarantined-+ full marking met no pointer into it
//!                         |  | header is used again
//!                   leave |  Closed <-- close (the header)
//!                         v
//!                        Left (the header); the collector closes its chunks as a mutator does
//! ```
//!
//! A header is `Open`, `Closed` or `Left`. A chunk is `Unused`, `Open`, `Free` or `Quarantined`: it is open from the time
//! when an arena takes it until that arena's mutator or the collector frees it, so leaving an arena need not visit its
//! chunks. Invariant: each change of a state goes through [`transition`].

/// The state of an arena, or of a chunk of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ArenaState {
    /// A chunk that is none: pages of the heap.
    Unused = 0,
    /// An arena that takes values; a chunk that an arena has.
    Open = 1,
    /// An arena that was closed.
    Closed = 2,
    /// An arena that was left to the collector. As the state in which an arena's chunks are given up: a marking is active
    /// that may have to visit them, so the collector frees those that it does not reach.
    Left = 3,
    /// A chunk for the next arena.
    Free = 4,
    /// A chunk for no arena, without memory, until a full marking has met no pointer into it.
    Quarantined = 5,
}

use ArenaState::{Closed, Free, Left, Open, Quarantined, Unused};

/// The steps of the life cycle: from, to, and the event.
const TRANSITIONS: [(ArenaState, ArenaState, &str); 9] = [
    (Unused, Open, "an arena is opened, or takes pages of the heap as a chunk"),
    (Unused, Free, "a huge chunk is split into chunks for the next arenas"),
    (Open, Closed, "a mutator closes the arena"),
    (Open, Left, "a mutator leaves the arena to the collector, or its thread ends"),
    (Closed, Open, "the header is used again"),
    (Open, Free, "the arena of the chunk has ended, and nothing can point into it"),
    (Open, Quarantined, "the arena of the chunk has ended, and pointers into it may be left"),
    (Quarantined, Free, "a full marking has met no pointer into the chunk"),
    (Free, Open, "the next arena takes the chunk"),
];

impl ArenaState {
    /// The state with a number; any other number is that of no arena.
    pub(crate) const fn of(number: u8) -> Self {
        match number {
            1 => Open,
            2 => Closed,
            3 => Left,
            4 => Free,
            5 => Quarantined,
            _ => Unused,
        }
    }

    /// Whether a step of the life cycle leads from this state to the other. A chunk's descriptor goes with its pages, and
    /// so a chunk ends as it is.
    pub(crate) fn may_become(self, to: ArenaState) -> bool {
        TRANSITIONS.iter().any(|&(from, next, _)| (from, next) == (self, to))
    }
}

/// A step of the life cycle; returns the new state.
#[inline]
pub(crate) fn transition(from: ArenaState, to: ArenaState) -> ArenaState {
    debug_assert!(from.may_become(to), "an arena or a chunk that is {from:?} becomes {to:?}");
    to
}
