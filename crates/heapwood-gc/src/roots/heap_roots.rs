//! The roots of a heap, as a program adds and removes them. Invariant: a change waits for no collection, and the next
//! collection knows it.

use crate::error::Refusal;
use crate::heap::Heap;
#[cfg(doc)]
use crate::mutator::switch::MutatorStacks;
use crate::roots::handles::Handle;
use crate::roots::other_stacks::StackRef;
use crate::roots::table::{RootKind, RootToken};
use crate::roots::{Roots, libraries};
use core::ops::Range;
use heapwood_heap::Address;
use heapwood_layout::WORD;

/// The roots of a heap: slots and ranges of words, stacks, the data of libraries, and handles.
#[derive(Clone, Copy)]
pub struct HeapRoots<'h>(&'h Heap);

impl Heap {
    /// Its roots, its stacks and its handles.
    #[inline(always)]
    pub fn roots(&self) -> HeapRoots<'_> {
        HeapRoots(self)
    }
}

impl<'h> HeapRoots<'h> {
    fn all(self) -> &'h Roots {
        self.0.collector().roots()
    }

    /// Makes `words` slots from `slots` roots: each holds null, an address outside the heap, or the address of an
    /// object.
    ///
    /// # Errors
    /// The table of roots is full, or the kernel gives no memory for more of it.
    ///
    /// # Safety
    /// 1. The slots stay readable, and hold such values whenever a collection may run, until the root is removed.
    pub unsafe fn add_slots(self, slots: *const usize, words: usize) -> Result<RootToken, Refusal> {
        self.all().table.lock().add(RootKind::Slots, slots as usize, words)
    }

    /// Makes the words in `start..end` ambiguous roots.
    ///
    /// # Errors
    /// As for [`HeapRoots::add_slots`].
    ///
    /// # Safety
    /// 1. The range stays readable until the root is removed.
    pub unsafe fn add_range(self, start: usize, end: usize) -> Result<RootToken, Refusal> {
        let start = start.next_multiple_of(WORD);
        self.all().table.lock().add(RootKind::Range, start, end.saturating_sub(start) / WORD)
    }

    /// Makes the words in `start..end` ambiguous roots, beside the roots that have tokens: a set of addresses, in which ranges that
    /// overlap or touch are one, and of which any part may be [removed](Self::remove_interval). It takes the logarithm of their number.
    ///
    /// # Errors
    /// There are more than a million ranges, or the kernel gives no memory for more. Nothing has changed.
    ///
    /// # Safety
    /// 1. The range stays readable until it is removed.
    pub unsafe fn add_interval(self, start: usize, end: usize) -> Result<(), Refusal> {
        self.all().table.lock().intervals().add(start..end)
    }

    /// Removes the addresses `start..end` from that set, whichever of them were in it: of a range a piece may stay on both sides.
    ///
    /// # Errors
    /// As for [`add_interval`](Self::add_interval): a piece that is cut out makes two ranges of one.
    pub fn remove_interval(self, start: usize, end: usize) -> Result<(), Refusal> {
        self.all().table.lock().intervals().remove(start..end)
    }

    /// Empties that set.
    pub fn clear_intervals(self) {
        self.all().table.lock().intervals().clear();
    }

    /// The number of ranges in that set.
    pub fn intervals(self) -> usize {
        self.all().table.lock().intervals().ranges()
    }

    /// Registers the stack at these addresses, on which no word is in use yet, for threads to switch to
    /// ([`MutatorStacks::switch`]). Its words in use are ambiguous roots until it is removed.
    ///
    /// # Errors
    /// The addresses are not those of a stack, there are too many stacks, or the kernel gives no memory for more.
    ///
    /// # Safety
    /// 1. The words stay readable until the stack is removed.
    pub unsafe fn add_stack(self, range: Range<usize>) -> Result<StackRef, Refusal> {
        if range.is_empty() || range.start < WORD {
            return Err(Refusal::NoStack);
        }
        self.all().stacks.lock().add(range)
    }

    /// Removes a stack.
    ///
    /// # Errors
    /// A thread is on it, or it was removed before.
    ///
    /// # Safety
    /// 1. This heap registered it.
    pub unsafe fn remove_stack(self, stack: StackRef) -> Result<(), Refusal> {
        self.all().stacks.lock().remove(stack)
    }

    /// Makes the writable data of a library, or of the program, ambiguous roots: the one that holds the address of a
    /// function or variable of its own. They are roots until the root is removed or the library is closed; the next
    /// collection then removes the root. Thread-local variables are not included.
    ///
    /// # Errors
    /// No library holds the address; or as for [`HeapRoots::add_slots`], or the kernel starts no thread.
    pub fn add_library(self, address: usize) -> Result<RootToken, Refusal> {
        // A child that is forked meanwhile would find the loader's lock taken, for good.
        let _no_fork = self.0.state().fork_gate().no_fork();
        // Asks the loader without a lock of this heap, so that no thread with the loader's lock waits for ours.
        let (id, loaded) = libraries::holder(address).ok_or(Refusal::NoLibrary { address })?;
        self.all().use_libraries(self.0.kernel(), false)?;
        self.all().table.lock().add(RootKind::Library, id, loaded)
    }

    /// Makes the writable data of the program and of all its libraries roots, or not those of libraries that are not named: from the
    /// next collection on. The option `library_roots` does so from the beginning.
    ///
    /// # Errors
    /// The kernel gives no memory or starts no thread.
    pub fn set_all_libraries(self, all: bool) -> Result<(), Refusal> {
        if all {
            self.all().use_libraries(self.0.kernel(), true).map_err(Refusal::Kernel)?;
        }
        if let Some(libraries) = &mut *self.all().libraries.lock() {
            libraries.set_all(all);
        }
        Ok(())
    }

    /// Removes all roots that [`HeapRoots::add_library`] has added.
    pub fn forget_libraries(self) {
        self.all().table.lock().forget_libraries();
    }

    /// These addresses are no roots as a library's data.
    ///
    /// # Errors
    /// There are too many such ranges, or the kernel gives no memory or starts no thread.
    pub fn exclude_library_data(self, range: Range<usize>) -> Result<(), Refusal> {
        self.all().use_libraries(self.0.kernel(), false)?;
        self.all().libraries.lock().as_mut().map_or(Ok(()), |libraries| libraries.excluded().add(range))
    }

    /// Forgets all ranges that were excluded.
    pub fn exclude_no_library_data(self) {
        if let Some(libraries) = &mut *self.all().libraries.lock() {
            libraries.excluded().clear();
        }
    }

    /// Removes a root; false if the token names none.
    pub fn remove(self, token: RootToken) -> bool {
        self.all().table.lock().remove(token)
    }

    /// Makes a handle that keeps the object at `object` alive (null for none yet).
    ///
    /// # Errors
    /// The table of handles is full, or the kernel gives no memory for more of it.
    ///
    /// # Safety
    /// 1. `object` is null, an address outside the heap, or that of an object that exists.
    pub unsafe fn new_handle(self, object: Address) -> Result<Handle, Refusal> {
        let handle = self.all().handles.lock().new_handle(object.get())?;
        self.note(handle);
        Ok(handle)
    }

    /// The held handle of this heap whose slot ([`Handle::slot`]) is at an address, if there is one. Takes no lock, and
    /// reads only the heap's memory.
    pub fn held_handle(self, slot: usize) -> Option<Handle> {
        // SAFETY: a handle was at the address, so its slot is there as long as the heap.
        self.all().changed.was_handle(slot).then(|| unsafe { Handle::held_at(slot) }).flatten()
    }

    /// Makes a handle refer to another object, or to none (null).
    ///
    /// # Safety
    /// 1. The handle is this heap's, and held.
    /// 2. As for [`HeapRoots::new_handle`].
    pub unsafe fn set_handle(self, handle: Handle, object: Address) {
        handle.set(object.get());
        self.note(handle);
    }

    fn note(self, handle: Handle) {
        self.all().changed.note(handle);
    }

    /// Frees a handle; false if it is not held.
    pub fn free_handle(self, handle: Handle) -> bool {
        self.all().handles.lock().free_handle(handle)
    }
}
