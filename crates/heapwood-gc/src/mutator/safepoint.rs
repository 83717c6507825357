//! Safepoints: where a mutator answers a collector's request to stop, and regions during which it counts as stopped.
//! Invariant: whenever a collector takes a mutator for stopped, its thread's registers are on its stack, the lowest word of
//! that is noted, and the thread does not touch the heap.

use super::Mutator;
use super::stop::Gate;
use crate::error::MisuseError;
use core::sync::atomic::Ordering;
use heapwood_os::stack;

impl Mutator {
    pub(crate) fn gate(&self) -> Gate<'_> {
        Gate::new(&self.poll, &self.state)
    }

    /// Whether a collector wants this thread stopped.
    #[inline(always)]
    pub(crate) fn is_asked_to_stop(&self) -> bool {
        self.poll.load(Ordering::Relaxed) != 0
    }

    /// Stops here if a collector asks for it.
    #[inline(always)]
    pub fn safepoint(&self) {
        if self.is_asked_to_stop() {
            self.safepoint_slow();
        }
    }

    /// The slow half of [`Mutator::safepoint`]. A thread that cannot stop here goes on: one that runs on another stack than
    /// that it was attached with, or is inside a blocking region, or whose mutator this is not.
    #[cold]
    pub fn safepoint_slow(&self) {
        if self.check().is_ok() {
            let _ = self.with_stack(|| self.gate().park());
        }
    }

    /// Runs `f`, during which collections go on without this thread. `f` must not touch objects of the heap.
    /// Regions may nest.
    ///
    /// # Errors
    /// The mutator cannot be used now, or the thread runs on another stack than that it was attached with. `f` was not
    /// called.
    pub fn blocking<R>(&self, f: impl FnOnce() -> R) -> Result<R, MisuseError> {
        match self.check() {
            Err(MisuseError::Blocked) => return Ok(f()),
            other => other?,
        }
        self.with_stack(|| {
            if self.shared().stores().is_some() {
                // So that inline allocation inside the region comes to where it is refused.
                self.flush();
            }
            self.gate().block();
            // A panic must not leave the thread blocked for good.
            struct Unblock<'a>(Gate<'a>);
            impl Drop for Unblock<'_> {
                fn drop(&mut self) {
                    self.0.unblock();
                }
            }
            let _unblock = Unblock(self.gate());
            f()
        })
    }

    /// Runs `f` with the thread's registers on its stack and the stack's lowest word noted.
    ///
    /// # Errors
    /// That is not the stack the thread was attached with: its words are not known to be readable.
    pub(crate) fn with_stack<F: FnOnce() -> R, R>(&self, f: F) -> Result<R, MisuseError> {
        struct Call<'a, F, R> {
            mutator: &'a Mutator,
            f: Option<F>,
            result: Result<R, MisuseError>,
        }
        unsafe extern "C-unwind" fn run<F: FnOnce() -> R, R>(lowest: usize, arg: *mut u8) {
            // SAFETY: the argument is the Call below, which outlives this.
            let call = unsafe { &mut *arg.cast::<Call<'_, F, R>>() };
            if call.mutator.stack.note(lowest)
                && let Some(f) = call.f.take()
            {
                call.result = Ok(f());
            }
        }
        let mut call = Call { mutator: self, f: Some(f), result: Err(MisuseError::OtherStack) };
        // SAFETY: `run` with these types accepts a pointer to `call`.
        unsafe { stack::with_registers(run::<F, R>, (&raw mut call).cast()) };
        call.result
    }
}
