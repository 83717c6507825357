//! Frames of a shadow stack: slots that a program links while it uses them. Most of a deep stack does not change between two
//! collections. Where a program promises that, for a *fixed* frame, a young collection stops at the first frame that the
//! last collection has noted: as long as it stays linked no frame below it was the topmost, so their slots still hold what
//! they held then, and that is old. (Cheng, Harper and Lee, "Generational stack collection and profile-driven
//! pretenuring", 1998, mark some frames to the same end.) No instruction is added to pushing and popping.
//!
//! Invariants: linked frames and their slots stay readable until their thread unlinks them, in the reverse order. A noted
//! frame is fixed, as are all frames below it, which are noted, too.

use super::readable::Readable;
use core::cell::Cell;
use core::fmt;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{Ordering, compiler_fence};
use heapwood_heap::Collection;
use heapwood_layout::WORD;
use heapwood_os::diagnose::message::corrupt;

/// A frame of the shadow stack: `count` slots that hold null or the address of an object. Clients link frames
/// through [`Frames::push`] or inline.
#[repr(C)]
#[derive(Debug)]
pub struct Frame {
    /// The frame below.
    pub prev: *mut Frame,
    /// The number of slots.
    pub count: usize,
    /// The slots; in a linked frame that is fixed, with bits of the collector in it.
    pub slots: *mut usize,
}

/// The bit that a collection sets in the slots' address of a fixed frame. A push clears it.
const NOTED: usize = 2;

impl Frame {
    /// The bit that the slots' address of a fixed frame has, for clients that link frames inline.
    pub const FIXED: usize = 1;

    fn slots(&self) -> Range<usize> {
        let start = self.slots as usize & !(Self::FIXED | NOTED);
        start..start + self.count * WORD
    }

    fn is_fixed(&self) -> bool {
        self.slots as usize & Self::FIXED != 0
    }

    fn is_noted(&self) -> bool {
        self.slots as usize & (Self::FIXED | NOTED) == Self::FIXED | NOTED
    }
}

/// The frames of one thread: a pointer to the topmost, which inline code outside this library writes.
#[repr(transparent)]
pub struct Frames(Cell<*mut Frame>);

impl Frames {
    pub(crate) const fn new() -> Self {
        Frames(Cell::new(core::ptr::null_mut()))
    }

    /// Links a frame.
    ///
    /// # Safety
    /// 1. The frame and its slots stay readable until it is popped, and the frame writable; the slots are aligned, and hold
    ///    null or objects' addresses.
    /// 2. Frames are popped in the reverse order.
    #[inline]
    pub unsafe fn push(&self, frame: NonNull<Frame>) {
        // SAFETY: the contract is passed on.
        unsafe { self.push_with(frame, 0) };
    }

    /// Links a frame with these bits in its slots' address, and none from an earlier use.
    ///
    /// # Safety
    /// 1. As for [`Frames::push`].
    #[inline(always)]
    unsafe fn push_with(&self, frame: NonNull<Frame>, bits: usize) {
        // SAFETY: contract 1.
        unsafe {
            let frame = frame.as_ptr();
            (*frame).slots = (*frame).slots.map_addr(|slots| slots & !(Frame::FIXED | NOTED) | bits);
            (*frame).prev = self.0.get();
        }
        // A signal may stop the thread between any two instructions, so a frame is complete before it is linked.
        compiler_fence(Ordering::Release);
        self.0.set(frame.as_ptr());
    }

    /// Links a fixed frame: young collections need not look again at its slots while they cannot have changed.
    ///
    /// # Safety
    /// 1. As for [`Frames::push`].
    /// 2. Until it is popped, its slots change only while it is the topmost frame, except to null, and its count only then.
    ///    Nobody else reads or writes its memory.
    #[inline]
    pub unsafe fn push_fixed(&self, frame: NonNull<Frame>) {
        // SAFETY: the contract is passed on.
        unsafe { self.push_with(frame, Frame::FIXED) };
    }

    /// Unlinks the topmost frame.
    ///
    /// # Safety
    /// 1. There is one.
    #[inline]
    pub unsafe fn pop(&self) {
        // SAFETY: contract 1.
        self.0.set(unsafe { (*self.0.get()).prev });
        // The frame's memory is not reused before it is unlinked.
        compiler_fence(Ordering::SeqCst);
    }

    /// Unlinks all.
    pub(crate) fn clear(&self) {
        self.0.set(core::ptr::null_mut());
    }

