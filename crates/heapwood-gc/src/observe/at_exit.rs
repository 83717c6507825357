//! What heaps tell when they end: the totals of their phases, in the words in which the collector of D tells them. A
//! program may leave its heaps to the process's end, as those in C and those with a `static` one do; for them it is told by
//! a function that the C library calls at exit. Other threads may still run then, and the one that exits may have been
//! anywhere; so that reads atomics alone, takes no lock, and frees nothing.
//!
//! There is one list of such heaps a process, since nothing else leads to a heap at exit. Invariant: what is on the list
//! exists, for a heap leaves it before it goes, and waits meanwhile if it is just being told of.

use super::phases::{PhaseClock, Phases};
use core::fmt::{self, Display};
use core::ptr::{from_ref, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use heapwood_heap::ReclaimClock;
use heapwood_os::exit::at_exit;
use heapwood_os::message::write_line;

/// How many heaps can be on the list. Others tell when they end only.
const MOST: usize = 64;

/// The list. Who tells at exit marks an address with its lowest bit meanwhile.
static LIST: [AtomicPtr<Totals>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];

/// Whether the C library has been asked to call.
static ASKED: AtomicBool = AtomicBool::new(false);

/// What a heap tells when it ends: nothing, unless it is on the list.
pub(crate) struct Totals {
    clock: PhaseClock,
    /// Of its space; null if nothing is to be told, or has been.
    reclaim: AtomicPtr<ReclaimClock>,
}

impl Totals {
    pub(crate) fn new() -> Self {
        Totals { clock: PhaseClock::default(), reclaim: AtomicPtr::new(null_mut()) }
    }

    /// The sums of the collections.
    pub(crate) fn clock(&self) -> &PhaseClock {
        &self.clock
    }

    /// From now on the totals are to be told, when the process exits if not before.
    ///
    /// # Safety
    /// 1. Both stay where they are, and exist, until [`Totals::end`] has returned.
    pub(crate) unsafe fn report_at_exit(&self, reclaim: &ReclaimClock) {
        self.reclaim.store(from_ref(reclaim).cast_mut(), Ordering::Release);
        if !ASKED.swap(true, Ordering::Relaxed) {
            at_exit(report_all);
        }
        let me = from_ref(self).cast_mut();
        let _ = LIST.iter().find(|entry| {
            entry.compare_exchange(null_mut(), me, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        });
    }

    /// The heap ends: it tells now, if it is to and has not.
    pub(crate) fn end(&self) {
        if self.reclaim.load(Ordering::Acquire).is_null() {
            return;
        }
        let me = from_ref(self).cast_mut();
        for entry in &LIST {
            while entry.compare_exchange(me, null_mut(), Ordering::AcqRel, Ordering::Relaxed)
                == Err(marked(me))
            {
                std::thread::yield_now();
            }
        }
        self.tell();
    }

    /// Tells the totals, the first time that it is called.
    fn tell(&self) {
        let reclaim = self.reclaim.swap(null_mut(), Ordering::AcqRel);
        // SAFETY: it exists until the heap has ended (contract of `report_at_exit`), which waits for who tells at exit.
        let Some(reclaim) = (unsafe { reclaim.as_ref() }) else { return };
        write_line(format_args!("{}", FiveLines(self.clock.phases(&reclaim.times()))));
    }
}

fn marked(totals: *mut Totals) -> *mut Totals {
    totals.map_addr(|address| address | 1)
}

/// Tells the totals of all heaps on the list, which leave it.
extern "C" fn report_all() {
    for entry in &LIST {
        let totals = entry.load(Ordering::Acquire);
        let free = totals.is_null() || totals == marked(totals);
        if free
            || entry.compare_exchange(totals, marked(totals), Ordering::AcqRel, Ordering::Relaxed).is_err()
        {
            continue;
        }
        // SAFETY: what is on the list exists, and the mark keeps it there.
        unsafe { &*totals }.tell();
        entry.store(null_mut(), Ordering::Release);
    }
}

/// The phases as D's collector tells them.
struct FiveLines(Phases);

impl Display for FiveLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Phases { prep, mark, sweep, recovery, .. } = self.0;
        let ms = |ns: u64| ns / 1_000_000;
        writeln!(f, "\tTotal GC prep time:  {} milliseconds", ms(prep.wall))?;
        writeln!(f, "\tTotal mark time:  {} milliseconds", ms(mark.wall))?;
        writeln!(f, "\tTotal sweep time:  {} milliseconds", ms(sweep.wall))?;
        writeln!(f, "\tTotal page recovery time:  {} milliseconds", ms(recovery.wall))?;
        write!(f, "\tGrand total GC time:  {} milliseconds", ms(self.0.total().wall))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::phases::Elapsed;

    #[test]
    fn the_five_lines_are_those_of_the_document() {
        let ms = |ms: u64| Elapsed { wall: ms * 1_000_000, cpu: 1 };
        let phases = Phases { prep: ms(107), stop: ms(9), mark: ms(1470), sweep: ms(453), recovery: ms(0) };
        let lines = "\tTotal GC prep time:  107 milliseconds\n\tTotal mark time:  1470 milliseconds\n\
                     \tTotal sweep time:  453 milliseconds\n\tTotal page recovery time:  0 milliseconds\n\
                     \tGrand total GC time:  2030 milliseconds";
        assert_eq!(FiveLines(phases).to_string(), lines);
    }
}
