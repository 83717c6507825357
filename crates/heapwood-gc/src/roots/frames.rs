//! Frames of a shadow stack: slots that a program links while it uses them. Invariant: linked frames and their slots
//! stay readable until their thread unlinks them, in the reverse order.

use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{Ordering, compiler_fence};
use heapwood_os::diagnose::message::corrupt;

/// A frame of the shadow stack: `count` slots that hold null or the address of an object. Clients link frames
/// through [`Mutator::push_frame`](crate::Mutator::push_frame) or inline.
#[repr(C)]
#[derive(Debug)]
pub struct Frame {
    /// The frame below.
    pub prev: *mut Frame,
    /// The number of slots.
    pub count: usize,
    /// The slots.
    pub slots: *mut usize,
}

/// The frames of one thread: a pointer to the topmost, which inline code outside this library writes.
#[repr(transparent)]
pub(crate) struct Frames(Cell<*mut Frame>);

impl Frames {
    pub(crate) const fn new() -> Self {
        Frames(Cell::new(core::ptr::null_mut()))
    }

    /// Links a frame.
    ///
    /// # Safety
    /// 1. The frame and its slots stay readable until it is popped, and frames are popped in the reverse order.
    #[inline]
    pub(crate) unsafe fn push(&self, frame: NonNull<Frame>) {
        // SAFETY: contract 1.
        unsafe { (*frame.as_ptr()).prev = self.0.get() };
        // A signal may stop the thread between any two instructions, so a frame is complete before it is linked.
        compiler_fence(Ordering::Release);
        self.0.set(frame.as_ptr());
    }

    /// Unlinks the topmost frame.
    ///
    /// # Safety
    /// 1. There is one.
    #[inline]
    pub(crate) unsafe fn pop(&self) {
        // SAFETY: contract 1.
        self.0.set(unsafe { (*self.0.get()).prev });
        // The frame's memory is not reused before it is unlinked.
        compiler_fence(Ordering::SeqCst);
    }

    /// Unlinks all.
    pub(crate) fn clear(&self) {
        self.0.set(core::ptr::null_mut());
    }

    /// The linked frames, topmost first; their thread is stopped. A cycle of frames ends the process with a message: a
    /// frame was pushed again before it was popped. (Brent's algorithm finds the cycle: it compares with a frame that
    /// it replaces after 1, 2, 4, .. steps.)
    pub(super) fn iter(&self) -> impl Iterator<Item = &Frame> {
        let (mut at, mut before) = (self.0.get(), core::ptr::null_mut());
        let (mut steps, mut limit) = (0u64, 1u64);
        core::iter::from_fn(move || {
            // SAFETY: linked frames stay readable until they are popped, and their thread is stopped.
            let frame = unsafe { at.as_ref() }?;
            if at == before {
                corrupt(format_args!(
                    "the frame at {at:p} is linked below itself: it was pushed again before it was popped"
                ));
            }
            steps += 1;
            if steps == limit {
                (before, limit) = (at, 2 * limit);
            }
            at = frame.prev;
            Some(frame)
        })
    }
}
