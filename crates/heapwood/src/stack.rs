//! Stacks of fibers. A program registers them with a heap, so that the collector scans them, and announces each switch.
//! The program, or a coroutine library, does the switch itself. Invariant: a stack is registered as long as its
//! [`Stack`] exists.

use crate::heap::{Heap, Inner};
use crate::mutator::Mutator;
use core::fmt;
use core::ops::Range;
use heapwood_gc::{Refusal, StackRef};
use std::sync::Arc;

/// A stack that threads switch to, registered with a heap until this is dropped. It may move between threads with its
/// fiber.
pub struct Stack {
    name: StackRef,
    inner: Arc<Inner>,
}

impl Heap {
    /// Registers a stack for threads to switch to, from its lowest address to one past its highest. The stack must be
    /// empty.
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
    /// The range is empty, the heap has the maximum number of stacks, or there is no memory for another.
    ///
    /// # Safety
    /// 1. The memory stays readable as long as the [`Stack`] exists. If that is dropped while a thread is on it: as
    ///    long as the heap exists.
    pub unsafe fn add_stack(&self, range: Range<*mut u8>) -> Result<Stack, Refusal> {
        // SAFETY: contract 1.
        let name = unsafe { self.inner.heap.roots().add_stack(range.start as usize..range.end as usize) }?;
        Ok(Stack { name, inner: self.inner.clone() })
    }
}

impl Mutator {
    /// Pushes the thread's registers on its stack and calls `jump`, which switches to another stack: a registered one,
    /// or (`None`) the one on which the thread was attached. Returns when a thread, perhaps another one, has switched
    /// back.
    ///
    /// ```
    /// # use heapwood::{Config, Heap, Mutator, Stack};
    /// /// Lets a fiber run until it comes back.
    /// fn resume(m: &Mutator, fiber: &Stack, swap_contexts: impl FnOnce()) {
    ///     // SAFETY: `swap_contexts` switches to the fiber, which returns to this thread by `m.switch_stack(None, ..)`.
    ///     unsafe { m.switch_stack(Some(fiber), swap_contexts) }.expect("no other thread runs the fiber")
    /// }
    /// ```
    ///
    /// # Errors
    /// Another thread is on the stack, this thread is not on the stack that it announced, or it is inside
    /// [`Mutator::blocking`]. `jump` was not called.
    ///
    /// # Panics
    /// If the stack is another heap's.
    ///
    /// # Safety
    /// 1. `jump` switches to that stack and does nothing else with heaps. It returns when a thread switches back, which
    ///    has announced that in the same way.
    /// 2. If another thread switches back, it is attached to the same heap, and the fiber uses that thread's mutator
    ///    from then on, not this one or a borrow of it. The fiber holds nothing that must not cross threads
    ///    ([`Gc`](crate::Gc)s may, to objects whose types are [`Shared`](trait@crate::Shared)).
    /// 3. Nothing unwinds from one stack into another.
    pub unsafe fn switch_stack<R>(&self, to: Option<&Stack>, jump: impl FnOnce() -> R) -> Result<R, Refusal> {
        let to = self.named(to);
        // SAFETY: contract 1; the stack's memory is readable as long as it is registered.
        unsafe { self.raw().stacks().switch(to, jump) }
    }

    /// Announces a switch to another stack, for programs that save the registers themselves. The words of the current
    /// stack from `lowest` on are in use.
    ///
    /// # Errors
    /// As [`Mutator::switch_stack`].
    ///
    /// # Panics
    /// As [`Mutator::switch_stack`].
    ///
    /// # Safety
    /// 1. The code after the call follows the contract of `jump` in [`Mutator::switch_stack`], and all saved registers
    ///    lie at `lowest` or above.
    pub unsafe fn announce_stack(&self, to: Option<&Stack>, lowest: *const u8) -> Result<(), Refusal> {
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
    /// If a thread is on the stack. It stays registered then.
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
