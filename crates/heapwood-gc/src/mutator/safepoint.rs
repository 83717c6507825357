//! Safepoints, at which a mutator answers a collector's request to stop, and blocking regions, during which it counts
//! as stopped. A thread stops with all its mutators (`thread_record`). Invariant: while a collector takes a mutator for
//! stopped, its thread's registers are on its stack, the lowest word in use is noted, and the thread does not touch the
//! heap.

use super::Mutator;
use super::registry::Member;
use super::stop::ThreadState;
use super::thread_record::{Left, ThreadRecord};
use crate::error::Misuse;
use crate::roots::ThreadStack;
use core::sync::atomic::Ordering;
use heapwood_os::threads::stack;

impl Mutator {
    /// Whether a collector wants this thread stopped.
    #[inline(always)]
    pub(crate) fn is_asked_to_stop(&self) -> bool {
        self.poll.load(Ordering::Relaxed) != 0
    }

    /// Whether a collector of one of its thread's heaps wants it stopped: a thread that allocates in one heap answers
    /// for all. Of many heaps it asks some each time.
    #[inline]
    pub(crate) fn is_thread_asked_to_stop(&self) -> bool {
        self.is_asked_to_stop() || self.record().any_in_turn(Mutator::is_asked_to_stop)
    }

    /// Stops here if a collector asks for it.
    #[inline(always)]
    pub fn safepoint(&self) {
        if self.is_asked_to_stop() {
            self.safepoint_slow();
        }
    }

    /// The slow path of [`Mutator::safepoint`]. A thread that cannot stop here goes on: one on a stack that its heap
    /// does not know, or inside a blocking region, or with another thread's mutator.
    #[cold]
    pub fn safepoint_slow(&self) {
        if self.check().is_ok() {
            let _ = self.away(ThreadState::AtSafepoint, || ());
        }
    }

    /// Runs `f` while collections go on without this thread, in all heaps to which it is attached. `f` must not touch
    /// objects of these heaps. Regions may nest, and `f` may attach the thread to another heap.
    ///
    /// # Errors
    /// The mutator cannot be used now, or the thread runs on another stack than that with which it was attached. `f`
    /// was not called.
    pub fn blocking<R>(&self, f: impl FnOnce() -> R) -> Result<R, Misuse> {
        match self.check() {
            Err(Misuse::InNative) => return Ok(f()),
            other => other?,
        }
        self.away(ThreadState::InNative, f)
    }

    /// Runs `f` in the middle of a blocking region as if that had ended: `f` may use the heaps that the thread left with this
    /// one, and enter regions again. Afterwards the region goes on. The words of its functions are roots while `f` runs, and
    /// those of the functions around it all the time. Outside of a region this only runs `f`.
    ///
    /// # Errors
    /// The mutator cannot be used now for another reason; the thread was attached to another heap since the region began, or
    /// began one there; or it is not on the stack on which the region began, deeper than there. `f` was not called.
    pub fn reenter<R>(&self, f: impl FnOnce() -> R) -> Result<R, Misuse> {
        match self.check() {
            Ok(()) => return Ok(f()),
            Err(Misuse::InNative) => {}
            Err(other) => return Err(other),
        }
        let (record, stack) = (self.record(), self.thread.stack());
        let left = record.left_with(self, ThreadState::InNative).ok_or(Misuse::InNative)?;
        let here = with_registers_pushed(|lowest| lowest);
        let lowest = stack.noted().filter(|&noted| stack.is_deeper(here, noted)).ok_or(Misuse::OtherStack)?;
        record.enter(left);
        let _again = Again { mutator: self, lowest };
        Ok(f())
    }

