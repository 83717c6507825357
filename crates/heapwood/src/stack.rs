//! Stacks of fibers: registered with a heap, so that what only they refer to survives, and switched to by announcement. The
//! switching itself is the program's, or that of a library for coroutines. Invariant: a stack is registered as long as its
//! [`Stack`] exists.

use crate::heap::{Heap, Inner};
use crate::mutator::Mutator;
use core::fmt;
use core::ops::Range;
use heapwood_gc::{RootError, StackError, StackRef};
use std::sync::Arc;

/// A stack that threads switch to, registered with a heap until this is dropped. It crosses threads as the fiber on it does.
pub struct Stack {
    name: StackRef,
    inner: Arc<Inner>,
}

impl Heap {
    /// Registers a stack for threads to switch to, from its lowest address to one past its highest. Nothing of it is in use yet.
    ///
    /// ```
    /// # use heapwood::{Config, Heap};
    /// # let heap = unsafe { Heap::new(Config::default()) }.unwrap();
    /// let mut memory = vec![0u8; 64 << 10]; // (A program would map it, with a page below that faults.)
    /// // SAFETY: the memory outlives the stack.
    /// let stack = unsafe { heap.add_stack(memory.as_mut_ptr_range()) }.unwrap();
    /// drop(stack);
    /// ```
    ///
    /// # Errors
    /// The range is empty, as many stacks are registered as a heap can have, or there is no memory for more.
    ///
    /// # Safety
    /// 1. The memory stays readable as long as the [`Stack`] exists; and as long as the heap does if that is dropped while a thread
    ///    is on it.
    pub unsafe fn add_stack(&self, range: Range<*mut u8>) -> Result<Stack, RootError> {
        // SAFETY: contract 1.
        let name = unsafe { self.inner.heap.roots().add_stack(range.start as usize..range.end as usize) }?;
        Ok(Stack { name, inner: self.inner.clone() })
    }
}

impl Mutator {
    /// Calls `jump` with the thread's registers on its stack, which it leaves for another: a registered one, or (`None`) that with
    /// which the thread was attached. Returns when somebody has switched back to this stack, perhaps on another thread.
    ///
    /// ```
    /// # use heapwood::{Config, Heap, Mutator, Stack};
    /// /// Lets a fiber run until it comes back.
    /// fn resume(m: &Mutator, fiber: &Stack, swap_contexts: impl FnOnce()) {
    ///     // SAFETY: that goes to the fiber, which comes back by `m.switch_stack(None, ..)`, to this thread.
    ///     unsafe { m.switch_stack(Some(fiber), swap_contexts) }.expect("nobody else runs the fiber")
    /// }
    /// ```
    ///
    /// # Errors
    /// Another thread is on the stack; this one is not on that which it was said to be on; or it is inside
    /// [`Mutator::blocking`]. `jump` was not called.
    ///
    /// # Panics
    /// If the stack is another heap's.
    ///
    /// # Safety
    /// 1. `jump` goes to that stack and does nothing else with heaps; it returns as somebody comes back, who has announced that in
    ///    the same way.
    /// 2. Who comes back may be another thread: then neither this mutator nor a borrow of it is used on this stack any more, but
    ///    that of the other thread, which is attached to the same heap, and the fiber holds nothing that must not cross threads
    ///    ([`Gc`](crate::Gc)s may, to objects whose types are [`Shared`](trait@crate::Shared)).
    /// 3. Nothing unwinds from one stack into another.
    pub unsafe fn switch_stack<R>(
        &self,
        to: Option<&Stack>,
        jump: impl FnOnce() -> R,
    ) -> Result<R, StackError> {
        let to = self.named(to);
        // SAFETY: contract 1; the stack's memory is readable as long as it is registered.
        unsafe { self.raw().stacks().switch(to, jump) }
    }

    /// Announces that the thread is about to go to another stack, for those who push the registers themselves: of the stack that
    /// it is on the words from `lowest` on are in use.
    ///
    /// # Errors
    /// As [`Mutator::switch_stack`].
    ///
    /// # Panics
    /// As [`Mutator::switch_stack`].
    ///
    /// # Safety
    /// 1. What follows the call keeps the contract of [`Mutator::switch_stack`]'s `jump`, and all registers that the thread will
    ///    want back lie at `lowest` or above.
    pub unsafe fn announce_stack(&self, to: Option<&Stack>, lowest: *const u8) -> Result<(), StackError> {
        let to = self.named(to);
        // SAFETY: contract 1.
        unsafe { self.raw().stacks().announce(to, lowest as usize) }
    }

    fn named(&self, stack: Option<&Stack>) -> Option<StackRef> {
        stack.map(|stack| {
            assert!(self.is_of(&stack.inner), "a stack is used with a mutator of another heap");
            stack.name
        })
    }
}

impl Drop for Stack {
    /// # Panics
    /// If a thread is on it: it stays registered then.
    fn drop(&mut self) {
        // SAFETY: this heap registered it, and nobody else removes it.
        let removed = unsafe { self.inner.heap.roots().remove_stack(self.name) };
        if let Err(error) = removed
            && !std::thread::panicking()
        {
            panic!("{error}");
        }
    }
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stack").field(&self.name).finish()
    }
}
