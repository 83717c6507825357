//! Root slots and frames with guards. Invariant: a root is registered as long as its guard exists.

use crate::objects::extend_list;
use core::ptr::NonNull;
use heapwood_gc::{Frame, Handle, Heap, Mutator, ObjectType, Refusal, RootToken};
use heapwood_heap::Address;

/// Registered precise roots.
pub struct Slots<'h> {
    words: Box<[usize]>,
    token: RootToken,
    heap: &'h Heap,
}

impl<'h> Slots<'h> {
    pub fn new(heap: &'h Heap, n: usize) -> Self {
        Self::try_new(heap, n).unwrap()
    }

    pub fn try_new(heap: &'h Heap, n: usize) -> Result<Self, Refusal> {
        let words = vec![0; n].into_boxed_slice();
        // SAFETY: the words live in a box of their own until the root is removed in `drop`.
        let token = unsafe { heap.roots().add_slots(words.as_ptr(), n) }?;
        Ok(Slots { words, token, heap })
    }

    pub fn set(&mut self, i: usize, object: usize) {
        // SAFETY: a word of the box; volatile, since the collector reads it.
        unsafe { (&raw mut self.words[i]).write_volatile(object) };
    }

    pub fn get(&self, i: usize) -> usize {
        self.words[i]
    }

    /// Puts nodes in front of the list whose head is in slot `i`: see [`extend_list`].
    pub fn extend_list(&mut self, i: usize, mutator: &Mutator, node: ObjectType, n: usize, seed: usize) {
        extend_list(mutator, node, n, seed, |head| {
            head.inspect(|&head| self.set(i, head));
            self.get(i)
        });
    }
}

impl Drop for Slots<'_> {
    fn drop(&mut self) {
        assert!(self.heap.roots().remove(self.token));
    }
}

/// A frame of the shadow stack with `N` slots, popped when dropped.
pub struct Framed<'m, const N: usize> {
    mutator: &'m Mutator,
    _frame: Box<Frame>,
    /// The way to the slots, as the frame was given it.
    at: *mut usize,
    _slots: Box<[usize; N]>,
}

impl<'m, const N: usize> Framed<'m, N> {
    pub fn new(mutator: &'m Mutator) -> Self {
        // SAFETY: the frame is popped in `drop`; guards are dropped in reverse order.
        Self::linked(mutator, |frame| unsafe { mutator.frames().push(frame) })
    }

    /// A fixed frame: its slots are set only while it is the topmost.
    pub fn fixed(mutator: &'m Mutator) -> Self {
        // SAFETY: as above; the tests keep to the rule.
        Self::linked(mutator, |frame| unsafe { mutator.frames().push_fixed(frame) })
    }

    /// Frame and slots live in boxes until `drop`.
    fn linked(mutator: &'m Mutator, push: impl FnOnce(NonNull<Frame>)) -> Self {
        let mut slots = Box::new([0; N]);
        let at = slots.as_mut_ptr();
        let mut frame = Box::new(Frame { prev: core::ptr::null_mut(), count: N, slots: at });
        push(NonNull::from(&mut *frame));
        Framed { mutator, _frame: frame, at, _slots: slots }
    }

    pub fn set(&mut self, i: usize, object: usize) {
        assert!(i < N);
        // SAFETY: a slot of this frame.
        unsafe { self.at.add(i).write_volatile(object) };
    }

    pub fn get(&self, i: usize) -> usize {
        assert!(i < N);
        // SAFETY: a slot of this frame.
        unsafe { self.at.add(i).read_volatile() }
    }

    /// Puts nodes in front of the list whose head is in slot `i`: see [`extend_list`].
    pub fn extend_list(&mut self, i: usize, node: ObjectType, n: usize, seed: usize) {
        extend_list(self.mutator, node, n, seed, |head| {
            head.inspect(|&head| self.set(i, head));
            self.get(i)
        });
    }
}

impl<const N: usize> Drop for Framed<'_, N> {
    fn drop(&mut self) {
        // SAFETY: pushed in `new`, and the topmost.
        unsafe { self.mutator.frames().pop() };
    }
}

/// Makes a handle for an object, or for none.
pub fn handle(heap: &Heap, object: usize) -> Result<Handle, Refusal> {
    // SAFETY: the tests pass 0 and addresses of objects that exist.
    unsafe { heap.roots().new_handle(Address::new(object)) }
}
