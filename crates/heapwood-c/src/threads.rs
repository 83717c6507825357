//! Threads: attaching and detaching, polls and blocking regions. Beside the collector's mutator, each attached
//! thread has a record of this crate's: the heap's handle and the last refusal. The mutator's client word leads to
//! it. Invariant: that word is set before `hw_attach` returns and names a record until `hw_detach` succeeds.

use crate::heap::HeapHandle;
use crate::placed::Placed;
use crate::refusal::Refusal;
use crate::status::{Failure, Status};
use core::cell::{Cell, UnsafeCell};
use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};
use heapwood_gc::Mutator;
use heapwood_os::stack;

/// What this crate keeps of an attached thread.
pub struct Attached {
    heap: NonNull<HeapHandle>,
    thread: u32,
    /// The next in the heap's list, which the list's lock protects.
    next: Cell<*const Placed<Attached>>,
    /// Touched by the thread itself only.
    failure: UnsafeCell<Failure>,
}

/// The attached threads of one heap, linked through their records.
pub struct Threads {
    first: *const Placed<Attached>,
    count: usize,
}

// SAFETY: the records are followed only under the list's lock.
unsafe impl Send for Threads {}

impl Threads {
    /// No thread.
    pub const NONE: Threads = Threads { first: core::ptr::null(), count: 0 };

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    fn has(&self, thread: u32) -> bool {
        let mut at = self.first;
        // SAFETY: the list holds records that have not ended.
        while let Some(attached) = unsafe { at.as_ref() } {
            if attached.thread == thread {
                return true;
            }
            at = attached.next.get();
        }
        false
    }

    fn add(&mut self, attached: &Placed<Attached>) {
        attached.next.set(self.first);
        self.first = attached;
        self.count += 1;
    }

    fn remove(&mut self, attached: &Placed<Attached>) {
        let mut link = &raw mut self.first;
        // SAFETY: the record is in the list, and those before it have not ended.
        unsafe {
            while !core::ptr::eq(*link, attached) {
                link = (&**link).next.as_ptr();
            }
            *link = attached.next.get();
        }
        self.count -= 1;
    }
}

/// The record of a mutator's thread.
#[inline]
fn attached(m: &Mutator) -> &Placed<Attached> {
    // SAFETY: hw_attach set the word, and the record lives as long as the mutator.
    unsafe { &*(m.client().get() as *const Placed<Attached>) }
}

/// The heap that a mutator belongs to, with its types.
pub fn heap_of(m: &Mutator) -> &HeapHandle {
    // SAFETY: a heap is not ended while threads are attached.
    unsafe { attached(m).heap.as_ref() }
}

/// Notes why a function refuses, for [`hw_last_error`]; the status to return.
#[cold]
pub fn refuse(m: &Mutator, refusal: Refusal) -> Status {
    // SAFETY: only the mutator's own thread touches it, and no reference to it is held.
    unsafe { *attached(m).failure.get() = Failure::of(&refusal) };
    refusal.status()
}

/// The outcome of a function that returns an object: NULL with the reason noted if there is none.
pub fn object_or_null(m: &Mutator, result: Result<NonNull<u8>, Refusal>) -> *mut u8 {
    match result {
        Ok(object) => object.as_ptr(),
        Err(refusal) => {
            refuse(m, refusal);
            null_mut()
        }
    }
}

fn attach(heap: &HeapHandle, stack_hi: *mut c_void) -> Result<NonNull<Mutator>, Refusal> {
    let here = 0u8;
    let stack_end = (!stack_hi.is_null()).then_some(stack_hi as usize);
    if let Some(end) = stack_end
        && end <= &raw const here as usize
    {
        return Err(Refusal::StackEnd(end));
    }
    let thread = stack::thread_id();
    let record = Placed::new(Attached {
        heap: NonNull::from(heap),
        thread,
        next: Cell::new(core::ptr::null()),
        failure: UnsafeCell::new(Failure::NONE),
    })?;
    {
        let mut threads = heap.threads.lock();
        if threads.has(thread) {
            drop(threads);
            // SAFETY: nobody has seen the record.
            unsafe { Placed::end(record) };
            return Err(Refusal::AttachedAlready);
        }
        // SAFETY: the record lives until it is removed.
        threads.add(unsafe { record.as_ref() });
    }
    match Mutator::attach(&heap.heap, stack_end) {
        Ok(m) => {
            // SAFETY: the mutator was just made.
            unsafe { m.as_ref() }.client().set(record.as_ptr() as usize);
            Ok(m)
        }
        Err(e) => {
            end(heap, record);
            Err(e.into())
        }
    }
}

/// Takes a record out of its heap's list and ends it.
fn end(heap: &HeapHandle, record: NonNull<Placed<Attached>>) {
    // SAFETY: callers pass a record that is in the list, once, and do not use it afterwards.
    unsafe {
        heap.threads.lock().remove(record.as_ref());
        Placed::end(record);
    }
}

/// Attaches the calling thread.
///
/// # Safety
/// 1. `heap` is NULL or a heap that exists until the thread is detached; `out` and `why` are NULL or may be written.
/// 2. The words from the thread's stack pointer up to `stack_hi`, if that is not NULL, stay readable while it is
///    attached, and its own uses of the heap all happen on that stack.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_attach(
    heap: Option<&HeapHandle>,
    stack_hi: *mut c_void,
    out: *mut *mut Mutator,
    why: *mut Failure,
) -> Status {
    let result = match heap {
        None => Err(Refusal::Null("heap")),
        Some(_) if out.is_null() => Err(Refusal::Null("out")),
        Some(heap) => attach(heap, stack_hi).map(|m| {
            // SAFETY: contract 1.
            unsafe { out.write(m.as_ptr()) }
        }),
    };
    // SAFETY: contract 1.
    unsafe { Failure::tell(result, why) }
}

/// Detaches the calling thread.
///
/// # Safety
/// 1. `m` is NULL or a mutator that is attached; after success it is not used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_detach(m: *mut Mutator) -> Status {
    let Some(m) = NonNull::new(m) else { return Status::EINVAL };
    // SAFETY: contract 1.
    let mutator = unsafe { m.as_ref() };
    if mutator.thread() != stack::thread_id() {
        return Status::ESTATE;
    }
    let record = NonNull::from(attached(mutator));
    // SAFETY: a heap is not ended while threads are attached.
    let heap = unsafe { record.as_ref().heap.as_ref() };
    // SAFETY: contract 1, and this is its thread.
    unsafe { Mutator::detach(m) };
    end(heap, record);
    Status::OK
}

/// The heap a mutator belongs to.
///
/// # Safety
/// 1. `m` is attached.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_mutator_heap(m: &Mutator) -> *const HeapHandle {
    heap_of(m)
}

/// Why a function last refused this mutator.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_last_error(m: &Mutator) -> *const Failure {
    attached(m).failure.get()
}

/// Stops here while a collector asks for it.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. Roots lead to all objects that are needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_safepoint_slow(m: &Mutator) {
    m.safepoint_slow();
}

/// Calls `f(arg)` while collections go on without this thread.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; roots lead to all objects that are needed.
/// 2. `f` is NULL or may be called with `arg`, touches neither objects nor `m`, and does not unwind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_call_blocking(
    m: Option<&Mutator>,
    f: Option<unsafe extern "C" fn(*mut c_void)>,
    arg: *mut c_void,
) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    let Some(f) = f else { return refuse(m, Refusal::Null("fn")) };
    // SAFETY: contract 2.
    m.blocking(|| unsafe { f(arg) });
    Status::OK
}
