//! What the process leaves a heap: addresses, of which `ulimit -v` may allow few, and memory, of which a control group may.
//! A process that exceeds its group's memory is killed without a word, so a heap that has no limit of its own stays
//! below: it aims lower, collecting more often, and grows no further than that. Invariant: a heap with a limit of its own is
//! not bounded here; it is told.

use crate::error::HeapError;
use crate::settings::options::Config;
use heapwood_heap::{MAX_RESERVATION, rounded_reservation};
use heapwood_os::process::usage::{address_space_limit, memory_limit, physical_memory, resident_memory};
use heapwood_os::{KernelRef, OsError, Reservation};

/// No heap has less address space, unless it must.
const LEAST_RESERVATION: usize = 4 << 30;
/// Of a group's memory so much is left to what else the process has, and to the heap's tables: one part in eight.
const OTHERS: usize = 8;
/// And the heap aims to stay one part in ten below.
const AIM: usize = 10;

/// What there is for a heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// The memory that the process may have, if that bounds the heap.
    memory: Option<usize>,
}

impl Room {
    /// For a heap with these settings, in this process.
    pub(crate) fn find(config: &Config) -> Result<Self, HeapError> {
        if config.limit.is_some() {
            return Ok(Room { memory: None });
        }
        let memory = config.process_memory.or_else(|| memory_limit().map(|bytes| bytes as usize));
        match memory {
            Some(bytes) if bytes < Config::LEAST_MEMORY => {
                Err(HeapError::Memory { bytes, least: Config::LEAST_MEMORY })
            }
            memory => Ok(Room { memory }),
        }
    }

    /// The bytes that the heap's objects may take up.
    pub(crate) fn most(self) -> Option<usize> {
        self.memory.map(|memory| memory - memory / OTHERS)
    }

    /// The size that the heap aims at most for, what else the process has in memory being as much as it is now: `backed`
    /// bytes of that are behind the heap's pages. Asks the kernel where memory is bounded.
    pub(crate) fn goal(self, backed: usize) -> Option<usize> {
        let memory = self.memory?;
        let others = resident_memory().map_or(memory / OTHERS, |all| (all as usize).saturating_sub(backed));
        Some((memory - memory / AIM).saturating_sub(others))
    }

    /// The bytes below which no collection is due.
    pub(crate) fn min_heap(self, config: &Config) -> usize {
        self.memory.map_or(config.min_heap, |memory| config.min_heap.min(memory / 8))
    }
}

/// The address space that a heap with these settings asks for.
pub(crate) fn reservation(config: &Config) -> usize {
    // Room for holes: a heap at its limit may be spread over twice as much address space.
    let of_limit = |limit: usize| limit.saturating_mul(2).saturating_add(64 << 20);
    let memory = config.process_memory.map_or_else(usable_memory, |memory| memory as u64);
    let usual = Config::usual_reservation(address_space_limit(), memory);
    config.address_space.unwrap_or_else(|| config.limit.map_or(usual, |limit| of_limit(limit).min(usual)))
}

/// The memory that this process can have at all.
pub(crate) fn usable_memory() -> u64 {
    memory_limit().map_or_else(physical_memory, |limit| limit.min(physical_memory()))
}

impl Config {
    /// The bytes of address space that a heap without a limit of its own asks for: by the address space the process may
    /// have (`ulimit -v`), if limited, and by the memory it can have.
    pub fn usual_reservation(address_space: Option<u64>, memory: u64) -> usize {
        let usual = (memory as usize).saturating_mul(2).clamp(LEAST_RESERVATION, MAX_RESERVATION);
        let wanted = address_space.map_or(usual, |most| usual.min(most as usize));
        rounded_reservation(wanted)
    }
}

/// Address space that a heap leaves alone while it is made, and then the program has, for threads, stacks and what it
/// allocates elsewhere: where it is limited, an eighth of it, but no more than this and no less than that.
pub(crate) fn hold_margin(kernel: KernelRef) -> Result<Option<Reservation>, OsError> {
    const MARGIN: core::ops::RangeInclusive<usize> = 12 << 20..=256 << 20;
    let Some(most) = address_space_limit() else { return Ok(None) };
    let margin = (most as usize / 8).clamp(*MARGIN.start(), *MARGIN.end());
    Reservation::new(kernel, margin, 1).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_follow_memory_and_ulimit() {
        assert_eq!(Config::usual_reservation(None, 24 << 30), 64 << 30);
        assert_eq!(Config::usual_reservation(None, 512 << 20), LEAST_RESERVATION);
        assert_eq!(Config::usual_reservation(None, u64::MAX), MAX_RESERVATION);
        assert_eq!(Config::usual_reservation(Some(1 << 30), 24 << 30), 1 << 30);
        assert_eq!(Config::usual_reservation(Some(1 << 20), 24 << 30), heapwood_heap::MIN_RESERVATION);
    }

    #[test]
    fn a_group_bounds_heaps_without_a_limit() {
        let of =
            |memory, limit| Room::find(&Config { process_memory: Some(memory), limit, ..Config::DEFAULT });
        let room = of(64 << 20, None).unwrap();
        assert_eq!(room.most(), Some(56 << 20));
        assert!(room.goal(0).unwrap() < 58 << 20);
        assert_eq!(room.min_heap(&Config::DEFAULT.min_heap(32 << 20)), 8 << 20);
        let limited = of(64 << 20, Some(8 << 20)).unwrap();
        assert_eq!((limited.most(), limited.goal(0)), (None, None));
        assert_eq!(
            of(8 << 20, None).err(),
            Some(HeapError::Memory { bytes: 8 << 20, least: Config::LEAST_MEMORY })
        );
    }
}
