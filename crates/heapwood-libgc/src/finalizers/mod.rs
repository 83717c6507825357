//! Finalizers in libgc's four orders, over the heap's queue of dead objects (docs/design/finalization.md). An object has one; its
//! entry here has the function and its data, which is a root. What the collector has queued waits until the program takes it: on
//! demand, or where a thread allocates or collects.
//!
//! | libgc | the heap's |
//! |---|---|
//! | usual, ignore_self | ordered; an object's own pointers to itself count for neither |
//! | no_order | at once |
//! | unreachable | ordered, in a queue of its own that is emptied last |
//!
//! A circle of ordered objects is never finalized, as with libgc; the program is warned when a collection has found more of them than any
//! before. Invariant: an entry is in use from its registration until its object was taken off a queue, or it was cancelled.

pub(crate) mod links;

use crate::exports::types::{AwaitProc, Finalizer, Pointer, Ptr};
use crate::process::{attached_mutator, heap, made, mutator};
use crate::report;
use crate::settings;
use crate::threads::lock::Locked;
use core::ffi::{c_int, c_void};
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use heapwood_gc::{FinalizeOrder, FinalizerCall, FinalizerQueue, Heap, Mutator, Refusal};
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{MappedArray, OsError, SYSTEM};

/// The orders of gc.h.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Usual,
    IgnoreSelf,
    None,
    Unreachable,
}

impl Order {
    /// The heap's order.
    fn of_heap(self) -> FinalizeOrder {
        if self == Order::None { FinalizeOrder::AtOnce } else { FinalizeOrder::Ordered }
    }
}

/// A finalizer. The words are scanned; all but the data name nothing in the heap.
#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    function: usize,
    data: usize,
    /// One more than the next free entry.
    next: usize,
}

// SAFETY: plain numbers; zeros are an entry that was never used.
unsafe impl Zeroed for Entry {}

/// All entries.
struct Table {
    entries: Option<MappedArray<Entry>>,
    committed: usize,
    /// Entries up to this have been used.
    used: usize,
    /// One more than the first free entry.
    free: usize,
}

static TABLE: Locked<Table> = Locked::new(Table { entries: None, committed: 0, used: 0, free: 0 });

/// The most entries, if there are addresses for them.
const MOST: usize = 1 << 24;
const STEP: usize = 1 << 10;

impl Table {
    /// Makes room for one more entry. Returns memory that is to become a root.
    fn reserve(&mut self) -> Result<Option<(usize, usize)>, OsError> {
        if self.free != 0 || self.used < self.committed {
            return Ok(None);
        }
        if self.entries.is_none() {
            let mut most = MOST;
            self.entries = loop {
                match MappedArray::new(&SYSTEM, most) {
                    Ok(entries) => break Some(entries),
                    Err(error) if most <= STEP => return Err(error),
                    Err(_) => most /= 4,
                }
            };
        }
        let Some(entries) = &self.entries else { unreachable!("it was reserved") };
        let more = (self.committed / 4).max(STEP).min(entries.len() - self.committed);
        entries.commit(self.committed..self.committed + more)?;
        let start = self.committed;
        self.committed += more;
        // An element behind the last may not be named by its index.
        let at = |index: usize| entries.as_ptr() as usize + index * size_of::<Entry>();
        Ok((more > 0).then(|| (at(start), at(self.committed))))
    }

    fn entry(&mut self, index: usize) -> &mut Entry {
        let Some(entries) = &self.entries else { unreachable!("an index names an entry") };
        // SAFETY: it is committed, and the borrow is exclusive.
        unsafe { &mut *entries.at(index) }
    }

    fn add(&mut self, entry: Entry) -> Option<usize> {
        let index = match self.free {
            0 if self.used == self.committed => return None,
            0 => {
                self.used += 1;
                self.used - 1
            }
            free => {
                self.free = self.entry(free - 1).next;
                free - 1
            }
        };
        *self.entry(index) = entry;
        Some(index)
    }

