//! Finalisers of data outside the heap, as a program registers and takes them. Any thread may take them, attached or not, for no
//! object is given. Invariant: a call that fails changes nothing.

use crate::error::{FinalizeError, MisuseError};
use crate::heap::Heap;
use crate::mutator::Mutator;
use crate::process::record;
use crate::state::{AddError, CancelError};
use core::ptr::NonNull;
use heapwood_heap::Address;

/// Names a registration until its object is dead or it is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FinalizerToken(u64);

impl FinalizerToken {
    /// The token as a number, for clients that cannot keep the type. Never 0.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The token with this number, which `to_bits` gave.
    pub fn from_bits(bits: u64) -> Self {
        FinalizerToken(bits)
    }
}

impl Mutator {
    /// Has `tag` queued when the object is dead: after the first collection that finds so, [`Heap::next_finalized`] returns
    /// it, once. An object may be registered several times, and is kept alive by none. It is not read or written again.
    ///
    /// # Errors
    /// No object of this heap begins there, it lies in an arena, the table is full or the kernel gives no memory for an entry, or
    /// the mutator cannot be used now ([`Mutator::check`]).
    pub fn finalize_data(&self, object: NonNull<u8>, tag: usize) -> Result<FinalizerToken, FinalizeError> {
        self.check().map_err(FinalizeError::Misuse)?;
        let (heap, address) = (self.heap(), object.as_ptr() as usize);
        if let Some(arena) = heap.objects().arena_at(address) {
            return Err(FinalizeError::InArena { address, arena });
        }
        if !heap.objects().may_begin(address) {
            return Err(FinalizeError::NoObject { address });
        }
        let _no_preempt = self.record().no_preempt();
        let space = heap.space();
        let is_old = space.is_old(Address::new(address));
        let added =
            heap.state().finalizers().add((heap.kernel(), space.reservation_bytes()), (address, is_old), tag);
        added.map(FinalizerToken).map_err(|refused| match refused {
            AddError::Full(most) => FinalizeError::Full { most },
            AddError::Kernel(e) => FinalizeError::Kernel(e),
        })
    }
}

impl Heap {
    /// Cancels a registration, on any thread; returns its tag.
    ///
    /// # Errors
    /// Its object is dead, and the tag is on the queue or was taken; or it was cancelled before, or is none.
    pub fn cancel_finalizer(&self, token: FinalizerToken) -> Result<usize, FinalizeError> {
        let _no_preempt = record().no_preempt();
        self.state().finalizers().cancel(token.0).map_err(|refused| match refused {
            CancelError::Queued => FinalizeError::Queued,
            CancelError::NoEntry => FinalizeError::NoFinalizer { token: token.0 },
        })
    }

    /// Takes the tag that has waited longest for an object that is dead, on any thread, also in a hook; `None` if none waits,
    /// which costs one load.
    pub fn next_finalized(&self) -> Option<usize> {
        let _no_preempt = record().no_preempt();
        self.state().finalizers().next()
    }

    /// Queues all tags that are registered, each once: before a heap ends, so that what its objects own outside is freed as
    /// well. Returns how many wait. The objects live on if something leads to them.
    ///
    /// # Errors
    /// A thread is attached and its mutator cannot be used now ([`Mutator::check`]).
    pub fn finalize_all(&self) -> Result<usize, MisuseError> {
        if let Some(mutator) = Mutator::here(self) {
            // SAFETY: it is this thread's, and stays attached during the call.
            unsafe { mutator.as_ref() }.check()?;
        }
        let _no_preempt = record().no_preempt();
        self.state().finalizers().settle_at_end();
        Ok(self.state().finalizers().counts().1)
    }

    /// Objects that are registered, and tags that wait.
    pub fn finalizers(&self) -> (usize, usize) {
        let (registered, queued, _) = self.state().finalizers().counts();
        (registered, queued)
    }
}
