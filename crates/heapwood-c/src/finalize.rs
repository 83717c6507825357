//! Finalisers: registering, queues, taking, being told. Invariant: no function of the program is called but the one it has set for that.

use crate::error::Error;
use crate::error_report::ErrorReport;
use crate::handle::HeapHandle;
use crate::status::Status;
use crate::threads::{refuse, tell};
use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};
use core::time::Duration;
use heapwood_gc::{FinalizeOrder, FinalizerCall, FinalizerQueue, FinalizerToken, Mutator, Refusal};

/// The header's order.
pub const ORDERED: u32 = 0;
/// The header's order.
pub const AT_ONCE: u32 = 1;

/// The header's `hw_finalized`.
#[repr(C)]
pub struct FinalizedEntry {
    /// The object; NULL if data was registered.
    pub object: *mut u8,
    /// What was registered with it, or the data.
    pub tag: *mut c_void,
}

/// Registers something for an object.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; `out` is NULL or may be written.
unsafe fn register(
    m: Option<&Mutator>,
    object: *mut u8,
    out: *mut u64,
    register: impl FnOnce(&Mutator, NonNull<u8>) -> Result<FinalizerToken, Error>,
) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    let Some(object) = NonNull::new(object) else { return refuse(m, Error::Null("object")) };
    match register(m, object) {
        Ok(token) => {
            if !out.is_null() {
                // SAFETY: contract 1.
                unsafe { out.write(token.to_bits()) };
            }
            Status::OK
        }
        Err(error) => refuse(m, error),
    }
}

/// Registers an object to be queued when it is dead.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; `out` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize(
    m: Option<&Mutator>,
    object: *mut u8,
    queue: u64,
    order: u32,
    tag: *mut c_void,
    out: *mut u64,
) -> Status {
    let finalize = |m: &Mutator, object| {
        let order = match order {
            ORDERED => FinalizeOrder::Ordered,
            AT_ONCE => FinalizeOrder::AtOnce,
            order => return Err(Error::FinalizeOrder(order)),
        };
        Ok(m.finalize(object, FinalizerQueue::from_bits(queue), order, tag as usize)?)
    };
    // SAFETY: contract 1.
    unsafe { register(m, object, out, finalize) }
}

/// Registers data to be queued when an object is dead.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; `out` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize_data(
    m: Option<&Mutator>,
    object: *mut u8,
    queue: u64,
    data: *mut c_void,
    out: *mut u64,
) -> Status {
    let finalize =
        |m: &Mutator, object| Ok(m.finalize_data(object, FinalizerQueue::from_bits(queue), data as usize)?);
    // SAFETY: contract 1.
    unsafe { register(m, object, out, finalize) }
}

/// Cancels a registration.
///
/// # Safety
/// 1. `heap` is NULL or exists; `data` and `why` are NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize_cancel(
    heap: Option<&HeapHandle>,
    finalizer: u64,
    data: *mut *mut c_void,
    why: *mut ErrorReport,
) -> Status {
    let cancel = || {
        let heap = heap.ok_or(Error::Null("heap"))?;
        let tag = heap.heap.cancel_finalizer(FinalizerToken::from_bits(finalizer))?;
        if !data.is_null() {
            // SAFETY: contract 1.
            unsafe { data.write(tag as *mut c_void) };
        }
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, cancel(), why) }
}

/// Makes a queue.
///
/// # Safety
/// 1. `heap` is NULL or exists; `out` and `why` are NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize_queue_new(
    heap: Option<&HeapHandle>,
    out: *mut u64,
    why: *mut ErrorReport,
) -> Status {
    let make = || {
        let heap = heap.ok_or(Error::Null("heap"))?;
        let out = NonNull::new(out).ok_or(Error::Null("out"))?;
        let queue = heap.heap.new_finalizer_queue()?;
        // SAFETY: contract 1.
        unsafe { out.write(queue.to_bits()) };
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, make(), why) }
}

/// Ends a queue.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize_queue_end(
    heap: Option<&HeapHandle>,
    queue: u64,
    why: *mut ErrorReport,
) -> Status {
    let end = || {
        let heap = heap.ok_or(Error::Null("heap"))?;
        Ok(heap.heap.end_finalizer_queue(FinalizerQueue::from_bits(queue))?)
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, end(), why) }
}

