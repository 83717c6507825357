//! The totals of phases that heaps report when they end, in the words of D's collector. A program may leave its heaps
//! to the end of the process, as C programs and heaps in a `static` do; for these the C library calls a function at
//! exit. Other threads may still run then, and the exiting thread may be anywhere: so the function reads only atomics,
//! takes no lock, and frees nothing.
//!
//! A process has one list of such heaps, because nothing else leads to a heap at exit. Invariant: a heap on the list
//! exists. A heap leaves the list before it goes, and waits if it is being reported.

use super::phases::{PhaseClock, Phases};
use core::fmt::{self, Display};
use core::ptr::{from_ref, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use heapwood_heap::ReclaimClock;
use heapwood_os::diagnose::message::write_line;
use heapwood_os::process::exit::at_exit;

/// The most heaps on the list. Others report only when they end.
const MOST: usize = 64;

/// The list. The function at exit sets the lowest bit of an address while it reports that heap.
static LIST: [AtomicPtr<Totals>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];

/// Whether the function at exit was registered.
static ASKED: AtomicBool = AtomicBool::new(false);

/// The totals of a heap; it reports them only if it is on the list.
pub(crate) struct Totals {
    clock: PhaseClock,
    /// The clock of its space; null if nothing is to be reported, or has been.
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

    /// Registers the totals, to be reported when the process exits, if not before.
    ///
    /// # Safety
    /// 1. Both stay in place, and exist, until [`Totals::end`] has returned.
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

    /// Reports the totals, if that is due and was not done: the heap ends.
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

    /// Reports the totals on the first call.
    fn tell(&self) {
        let reclaim = self.reclaim.swap(null_mut(), Ordering::AcqRel);
        // SAFETY: it exists until the heap has ended (contract of `report_at_exit`), and the heap waits for a report at
        // exit.
        let Some(reclaim) = (unsafe { reclaim.as_ref() }) else { return };
        write_line(format_args!("{}", FiveLines(self.clock.phases(&reclaim.times()))));
    }
}

fn marked(totals: *mut Totals) -> *mut Totals {
    totals.map_addr(|address| address | 1)
}

/// Reports the totals of all heaps on the list, and takes them off it.
extern "C" fn report_all() {
    for entry in &LIST {
        let totals = entry.load(Ordering::Acquire);
        let free = totals.is_null() || totals == marked(totals);
        if free
            || entry.compare_exchange(totals, marked(totals), Ordering::AcqRel, Ordering::Relaxed).is_err()
        {
            continue;
        }
        // SAFETY: a heap on the list exists, and the mark keeps it there.
        unsafe { &*totals }.tell();
        entry.store(null_mut(), Ordering::Release);
    }
}

/// The phases as D's collector reports them.
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