    fn remove(&mut self, index: usize) -> Entry {
        let free = self.free;
        let entry = self.entry(index);
        let removed = *entry;
        *entry = Entry { function: 0, data: 0, next: free };
        self.free = index + 1;
        removed
    }
}

/// The queue of those that are looked at last; 0 before it is made.
static LAST: AtomicU64 = AtomicU64::new(0);

fn queue(order: Order) -> FinalizerQueue {
    if order != Order::Unreachable {
        return FinalizerQueue::default();
    }
    let made = LAST.load(Ordering::Acquire);
    if made != 0 {
        return FinalizerQueue::from_bits(made);
    }
    let Ok(new) = heap().new_finalizer_queue() else { return FinalizerQueue::default() };
    let bits = new.to_bits();
    call_when_ready(heap(), new);
    match LAST.compare_exchange(0, bits, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => new,
        Err(other) => {
            let _ = heap().end_finalizer_queue(new);
            FinalizerQueue::from_bits(other)
        }
    }
}

/// The heap was made: it tells of what it queues.
pub(crate) fn begin(heap: &Heap) {
    call_when_ready(heap, FinalizerQueue::default());
}

/// Calls of finalizers inside each other that the program does not ask for, on one thread.
const MOST_NESTED: u32 = 10;

fn call_when_ready(heap: &Heap, queue: FinalizerQueue) {
    let call = FinalizerCall { function: ready, argument: null_mut(), most_nested: MOST_NESTED };
    // SAFETY: any thread may call the function; it returns, or a finalizer of the program leaves it.
    let _ = unsafe { heap.call_when_finalized(queue, Some(call)) };
}

/// Something was queued. Called where a thread allocates.
unsafe extern "C-unwind" fn ready(_: *mut c_void) {
    notify_or_invoke();
}

/// A collection that the program has asked for may have made finalizers ready.
pub(crate) fn after_collection(mutator: &Mutator) {
    mutator.nest_finalizers(MOST_NESTED as usize, notify_or_invoke);
}

/// The most circles that a collection has found.
static CIRCLES: AtomicUsize = AtomicUsize::new(0);

/// A collection has ended that has found so many circles. It cannot name an object that is on one.
pub(crate) fn warn_of_circles(circles: usize) {
    if circles > CIRCLES.fetch_max(circles, Ordering::Relaxed) {
        report::warn(format_args!("Finalization cycle: {circles} of them are never finalized"));
    }
}

/// What libgc does then.
fn notify_or_invoke() {
    if settings::finalize_on_demand() == 0 {
        invoke();
    } else if should_invoke() != 0
        && let Some(notifier) = settings::finalizer_notifier()
    {
        // SAFETY: the program has set it.
        unsafe { notifier() };
    }
}

/// Takes an object's entry out, if it has one that was not queued: what is on a queue keeps its entry until it is taken.
fn cancel(object: NonNull<u8>) -> Option<Entry> {
    let index = heap().cancel_finalizer_of(object).ok()??;
    Some(TABLE.with(|table| table.remove(index)))
}

/// Registers an entry whose function and data are known for an object.
fn add(mutator: &Mutator, object: NonNull<u8>, order: Order, function: usize, data: usize) -> bool {
    loop {
        let entry = Entry { function, data, next: 0 };
        let added = TABLE.with(|table| {
            let root = table.reserve()?;
            Ok::<_, OsError>((root, if root.is_none() { table.add(entry) } else { None }))
        });
        let index = match added {
            Ok((None, Some(index))) => index,
            Ok((Some((start, end)), _)) => {
                // SAFETY: the table stays for good.
                if unsafe { mutator.heap().roots().add_range(start, end) }.is_err() {
                    return false;
                }
                continue;
            }
            Ok((None, None)) | Err(_) => return false,
        };
        let Err(error) = mutator.finalize(object, queue(order), order.of_heap(), index) else { return true };
        TABLE.with(|table| table.remove(index));
        // Of what is no object libgc, too, says nothing: it never dies.
        let is_none = matches!(error, Refusal::CannotFinalize { .. });
        if !is_none {
            report::warn(format_args!("A finalizer could not be registered: {error}"));
        }
        return is_none;
    }
}