/// Takes the entry that has waited longest.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; `entry` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize_next(
    m: Option<&Mutator>,
    queue: u64,
    entry: *mut FinalizedEntry,
) -> bool {
    let Some(m) = m else { return false };
    let taken = match NonNull::new(entry) {
        None => Err(Error::Null("entry")),
        Some(_) => m.next_finalized(FinalizerQueue::from_bits(queue)).map_err(Error::from),
    };
    match taken {
        Ok(Some(taken)) => {
            let object = taken.object.map_or(null_mut(), NonNull::as_ptr);
            let tag = taken.tag as *mut c_void;
            // SAFETY: contract 1.
            unsafe { entry.write(FinalizedEntry { object, tag }) };
            true
        }
        Ok(None) => false,
        Err(error) => {
            refuse(m, error);
            false
        }
    }
}

/// Takes the data that has waited longest.
///
/// # Safety
/// 1. `heap` is NULL or exists; `data` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize_next_data(
    heap: Option<&HeapHandle>,
    queue: u64,
    data: *mut *mut c_void,
) -> bool {
    let Some(heap) = heap.filter(|_| !data.is_null()) else { return false };
    let taken: Result<_, Refusal> = heap.heap.next_finalized_data(FinalizerQueue::from_bits(queue));
    let tag = match taken {
        Ok(Some(tag)) => tag,
        Ok(None) => return false,
        Err(error) => {
            // SAFETY: contract 1.
            unsafe { tell(Some(heap), Err(error.into()), null_mut()) };
            return false;
        }
    };
    // SAFETY: contract 1.
    unsafe { data.write(tag as *mut c_void) };
    true
}

/// Waits until something is on a queue.
///
/// # Safety
/// 1. `heap` is NULL or exists; `waits` and `why` are NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize_wait(
    heap: Option<&HeapHandle>,
    queue: u64,
    at_most: u64,
    waits: *mut bool,
    why: *mut ErrorReport,
) -> Status {
    let wait = || {
        let heap = heap.ok_or(Error::Null("heap"))?;
        let at_most = (at_most != u64::MAX).then(|| Duration::from_nanos(at_most));
        let found = heap.heap.wait_finalized(FinalizerQueue::from_bits(queue), at_most)?;
        if !waits.is_null() {
            // SAFETY: contract 1.
            unsafe { waits.write(found) };
        }
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, wait(), why) }
}

/// Gives a queue's eventfd.
///
/// # Safety
/// 1. `heap` is NULL or exists; `fd` and `why` are NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize_fd(
    heap: Option<&HeapHandle>,
    queue: u64,
    fd: *mut i32,
    why: *mut ErrorReport,
) -> Status {
    let give = || {
        let heap = heap.ok_or(Error::Null("heap"))?;
        let fd = NonNull::new(fd).ok_or(Error::Null("fd"))?;
        let number = heap.heap.finalizer_fd(FinalizerQueue::from_bits(queue))?;
        // SAFETY: contract 1.
        unsafe { fd.write(number) };
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, give(), why) }
}

/// Sets the function that is called when something was queued, or removes it.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
/// 2. Until it is removed any attached thread may call `f` with `arg`, and it keeps the header's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize_call(
    heap: Option<&HeapHandle>,
    queue: u64,
    f: Option<unsafe extern "C" fn(*mut c_void)>,
    arg: *mut c_void,
    why: *mut ErrorReport,
) -> Status {
    let set = || {
        let heap = heap.ok_or(Error::Null("heap"))?;
        let call = f.map(|f| {
            // SAFETY: a function that does not unwind is also one that may.
            let function = unsafe {
                core::mem::transmute::<
                    unsafe extern "C" fn(*mut c_void),
                    unsafe extern "C-unwind" fn(*mut c_void),
                >(f)
            };
            FinalizerCall { function, argument: arg, most_nested: 1 }
        });
        // SAFETY: contract 2.
        Ok(unsafe { heap.heap.call_when_finalized(FinalizerQueue::from_bits(queue), call) }?)
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, set(), why) }
}

/// Queues all that is registered.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_finalize_all(heap: Option<&HeapHandle>, why: *mut ErrorReport) -> Status {
    let queue = || {
        heap.ok_or(Error::Null("heap"))?.heap.finalize_all()?;
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, queue(), why) }
}
