//! Looks at the objects of a heap while its threads are stopped: a walk over all of them, and the path that keeps one alive; and what
//! reports of verify mode say of an object. Invariant: it changes nothing of the heap but what a sweep
//! would.

use crate::error::{MisuseError, WhyAliveError};
use crate::mutator::{Mutator, ThreadState};
use crate::observe::Origin;
use core::fmt::Write;
use core::ptr::NonNull;
use heapwood_heap::{ObjectRef, ShapeId};

impl Mutator {
    /// Calls `f` with each object of the heap that no collection has found dead, its bytes, and its shape if the heap knows one: that
    /// of its layout and size class. Values in arenas are left out. Other threads are stopped meanwhile, and this one is refused in
    /// all heaps. It waits for a collection that is under way, so others may come before it; it counts as none. `f` is brief, waits
    /// for no thread and does not unwind; with stops by signals it does only what a signal handler may.
    ///
    /// # Errors
    /// The mutator cannot be used now ([`Mutator::check`]).
    pub fn walk(&self, f: &mut dyn FnMut(ObjectRef, usize, Option<ShapeId>)) -> Result<(), MisuseError> {
        self.check()?;
        self.away(ThreadState::AtSafepoint, || {
            let collector = self.heap().collector();
            collector.walk(self.shared(), &collector.turn(), f);
        })
    }

    /// Writes why an object is alive: a shortest path from a root, in lines, the object first; or that no root leads to it. In verify
    /// mode it names types, and the places that allocated. The text may have no room for all. Threads are stopped and collections
    /// waited for as in [`Mutator::walk`]; trace functions and root functions are called.
    ///
    /// # Errors
    /// No object begins there; the kernel refuses memory for a walk over the heap; or the mutator cannot be used now.
    pub fn why_alive(&self, object: usize, text: &mut dyn Write) -> Result<(), WhyAliveError> {
        self.check().map_err(WhyAliveError::Misuse)?;
        if self.find(object).is_none_or(|found| found.base.get() != object) {
            return Err(WhyAliveError::NoObject { address: object });
        }
        let answer = self.away(ThreadState::AtSafepoint, || {
            let (heap, collector) = (self.heap(), self.heap().collector());
            collector.why_alive(heap.kernel(), self.shared(), &collector.turn(), object, text)
        });
        answer.map_err(WhyAliveError::Misuse)?.map_err(WhyAliveError::Kernel)
    }

    /// In verify mode, notes where an object comes from that was made just now, for reports. Otherwise it does nothing.
    ///
    /// # Safety
    /// 1. The name is a text that stays readable as long as the heap.
    #[inline]
    pub unsafe fn note_origin(&self, object: NonNull<u8>, origin: Origin) {
        if let Some(verify) = self.heap().collector().verify() {
            verify.births().note(self.heap().space(), object.as_ptr() as usize, origin);
        }
    }

    /// In verify mode, the bytes that the program asked for when it made the object that begins there, if what is behind them is
    /// filled; otherwise `None`.
    pub fn asked_bytes(&self, object: ObjectRef) -> Option<usize> {
        self.heap().collector().verify()?.births().asked(object.get())
    }
}