/// # Safety
/// 1. Each of the old ones is null, or may be written.
unsafe fn register_in(
    order: Order,
    object: Ptr,
    function: Finalizer,
    data: Ptr,
    (old, old_data): (*mut Finalizer, *mut Ptr),
) {
    let mutator = mutator();
    let before = NonNull::new(object.cast()).and_then(cancel);
    if !old.is_null() {
        // SAFETY: contract 1; the entry has a function of the program's.
        unsafe {
            old.write(core::mem::transmute::<usize, Finalizer>(before.map_or(0, |entry| entry.function)))
        };
    }
    if !old_data.is_null() {
        // SAFETY: contract 1.
        unsafe { old_data.write(before.map_or(null_mut(), |entry| entry.data as Ptr)) };
    }
    let (Some(function), Some(at)) = (function, NonNull::new(object.cast())) else { return };
    if !add(mutator, at, order, function as usize, data as usize) {
        report::warn(format_args!("There is no memory for a finalizer of {object:p}"));
    }
}

macro_rules! register {
    ($name:ident, $order:ident) => {
        /// Registers a finalizer, or removes it (null).
        ///
        /// # Safety
        /// 1. Each of the old ones is null, or may be written.
        pub(crate) unsafe fn $name(
            object: Ptr,
            function: Finalizer,
            data: Ptr,
            old: *mut Finalizer,
            old_data: *mut Ptr,
        ) {
            // SAFETY: contract 1.
            unsafe { register_in(Order::$order, object, function, data, (old, old_data)) }
        }
    };
}

register!(register, Usual);
register!(register_ignore_self, IgnoreSelf);
register!(register_no_order, None);
register!(register_unreachable, Unreachable);

/// `GC_should_invoke_finalizers`.
pub(crate) fn should_invoke() -> c_int {
    made().is_some_and(|heap| heap.finalizers().1 != 0).into()
}

/// `GC_invoke_finalizers`: runs those that are ready; returns how many.
pub(crate) fn invoke() -> c_int {
    let (Some(_), Some(mutator)) = (made(), attached_mutator()) else { return 0 };
    let mut count = 0;
    loop {
        let last = LAST.load(Ordering::Acquire);
        let queues = [0, last];
        let queues = if last == 0 { &queues[..1] } else { &queues[..] };
        let next = |&queue: &u64| mutator.next_finalized(FinalizerQueue::from_bits(queue)).ok().flatten();
        let Some(taken) = queues.iter().find_map(next) else { return count };
        let Some(object) = taken.object else { continue };
        let entry = TABLE.with(|table| table.remove(taken.tag));
        if let Some(tell) = await_proc() {
            // SAFETY: the program has set it.
            unsafe { tell(object.as_ptr().cast()) };
        }
        count += 1;
        // SAFETY: it is what the program has registered.
        if let Some(function) = unsafe { core::mem::transmute::<usize, Finalizer>(entry.function) } {
            // SAFETY: as above.
            unsafe { function(object.as_ptr().cast(), entry.data as Ptr) };
        }
    }
}

/// `GC_finalize_all`: queues all that is registered, and runs it.
pub(crate) fn finalize_all() {
    if let Some(heap) = made() {
        let _ = heap.finalize_all();
        invoke();
    }
}

static AWAIT: Pointer = Pointer::null();

/// `GC_set_await_finalize_proc`.
pub(crate) fn set_await(function: AwaitProc) {
    AWAIT.set(function.map_or(null_mut(), |function| function as Ptr));
}

/// `GC_get_await_finalize_proc`.
pub(crate) fn await_proc() -> AwaitProc {
    // SAFETY: null, or what the program has set.
    unsafe { core::mem::transmute::<Ptr, AwaitProc>(AWAIT.get()) }
}
