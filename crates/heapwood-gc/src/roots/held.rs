//! Held objects: the program makes an object a root by its address alone, and lets it go by it (libgc's uncollectable objects).
//! Invariant: only an object that exists is held; a free lets it go.

use crate::error::Refusal;
use crate::mutator::Mutator;
use core::ptr::NonNull;
use heapwood_heap::{Address, ObjectRef, publication};

impl Mutator {
    /// Holds an object: it is a root until it is [released](Mutator::release_held) or freed. Whether it was not held before.
    ///
    /// # Errors
    /// No object begins there, or it lies in an arena; the kernel gives no memory for the record of held objects; or the mutator
    /// cannot be used now.
    pub fn hold(&self, object: NonNull<u8>) -> Result<bool, Refusal> {
        self.check()?;
        self.begin_holding()?;
        let _no_preempt = self.record().no_preempt();
        let object = self.beginning_at(object)?;
        // SAFETY: it exists, and this thread is not stopped.
        Ok(unsafe { self.shared().space().hold(object) })
    }

    /// Lets a held object go, which lives on as long as something leads to it. Whether it was held.
    ///
    /// # Errors
    /// No object begins there, or it lies in an arena; or the mutator cannot be used now.
    pub fn release_held(&self, object: NonNull<u8>) -> Result<bool, Refusal> {
        self.check()?;
        let _no_preempt = self.record().no_preempt();
        let object = self.beginning_at(object)?;
        // SAFETY: as above.
        Ok(unsafe { self.shared().space().release_held(object) })
    }

    /// The object that begins at an address. In a no-preempt region of the mutator's thread.
    fn beginning_at(&self, object: NonNull<u8>) -> Result<ObjectRef, Refusal> {
        publication::observe();
        let address = object.as_ptr() as usize;
        let found = self.owned().find(Address::new(address)).map(|found| found.base);
        found.filter(|base| base.get() == address).ok_or(Refusal::CannotHold { address })
    }

    fn begin_holding(&self) -> Result<(), heapwood_os::OsError> {
        let _no_preempt = self.record().no_preempt();
        self.shared().space().begin_holding()
    }
}
