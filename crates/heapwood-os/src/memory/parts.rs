//! Which parts of a large reservation are mapped (`address_slots`): those in which something was committed. Invariant: one thread maps a
//! part, and no other commits there before it has.

use crate::error::OsError;
use crate::memory::kernel::KernelRef;
use crate::memory::page::MOST_KERNEL_PAGE;
use crate::memory::request::Request;
use crate::threads::cancellation::sleep;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

/// Which parts of a reservation are mapped: equal ones, but for the last.
pub(super) struct Parts {
    bytes: usize,
    /// A thread maps it, or has.
    begun: PartBits,
    mapped: PartBits,
}

type PartBits = [AtomicU64; MOST_PARTS / 64];

fn none() -> PartBits {
    [const { AtomicU64::new(0) }; MOST_PARTS / 64]
}

/// The most parts of a reservation, and their least size.
const MOST_PARTS: usize = 1024;
const LEAST_PART: usize = MOST_KERNEL_PAGE;
/// How often a thread looks whether another has mapped a part, most times after a sleep: for some seconds. In a child that was forked
/// meanwhile that thread is not.
const LOOKS: usize = 20_000;
const LOOKS_AWAKE: usize = 100;
const NAP: Duration = Duration::from_micros(100);

impl Parts {
    /// How large the parts of so many bytes are.
    pub(super) fn bytes_of(len: usize) -> usize {
        len.div_ceil(MOST_PARTS).next_power_of_two().max(LEAST_PART)
    }

    /// The first is mapped.
    pub(super) fn new(bytes: usize) -> Self {
        let parts = Parts { bytes, begun: none(), mapped: none() };
        parts.set_mapped(0);
        parts
    }

    fn is_mapped(&self, part: usize) -> bool {
        self.mapped[part / 64].load(Ordering::Acquire) >> (part % 64) & 1 != 0
    }

    /// Whether the caller is to map the part; else another thread does, or has.
    fn begin(&self, part: usize) -> bool {
        self.begun[part / 64].fetch_or(1 << (part % 64), Ordering::Relaxed) >> (part % 64) & 1 == 0
    }

    /// The caller was to map it, and has not.
    fn give_up(&self, part: usize) {
        self.begun[part / 64].fetch_and(!(1 << (part % 64)), Ordering::Relaxed);
    }

    /// Waits until another thread has mapped the part, or was refused it; whether it has. `None` if that thread is not there.
    fn await_mapped(&self, part: usize) -> Option<bool> {
        for look in 0..LOOKS {
            if self.is_mapped(part) {
                return Some(true);
            }
            match self.begun[part / 64].load(Ordering::Relaxed) >> (part % 64) & 1 {
                0 => return Some(false),
                _ if look < LOOKS_AWAKE => std::thread::yield_now(),
                _ => sleep(NAP),
            }
        }
        None
    }

    fn set_mapped(&self, part: usize) {
        self.mapped[part / 64].fetch_or(1 << (part % 64), Ordering::Release);
    }

    /// The same, for another owner.
    pub(super) fn copy(&self) -> Self {
        let copy = Parts { bytes: self.bytes, begun: none(), mapped: none() };
        for (to, from) in copy.mapped.iter().zip(&self.mapped) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        copy
    }

    /// Maps the parts of a reservation, of which start and length are given, in which bytes of a range lie.
    pub(super) fn map(
        &self,
        kernel: KernelRef,
        (start, len): (usize, usize),
        range: Range<usize>,
    ) -> Result<(), OsError> {
        let parts = range.start / self.bytes..range.end.div_ceil(self.bytes);
        for part in parts.filter(|&part| !self.is_mapped(part)) {
            let range = self.range(part, len);
            self.map_one(kernel, part, (start + range.start, range.len()))?;
        }
        Ok(())
    }

    /// The parts of a reservation of so many bytes that are mapped.
    pub(super) fn mapped(&self, len: usize) -> impl Iterator<Item = Range<usize>> {
        (0..len.div_ceil(self.bytes))
            .filter(|&part| self.is_mapped(part))
            .map(move |part| self.range(part, len))
    }

    fn range(&self, part: usize, len: usize) -> Range<usize> {
        part * self.bytes..len.min((part + 1) * self.bytes)
    }

    /// Maps a part that was not, at an address.
    #[cold]
    fn map_one(&self, kernel: KernelRef, part: usize, (addr, len): (usize, usize)) -> Result<(), OsError> {
        let is_mine = self.begin(part);
        match if is_mine { None } else { self.await_mapped(part) } {
            Some(true) => return Ok(()),
            Some(false) => return Err(OsError::new(Request::Reserve, len, libc::ENOMEM)),
            None => {}
        }
        match kernel.reserve_at(addr, len) {
            // A thread that is not there any more had mapped it.
            Err(OsError { errno: libc::EEXIST, .. }) if !is_mine => {}
            Ok(()) => {}
            Err(refused) => {
                self.give_up(part);
                return Err(match refused.errno {
                    // The program has mapped something there.
                    libc::EEXIST => OsError::new(Request::Reserve, len, libc::ENOMEM),
                    _ => refused,
                });
            }
        }
        self.set_mapped(part);
        Ok(())
    }
}
