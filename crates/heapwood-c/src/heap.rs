//! Heaps as C holds them: the collector's heap and the table of its types. Invariant: what a mutator's client room leads to
//! is the handle of its heap, which is not ended while threads are attached.

use crate::options::Options;
use crate::placed::Placed;
use crate::refusal::Refusal;
use crate::status::{Failure, Status};
use crate::types::TypeTable;
use core::ptr::NonNull;
use heapwood_gc::{Config, Heap, HeapBox, HeapError};
use heapwood_os::SYSTEM;

/// What stands behind `hw_heap`.
pub type HeapHandle = Placed<ClientHeap>;

/// A heap with what this crate keeps for it.
pub struct ClientHeap {
    /// The heap itself.
    pub heap: HeapBox,
    /// Its types.
    pub types: TypeTable,
}

impl ClientHeap {
    fn create(config: Config) -> Result<NonNull<HeapHandle>, Refusal> {
        // The heap takes what address space there is, and leaves little.
        let types = TypeTable::new(&SYSTEM)?;
        let heap = Heap::create(&SYSTEM, config)?;
        Ok(Placed::new(ClientHeap { heap, types })?)
    }
}

/// Makes a heap.
///
/// # Safety
/// 1. `options` is NULL or readable as its size field says; `out` and `why` are NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_heap_create(
    options: *const Options,
    out: *mut *mut HeapHandle,
    why: *mut Failure,
) -> Status {
    let create = || {
        if out.is_null() {
            return Err(Refusal::Null("out"));
        }
        let options = if options.is_null() {
            Options::defaults(size_of::<Options>())
        } else {
            // SAFETY: contract 1.
            unsafe { Options::read(options)? }
        };
        let heap = ClientHeap::create(options.config()?)?;
        // SAFETY: contract 1.
        unsafe { out.write(heap.as_ptr()) };
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { Failure::tell(create(), why) }
}

/// Ends a heap, unless threads are attached.
///
/// # Safety
/// 1. `heap` is NULL or came from [`hw_heap_create`] and has not been ended; no other thread uses it meanwhile. `why`
///    is NULL or may be written.
/// 2. After success neither it nor any object in it is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_heap_destroy(heap: *mut HeapHandle, why: *mut Failure) -> Status {
    let destroy = || {
        let Some(heap) = NonNull::new(heap) else { return Ok(()) };
        // SAFETY: contract 1.
        let count = unsafe { heap.as_ref() }.heap.mutators();
        if count != 0 {
            return Err(HeapError::MutatorsAttached { count }.into());
        }
        // SAFETY: contracts 1 and 2.
        unsafe { Placed::end(heap) };
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { Failure::tell(destroy(), why) }
}
