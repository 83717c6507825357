//! Stack switches: a thread switches to the stack of a fiber or a coroutine, and back. It announces each switch, so
//! that a collection knows the words in use of the stack it leaves, and the stack it goes to. Invariant: a stack is
//! announced as left only with the thread's registers on it.

use super::Mutator;
use super::safepoint::with_registers_pushed;
use crate::error::Refusal;
use crate::roots::StackRef;
use core::sync::atomic::AtomicUsize;

/// The stacks that a mutator's thread switches between.
#[derive(Clone, Copy)]
pub struct MutatorStacks<'m>(&'m Mutator);

impl Mutator {
    /// The stacks that its thread switches between.
    #[inline(always)]
    pub fn stacks(&self) -> MutatorStacks<'_> {
        MutatorStacks(self)
    }
}

impl MutatorStacks<'_> {
    /// Pushes the thread's registers and calls `jump`, which leaves the stack for another (`None`: the stack with which
    /// the thread was attached). It returns when somebody switches back, perhaps on another thread: so do not use the
    /// mutator afterwards unless you know that the thread is the same.
    ///
    /// # Errors
    /// Another thread is on the stack, the stack was removed, the thread is not on the stack that was announced, or the
    /// mutator cannot be used now. `jump` was not called.
    ///
    /// # Safety
    /// 1. `jump` leaves the stack for `to` before anything else is announced for this thread, and returns when somebody
    ///    has announced a switch back and made it. The words of each stack stay readable while it is registered.
    pub unsafe fn switch<R>(self, to: Option<StackRef>, jump: impl FnOnce() -> R) -> Result<R, Refusal> {
        with_registers_pushed(|lowest| {
            // SAFETY: the registers were pushed, and `jump` leaves the stack as contract 1 requires.
            unsafe { self.announce(to, lowest) }?;
            Ok(jump())
        })
    }

    /// Announces that the thread is about to switch to a stack (`None`: that with which it was attached), and that the
    /// words of its current stack from `lowest` on are in use. Until it has switched it may be stopped on either.
    ///
    /// # Errors
    /// As for [`MutatorStacks::switch`].
    ///
    /// # Safety
    /// 1. As for [`MutatorStacks::switch`], for the code after the call; and the registers that the thread will need
    ///    again lie at `lowest` or above.
    pub unsafe fn announce(self, to: Option<StackRef>, lowest: usize) -> Result<(), Refusal> {
        self.0.check()?;
        self.0.thread.stack().switch(to, lowest)
    }

    /// Lets the thread run on any stack without an announcement, if this word holds one past the stack's highest word whenever
    /// it does. The program writes the word before the thread switches, and may be stopped in between (`None`: no more such
    /// stacks). The words of stacks that the thread has left are not roots by this.
    ///
    /// # Errors
    /// The mutator cannot be used now.
    ///
    /// # Safety
    /// 1. The word stays readable until another is set or the thread is detached; it is written by this thread, or while it is
    ///    in a blocking region.
    /// 2. All words from the thread's stack pointer to the stack's end are readable.
    pub unsafe fn follow_bottom(self, word: Option<&AtomicUsize>) -> Result<(), Refusal> {
        self.0.check()?;
        let word = word.map_or(core::ptr::null(), core::ptr::from_ref);
        // SAFETY: contract 1.
        unsafe { self.0.thread.stack().moving().follow(word) };
        Ok(())
    }
}
