//! A thread switches stacks: to a fiber's, a coroutine's, and back to its own. Each switch is announced, so that a collection finds
//! the words in use of the stack that is left, and knows the one that is gone to. Invariant: a stack is announced as left only
//! with the thread's registers on it.

use super::Mutator;
use super::safepoint::with_registers_pushed;
use crate::error::StackError;
use crate::roots::StackRef;

impl Mutator {
    /// Calls `jump` with the thread's registers on its stack, where it is to leave that for another (`None`: the stack that it was
    /// attached with), and returns when somebody switches back to it: on another thread, perhaps, so the mutator is not to be used
    /// afterwards unless it is known to be the same.
    ///
    /// # Errors
    /// Another thread is on the stack, it was removed, the thread is not on the stack that it was said to be on, or the mutator
    /// cannot be used now. `jump` was not called.
    ///
    /// # Safety
    /// 1. `jump` leaves the stack for `to` before anything else is announced for this thread, and returns as somebody switches back
    ///    to it, having announced that. The words of each stack stay readable while it is registered.
    pub unsafe fn switch_stack<R>(
        &self,
        to: Option<StackRef>,
        jump: impl FnOnce() -> R,
    ) -> Result<R, StackError> {
        with_registers_pushed(|lowest| {
            // SAFETY: the registers were pushed, and `jump` leaves the stack as contract 1 has it.
            unsafe { self.announce_stack(to, lowest) }?;
            Ok(jump())
        })
    }

    /// Announces that the thread is about to switch to a stack (`None`: that which it was attached with), and that of the one that it
    /// leaves the words from `lowest` on are in use. Until it has switched it may be stopped on either.
    ///
    /// # Errors
    /// As [`Mutator::switch_stack`].
    ///
    /// # Safety
    /// 1. As [`Mutator::switch_stack`]'s, for what follows the call; and the registers that the thread will want back lie at
    ///    `lowest` or above.
    pub unsafe fn announce_stack(&self, to: Option<StackRef>, lowest: usize) -> Result<(), StackError> {
        self.check().map_err(StackError::Misuse)?;
        self.stack.switch(to, lowest)
    }
}
