//! Safepoints: where a mutator answers a collector's request to stop, and regions during which it counts as stopped. A thread
//! stops with all its mutators (`thread_record`). Invariant: whenever a collector takes a mutator for stopped, its thread's
//! registers are on its stack, the lowest word of that is noted, and the thread does not touch the heap.

use super::Mutator;
use super::registry::Member;
use super::stop::ThreadState;
use super::thread_record::{Left, ThreadRecord};
use crate::error::MisuseError;
use crate::roots::ThreadStack;
use core::sync::atomic::Ordering;
use heapwood_os::stack;

impl Mutator {
    /// Whether a collector wants this thread stopped.
    #[inline(always)]
    pub(crate) fn is_asked_to_stop(&self) -> bool {
        self.poll.load(Ordering::Relaxed) != 0
    }

    /// Whether a collector of one of its thread's heaps does. A thread that allocates in one heap answers for all; if it has
    /// many, it asks about some each time.
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

    /// The slow half of [`Mutator::safepoint`]. A thread that cannot stop here goes on: one that runs on a stack that its
    /// heap does not know, or is inside a blocking region, or whose mutator this is not.
    #[cold]
    pub fn safepoint_slow(&self) {
        if self.check().is_ok() {
            let _ = self.away(ThreadState::AtSafepoint, || ());
        }
    }

    /// Runs `f`, during which collections go on without this thread: those of all heaps that it is attached to. `f` must not
    /// touch objects of any of them. Regions may nest, and `f` may attach the thread to a heap more.
    ///
    /// # Errors
    /// The mutator cannot be used now, or the thread runs on another stack than that it was attached with. `f` was not
    /// called.
    pub fn blocking<R>(&self, f: impl FnOnce() -> R) -> Result<R, MisuseError> {
        match self.check() {
            Err(MisuseError::InNative) => return Ok(f()),
            other => other?,
        }
        self.away(ThreadState::InNative, f)
    }

    /// Runs `f` while its thread is stopped in all its heaps, but those whose stack is another.
    ///
    /// # Errors
    /// The thread runs on another stack than that it was attached with, whose words are not known to be readable.
    pub(crate) fn away<R>(&self, how: ThreadState, f: impl FnOnce() -> R) -> Result<R, MisuseError> {
        with_registers_pushed(|lowest| {
            let record = self.record();
            if !self.stack.note(lowest) {
                return Err(MisuseError::OtherStack);
            }
            // Asked before it leaves: what it holds is others' to take from then on.
            let holds = how == ThreadState::InNative && record.iter().any(|m| m.owned().holds_something());
            let left = record.leave(how, |other| other.is_stopped_at(lowest, Some(&self.stack), how));
            let _back = Back { record, left };
            if how == ThreadState::InNative {
                record.iter().for_each(|m| m.shared().wakeup().tell(|| holds));
            }
            Ok(f())
        })
    }

    /// Its stack is in use from `lowest` on, if that lies in it; a stack of which nothing but the end is known is that which
    /// the thread is on if `beside` is, and has the same end.
    fn is_stopped_at(&self, lowest: usize, beside: Option<&ThreadStack>, how: ThreadState) -> bool {
        let noted = self.stack.note_beside(lowest, beside);
        if noted && how == ThreadState::InNative {
            self.regions.begin();
            if self.shared().verifies() {
                // So that inline allocation inside the region comes to where it is refused.
                self.flush();
            }
        }
        noted
    }
}

impl ThreadRecord<Mutator> {
    /// Runs `f` while the thread, which is on a stack that is given if it is known, is stopped in all its heaps, but those
    /// whose stack is another.
    pub(crate) fn elsewhere<R>(&self, stack: Option<&ThreadStack>, f: impl FnOnce(Left) -> R) -> R {
        let away = |lowest| {
            let left = self.leave(ThreadState::AtSafepoint, |other| {
                other.is_stopped_at(lowest, stack, ThreadState::AtSafepoint)
            });
            let _back = Back { record: self, left };
            f(left)
        };
        // Nothing of a thread that runs in no heap is scanned from here on.
        if self.is_running() { with_registers_pushed(away) } else { away(usize::MAX) }
    }
}

/// Enters again what was left, whether or not the thread panics.
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
        // The thread was attached to a heap meanwhile, and waits now.
        with_registers_pushed(|lowest| {
            record.leave_too(left, |newer| newer.is_stopped_at(lowest, None, ThreadState::AtSafepoint));
            record.enter(left);
        });
    }
}

/// Calls `f` with the address of the thread's registers, which were pushed onto its stack.
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