    /// Calls `f` with the slots of each frame that a collection scans; their thread is stopped.
    pub(super) fn for_each(&self, kind: Collection, mut f: impl FnMut(Range<usize>)) {
        for frame in self.iter() {
            // SAFETY: linked frames stay readable until they are popped.
            let frame = unsafe { frame.as_ref() };
            // The first noted frame may have been the topmost since, those below it were not.
            let is_last = kind == Collection::Young && frame.is_noted();
            f(frame.slots());
            if is_last {
                return;
            }
        }
    }

    /// Notes the fixed frames below which all are fixed; their thread is stopped, and all objects are old.
    pub(crate) fn note(&self) {
        let is_noted = |frame: &NonNull<Frame>| {
            // SAFETY: linked frames stay readable until they are popped.
            unsafe { frame.as_ref() }.is_noted()
        };
        let mut first: Option<NonNull<Frame>> = None;
        for frame in self.iter().take_while(|frame| !is_noted(frame)) {
            // SAFETY: as above.
            let is_fixed = unsafe { frame.as_ref() }.is_fixed();
            first = first.or(Some(frame)).filter(|_| is_fixed);
        }
        let first = first.map_or(core::ptr::null_mut(), NonNull::as_ptr);
        for frame in Self::iter_from(first, |_| {}).take_while(|frame| !is_noted(frame)) {
            // SAFETY: the thread has written the fixed frame to link it, and is stopped.
            unsafe {
                let slots = &raw mut (*frame.as_ptr()).slots;
                *slots = (*slots).map_addr(|slots| slots | NOTED);
            }
        }
    }

    /// In verify mode: ends the process at a linked frame that is none any more, for its function has returned. Of the thread's stack,
    /// which is stopped, these addresses are not in use.
    pub(super) fn check(&self, unused: Range<usize>, memory: &mut Readable) {
        let left = |frame: NonNull<Frame>, why: fmt::Arguments<'_>| -> ! {
            corrupt(format_args!(
                "the frame at {frame:p} {why}: its function has returned, or was left by longjmp, while the frame was linked; unlink it \
                 before (hw_frame_pop), and after longjmp store back what m->frames was at setjmp"
            ))
        };
        let frames = Self::iter_from(self.0.get(), |frame| {
            let at = frame.as_ptr() as usize;
            if unused.contains(&at) {
                left(
                    frame,
                    format_args!(
                        "lies below {:#x}, the lowest word of its thread's stack in use",
                        unused.end
                    ),
                );
            }
            if !frame.is_aligned() || memory.first_not(at..at.saturating_add(size_of::<Frame>())).is_some() {
                left(frame, format_args!("cannot be read"));
            }
        });
        let mut slots = Readable::default();
        for frame in frames {
            // SAFETY: it was looked at, and its thread is stopped.
            let &Frame { count, slots: start, .. } = unsafe { frame.as_ref() };
            let start = start as usize & !(Frame::FIXED | NOTED);
            let end = count.checked_mul(WORD).and_then(|bytes| start.checked_add(bytes));
            if end.is_none_or(|end| slots.first_not(start..end).is_some()) {
                left(frame, format_args!("has {count} slots from {start:#x} on, which cannot be read"));
            }
        }
    }

    /// The linked frames, topmost first; their thread is stopped.
    fn iter(&self) -> impl Iterator<Item = NonNull<Frame>> {
        Self::iter_from(self.0.get(), |_| {})
    }

    /// The frames from one on. A cycle of frames ends the process with a message: a frame was pushed again before it was
    /// popped. (Brent's algorithm finds the cycle: it compares with a frame that it replaces after 1, 2, 4, .. steps.) Each is passed
    /// to `look` before it is read.
    fn iter_from(
        frame: *mut Frame,
        mut look: impl FnMut(NonNull<Frame>),
    ) -> impl Iterator<Item = NonNull<Frame>> {
        let (mut at, mut before) = (frame, core::ptr::null_mut());
        let (mut steps, mut limit) = (0u64, 1u64);
        core::iter::from_fn(move || {
            let frame = NonNull::new(at)?;
            if at == before {
                corrupt(format_args!(
                    "the frame at {at:p} is linked below itself: it was pushed again before it was popped"
                ));
            }
            steps += 1;
            if steps == limit {
                (before, limit) = (at, 2 * limit);
            }
            look(frame);
            // SAFETY: linked frames stay readable until they are popped, and their thread is stopped.
            at = unsafe { frame.as_ref() }.prev;
            Some(frame)
        })
    }
}