    /// Runs `f` while its thread is stopped in all its heaps, except those that know another stack of it.
    ///
    /// # Errors
    /// The thread runs on another stack than that with which it was attached; its words may be unreadable.
    pub(crate) fn away<R>(&self, how: ThreadState, f: impl FnOnce() -> R) -> Result<R, Misuse> {
        with_registers_pushed(|lowest| {
            let record = self.record();
            if !self.thread.stack().note(lowest) {
                return Err(Misuse::OtherStack);
            }
            // Asked before the thread leaves: other threads may take its cached memory afterwards.
            let holds = how == ThreadState::InNative && record.iter().any(|m| m.owned().holds_something());
            let left = record.leave(how, |other| other.is_stopped_at(lowest, Some(self.thread.stack()), how));
            let _back = Back { record, left };
            if how == ThreadState::InNative {
                record.iter().for_each(|m| m.shared().wakeup().mutator_left(|| holds));
            }
            Ok(f())
        })
    }

    /// Notes that its stack is in use from `lowest` on; false if that does not lie in it. If only the end of its stack
    /// is known, the thread is on it if the stack `beside` has the same end.
    fn is_stopped_at(&self, lowest: usize, beside: Option<&ThreadStack>, how: ThreadState) -> bool {
        let noted = self.thread.stack().note_beside(lowest, beside);
        if noted && how == ThreadState::InNative {
            self.thread.regions().begin();
            if self.shared().verifies() {
                // So that inline allocation inside the region reaches the slow path, which reports the misuse.
                self.flush();
            }
        }
        noted
    }
}

impl ThreadRecord<Mutator> {
    /// Runs `f` while the thread is stopped in all its heaps, except those that know another stack of it. `stack` is
    /// the thread's current stack, if it is known.
    pub(crate) fn elsewhere<R>(&self, stack: Option<&ThreadStack>, f: impl FnOnce(Left) -> R) -> R {
        let away = |lowest| {
            let left = self.leave(ThreadState::AtSafepoint, |other| {
                other.is_stopped_at(lowest, stack, ThreadState::AtSafepoint)
            });
            let _back = Back { record: self, left };
            f(left)
        };
        // A thread that runs in no heap has no words to scan from here on.
        if self.is_running() { with_registers_pushed(away) } else { away(usize::MAX) }
    }
}

/// Goes on with a blocking region, even if the thread panics. The words in use are those from where the region began.
struct Again<'m> {
    mutator: &'m Mutator,
    lowest: usize,
}

impl Drop for Again<'_> {
    fn drop(&mut self) {
        let Again { mutator, lowest } = *self;
        let (record, how) = (mutator.record(), ThreadState::InNative);
        let holds = record.iter().any(|m| m.owned().holds_something());
        // The region's own end enters them.
        let _ = record.leave(how, |other| other.is_stopped_at(lowest, Some(mutator.thread.stack()), how));
        record.iter().for_each(|m| m.shared().wakeup().mutator_left(|| holds));
    }
}

/// Enters the left heaps again, even if the thread panics.
struct Back<'r> {
    record: &'r ThreadRecord<Mutator>,
    left: Left,
}

impl Drop for Back<'_> {
    fn drop(&mut self) {
        let Back { record, left } = *self;
        if !record.is_running() {
            return record.enter(left);
        }
        // The thread was attached to another heap meanwhile; it leaves that, too, while it waits.
        with_registers_pushed(|lowest| {
            record.leave_too(left, |newer| newer.is_stopped_at(lowest, None, ThreadState::AtSafepoint));
            record.enter(left);
        });
    }
}

/// Pushes the thread's registers onto its stack and calls `f` with their address.
pub(super) fn with_registers_pushed<F: FnOnce(usize) -> R, R>(f: F) -> R {
    struct Call<F, R> {
        f: Option<F>,
        result: Option<R>,
    }
    unsafe extern "C-unwind" fn run<F: FnOnce(usize) -> R, R>(lowest: usize, arg: *mut u8) {
        // SAFETY: the argument is the Call below, which outlives this.
        let call = unsafe { &mut *arg.cast::<Call<F, R>>() };
        call.result = call.f.take().map(|f| f(lowest));
    }
    let mut call = Call { f: Some(f), result: None };
    // SAFETY: `run` with these types accepts a pointer to `call`.
    unsafe { stack::with_registers(run::<F, R>, (&raw mut call).cast()) };
    call.result.expect("run calls f")
}
