//! Calls of the C interface, chosen by bytes, with arguments of a careless program: null, too large, not aligned, removed
//! before. The calls keep the caller's contracts: memory is readable where it must be, and masks and slots refer to objects
//! or null. Invariant: every call returns a status of the header with a reason, an error leaves its results unchanged, and
//! the heap agrees with the model: equal descriptions are one type, removed items are gone, and the objects of handles and
//! roots survive.

// A fuzz target has this file, too, by its path.
#[path = "calls/machines.rs"]
mod machines;

use core::ffi::{CStr, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::AtomicUsize;
use heapwood_c::alloc::{hw_alloc_array, hw_alloc_zeroed, hw_base};
use heapwood_c::control::hw_collect;
use heapwood_c::error_report::ErrorReport;
use heapwood_c::handle::HeapHandle;
use heapwood_c::heap::hw_heap_destroy;
use heapwood_c::roots::{
    hw_handle_free, hw_handle_new, hw_handle_set, hw_root_range, hw_root_remove, hw_root_slots,
};
use heapwood_c::stacks::{
    Stack, hw_stack_announce, hw_stack_range_add, hw_stack_range_remove, hw_stack_switch,
};
use heapwood_c::status::Status;
use heapwood_c::threads::{hw_attach, hw_attach_bounds, hw_attach_if_needed, hw_detach, hw_self};
use heapwood_c::types::{
    hw_type_conservative, hw_type_describe, hw_type_mask, hw_type_no_pointers, hw_type_program,
};
use heapwood_gc::{Config, Mutator};

const LIMIT: usize = 8 << 20;
/// No result: nothing that succeeds returns this.
const NONE: u32 = u32::MAX;
/// The largest object: the limit refuses larger ones, and checking them takes long.
const MOST: usize = 1 << 16;

/// The remaining bytes, followed by zeros.
struct Bytes<'d>(&'d [u8]);

impl<'d> Bytes<'d> {
    fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    fn take(&mut self, most: usize) -> &'d [u8] {
        let len = (self.byte() as usize).min(most).min(self.0.len());
        self.0.split_off(..len).unwrap_or(&[])
    }

    /// A size: mostly small, sometimes around the ends of what there is.
    fn size(&mut self) -> usize {
        let n = usize::from(self.byte());
        match self.byte() % 8 {
            0 => n,
            1..=4 => n * 8,
            5 => n << 10,
            6 => usize::MAX - n,
            _ => (isize::MAX as usize).wrapping_add(n * 8),
        }
    }
}

/// The state between calls.
struct World {
    heap: *mut HeapHandle,
    m: *mut Mutator,
    /// Types, with their sizes and whether they may hold pointers, in the order of their registration.
    types: Vec<(u32, usize)>,
    /// Live handles and their objects.
    handles: Vec<(*mut AtomicUsize, usize)>,
    roots: Vec<u64>,
    /// The slots of registered roots, which outlive them, with an object or null in each word.
    slots: Box<[usize; 64]>,
    /// Stacks that are registered: eight words of `room` each.
    stacks: Vec<*mut Stack>,
    /// The room of the stacks.
    room: Box<[usize; 64]>,
}

/// A jump that returns at once. It only changes the number.
unsafe extern "C" fn stay(number: *mut c_void) {
    // SAFETY: the caller of the jump passes its own number.
    unsafe { *number.cast::<u32>() += 1 };
}

/// Checks a result: a status of the header, and a reason if it is an error.
fn checked(status: Status, why: &ErrorReport) -> bool {
    // SAFETY: a report begins with its status, and the rest is a text that ends with a zero byte.
    let (said, text) = unsafe {
        let bytes = core::ptr::from_ref(why).cast::<u8>();
        (bytes.cast::<i32>().read(), CStr::from_ptr(bytes.add(4).cast()))
    };
    assert_eq!(said, status.0, "{text:?}");
    assert_ne!(status.text(), c"not a status of Heapwood");
    assert_eq!(text.is_empty(), status == Status::OK, "{status:?} {text:?}");
    status == Status::OK
}

impl World {
    fn new() -> Self {
        let config =
            Config::DEFAULT.limit(LIMIT).address_space(8 * LIMIT).background_release(false).verify(true);
        let heap = HeapHandle::create(config).unwrap_or_else(|error| panic!("{error}")).as_ptr();
        let (mut m, mut why) = (null_mut(), ErrorReport::NONE);
        // SAFETY: the pointers are to values of their types, and this thread uses the heap on this stack.
        unsafe { assert!(checked(hw_attach(heap.as_ref(), null_mut(), &mut m, &mut why), &why)) };
        World {
            heap,
            m,
            types: Vec::new(),
            handles: Vec::new(),
            roots: Vec::new(),
            slots: Box::new([0; 64]),
            stacks: Vec::new(),
            room: Box::new([0; 64]),
        }
    }

    fn heap(&self) -> Option<&HeapHandle> {
        // SAFETY: it is ended in `end` only.
        unsafe { self.heap.as_ref() }
    }

    fn m(&self) -> &Mutator {
        // SAFETY: as above.
        unsafe { &*self.m }
    }

    /// Registers a type twice, by a call that gets the heap, where to write the number, and where to write why not.
    fn register(
        &mut self,
        size: usize,
        bad: u8,
        call: impl Fn(Option<&HeapHandle>, *mut u32, *mut ErrorReport) -> (Status, usize),
    ) {
        let (mut number, mut why) = (NONE, ErrorReport::NONE);
        let heap = if bad == 1 { None } else { self.heap() };
        let out = if bad == 2 { null_mut() } else { &raw mut number };
        let (status, described) = call(heap, out, &mut why);
        if !checked(status, &why) {
            assert_eq!(number, NONE, "a refusal wrote a type");
            return;
        }
        assert!(bad == 0 || bad > 2, "nothing was registered");
        assert!(number != 0 && number != NONE);
        let (mut again, before) = (NONE, self.types.iter().find(|known| known.0 == number));
        // Without anywhere to say why it does the same.
        assert_eq!(call(self.heap(), &mut again, null_mut()).0, Status::OK);
        assert_eq!(again, number, "one description, two types");
        let size = if size == 0 { described } else { size };
        match before {
            Some(&(_, before)) => assert_eq!(before, size, "one type, two sizes"),
            None => self.types.push((number, size)),
        }
    }

    /// An object to store: null, or one that a handle holds.
    fn object(&self, bytes: &mut Bytes<'_>) -> usize {
        match self.handles.len() {
            0 => 0,
            n => self.handles[bytes.byte() as usize % n].1,
        }
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        let mut why = ErrorReport::NONE;
        let (op, bad) = (bytes.byte() % (19 + machines::STEPS), bytes.byte() % 8);
        match op {
            0 => {
                let size = bytes.size();
                // SAFETY: the pointers are null or to values of their types.
                self.register(size, bad, |h, out, why| unsafe {
                    (hw_type_no_pointers(h, size, out, why), size)
                });
            }
            1 => {
                let size = bytes.size();
                // SAFETY: as above.
                self.register(size, bad, |h, out, why| unsafe {
                    (hw_type_conservative(h, size, out, why), size)
                });
            }
            2 => {
                let size = bytes.size();
                let mask: Vec<u64> =
                    bytes.take(24).iter().map(|&byte| u64::from(byte) >> (byte % 8)).collect();
                // Without a mask there is a length all the same.
                let from = if bad == 3 { null() } else { mask.as_ptr() };
                // SAFETY: as above, and the words of the mask are readable.
                self.register(size, bad, |h, out, why| unsafe {
                    (hw_type_mask(h, size, from, mask.len(), out, why), size)
                });
            }
            3 | 4 => {
                let size = bytes.size();
                let program = bytes.take(40);
                let from = if bad == 3 { null() } else { program.as_ptr() };
                // SAFETY: as above, and the bytes of the program are readable.
                self.register(size, bad, |h, out, why| unsafe {
                    (hw_type_program(h, size, from, program.len(), out, why), size)
                });
            }
            5 | 6 => {
                // Text that mostly is a type's, and sometimes not even text.
                let words = ["ptr ", "word ", "{", "}", "[3]", "[0]", "[1<<9]", "[1<<61]", "é", "\u{0}"];
                let mut text: Vec<u8> = Vec::new();
                for &byte in bytes.take(24) {
                    match words.get(byte as usize % 12) {
                        Some(word) => text.extend(word.as_bytes()),
                        None => text.push(byte | 1),
                    }
                }
                text.push(0);
                let from = if bad == 3 { null() } else { text.as_ptr().cast() };
                // SAFETY: as above, and the text ends with a zero byte.
                self.register(0, bad, |h, out, why| unsafe {
                    let mut size = 0;
                    let status = hw_type_describe(h, from, &mut size, out, why);
                    assert_eq!(hw_type_describe(h, from, null_mut(), out, null_mut()), status);
                    (status, size)
                });
            }
            7 => {
                let object = self.object(bytes) + usize::from(bad == 3);
                // SAFETY: the object is null or a handle's; one that is not aligned is refused.
                let handle = unsafe { hw_handle_new(self.m(), object) };
                assert_eq!(handle.is_null(), bad == 3);
                if !handle.is_null() {
                    self.handles.push((handle, object));
                }
            }
            8 if !self.handles.is_empty() => {
                let i = bytes.byte() as usize % self.handles.len();
                let object = self.object(bytes);
                let (handle, _) = self.handles[i];
                // SAFETY: the handle is held, the object null or a handle's.
                let status = unsafe {
                    match bad {
                        1 => hw_handle_set(None, handle, object),
                        2 => hw_handle_set(Some(self.m()), null_mut(), object),
                        3 => hw_handle_set(Some(self.m()), handle, object | 1),
                        _ => hw_handle_set(Some(self.m()), handle, object),
                    }
                };
                assert_eq!(status == Status::OK, !(1..=3).contains(&bad));
                if status == Status::OK {
                    self.handles[i].1 = object;
                }
            }
            9 if !self.handles.is_empty() => {
                let (handle, _) = self.handles.swap_remove(bytes.byte() as usize % self.handles.len());
                // SAFETY: freeing checks its argument.
                unsafe {
                    assert_eq!(hw_handle_free(None, handle), Status::EINVAL);
                    assert_eq!(hw_handle_free(Some(self.m()), null_mut()), Status::OK);
                    let inside = handle.wrapping_byte_add(4);
                    assert_ne!(hw_handle_free(Some(self.m()), inside), Status::OK);
                    assert_eq!(hw_handle_free(Some(self.m()), handle), Status::OK);
                    assert_ne!(hw_handle_free(Some(self.m()), handle), Status::OK, "freed twice");
                }
            }
            10 | 11 => {
                let (i, n) = (bytes.byte() as usize % 64, bytes.byte() as usize % 64);
                self.slots[i] = self.object(bytes);
                let start = &raw const self.slots[i];
                let n = n.min(64 - i);
                let heap = if bad == 1 { None } else { self.heap() };
                // SAFETY: the slots outlive the heap, and hold objects of live handles, or null, or stale addresses; what
                // is not aligned, too long or backwards is refused before it is read.
                let root = unsafe {
                    match (op, bad) {
                        (10, 2) => hw_root_slots(heap, null(), n, &mut why),
                        (10, 3) => hw_root_slots(heap, start.wrapping_byte_add(1), n, &mut why),
                        (10, 4) => hw_root_slots(heap, start, usize::MAX / 8, &mut why),
                        (10, _) => hw_root_slots(heap, start, n, &mut why),
                        (_, 2) => hw_root_range(heap, 0, start as usize, &mut why),
                        (_, 3) => hw_root_range(heap, start as usize + 8, start as usize, &mut why),
                        (_, 4) => hw_root_range(heap, usize::MAX - 3, usize::MAX, &mut why),
                        _ => hw_root_range(heap, start as usize, start.wrapping_add(n) as usize, &mut why),
                    }
                };
                // SAFETY: a report begins with its status.
                let status = Status(unsafe { (&raw const why).cast::<i32>().read() });
                assert_eq!(checked(status, &why), root != 0);
                assert_eq!(root != 0, !(1..=4).contains(&bad), "{op} {bad} {status:?}");
                if root != 0 {
                    assert!(!self.roots.contains(&root), "a root's number twice");
                    self.roots.push(root);
                }
            }
            12 => {
                let known = (!self.roots.is_empty() && bad != 2)
                    .then(|| self.roots.swap_remove(bytes.byte() as usize % self.roots.len()));
                let root = known.unwrap_or_else(|| u64::from(bytes.byte()) << (bad * 9) | 1 << 63);
                // SAFETY: the pointers are null or to values of their types.
                unsafe {
                    assert!(!checked(hw_root_remove(None, root, &mut why), &why));
                    let removed = checked(hw_root_remove(self.heap(), root, &mut why), &why);
                    assert_eq!(removed, known.is_some());
                    assert!(!checked(hw_root_remove(self.heap(), root, &mut why), &why), "removed twice");
                }
            }
            13 | 14 => {
                let Some(&(known, _)) = self.types.get(bytes.byte() as usize % self.types.len().max(1))
                else {
                    return;
                };
                let number = if bad == 1 { known ^ 1 << 20 } else { known };
                let Some(&(_, size)) = self.types.iter().find(|known| known.0 == number) else {
                    // SAFETY: the mutator is attached and this thread's.
                    assert!(unsafe { hw_alloc_zeroed(self.m(), number) }.is_null(), "an object of no type");
                    return;
                };
                let n = bytes.byte() as usize % 9;
                let is_array = matches!(bad, 3 | 4) && size.saturating_mul(n) <= MOST;
                // SAFETY: the mutator is attached and this thread's.
                let object = unsafe {
                    match bad {
                        2 => hw_alloc_array(self.m(), number, usize::MAX - n),
                        _ if is_array => hw_alloc_array(self.m(), number, n),
                        _ => hw_alloc_zeroed(self.m(), number),
                    }
                };
                if object.is_null() {
                    return;
                }
                assert!(bad != 2 && (object as usize).is_multiple_of(16));
                let mut room = 0;
                // SAFETY: as above.
                let base = unsafe { hw_base(self.m(), object as usize, &mut room) };
                assert_eq!(base, object);
                let asked = if is_array { size * n } else { size };
                assert!(room >= asked, "{room} bytes for {asked}");
                // SAFETY: the object was just made.
                let handle = unsafe { hw_handle_new(self.m(), object as usize) };
                assert!(!handle.is_null());
                self.handles.push((handle, object as usize));
            }
            15 => {
                // Slots that are no longer held may refer to what a collection frees: none does.
                for slot in &mut self.slots[..] {
                    if !self.handles.iter().any(|held| held.1 == *slot) {
                        *slot = 0;
                    }
                }
                // SAFETY: the mutator is attached and this thread's; every slot holds null or an object.
                unsafe {
                    assert_eq!(hw_collect(None), Status::EINVAL);
                    assert_eq!(hw_collect(Some(self.m())), Status::OK);
                }
                for &(_, object) in &self.handles {
                    // SAFETY: as above.
                    let base = unsafe { hw_base(self.m(), object, null_mut()) };
                    assert_eq!(base as usize, object, "what a handle holds is gone");
                }
            }
            16 if self.stacks.len() < 64 => {
                let i = bytes.byte() as usize % 8 * 8;
                let low = (&raw mut self.room[i]).cast::<c_void>();
                let high = low.wrapping_byte_add(64);
                let (mut stack, mut why) = (null_mut(), ErrorReport::NONE);
                let heap = if bad == 1 { None } else { self.heap() };
                // SAFETY: the room outlives the heap; an invalid stack is refused before it is read.
                let status = unsafe {
                    match bad {
                        2 => hw_stack_range_add(heap, low, high, null_mut(), &mut why),
                        3 => hw_stack_range_add(heap, high, low, &mut stack, &mut why),
                        4 => hw_stack_range_add(heap, low, low, &mut stack, null_mut()),
                        5 => hw_stack_range_add(heap, null_mut(), high, &mut stack, &mut why),
                        _ => hw_stack_range_add(heap, low, high, &mut stack, &mut why),
                    }
                };
                assert_eq!(status == Status::OK, !(1..=5).contains(&bad));
                assert!(bad == 4 || checked(status, &why) != stack.is_null());
                if status == Status::OK {
                    assert!(!self.stacks.contains(&stack), "a stack's name twice");
                    self.stacks.push(stack);
                }
            }
            17 if !self.stacks.is_empty() => {
                let stack = self.stacks.swap_remove(bytes.byte() as usize % self.stacks.len());
                // SAFETY: the stack is this heap's, and its name is no other's before the next is registered.
                unsafe {
                    assert!(!checked(hw_stack_range_remove(None, stack, &mut why), &why));
                    assert!(!checked(hw_stack_range_remove(self.heap(), null_mut(), &mut why), &why));
                    assert!(checked(hw_stack_range_remove(self.heap(), stack, &mut why), &why));
                    assert!(!checked(hw_stack_range_remove(self.heap(), stack, &mut why), &why), "twice");
                    let here = (&raw mut why).cast();
                    assert_eq!(hw_stack_announce(Some(self.m()), stack, here), Status::EINVAL, "removed");
                }
            }
            18 => self.switch(bad, bytes.byte()),
            19.. => self.machine_step(op - 19, bad, bytes),
            _ => {}
        }
        for &(handle, object) in &self.handles {
            // SAFETY: handles that are held can be read.
            assert_eq!(unsafe { &*handle }.load(core::sync::atomic::Ordering::Relaxed), object);
        }
    }

    /// Switches that are refused, and one there and back that only is announced.
    fn switch(&self, bad: u8, which: u8) {
        let (mut why, mut jumped, m) = (ErrorReport::NONE, 0u32, Some(self.m()));
        let (arg, here) = ((&raw mut jumped).cast::<c_void>(), (&raw mut why).cast::<c_void>());
        let (mut other, inside) = (null_mut(), (&raw const self.room[which as usize % 64]).cast_mut().cast());
        // SAFETY: the mutator is attached and this thread's, which stays on its stack and collects nothing meanwhile; a jump from a
        // stack to itself leads nowhere.
        unsafe {
            assert_eq!(hw_self(self.heap()), self.m);
            assert!(checked(hw_attach_if_needed(self.heap(), &mut other, &mut why), &why) && other == self.m);
            assert!(!checked(hw_attach_bounds(self.heap(), inside, inside, &mut other, &mut why), &why));
            assert_eq!(hw_stack_switch(None, null_mut(), Some(stay), arg), Status::EINVAL);
            assert_eq!(hw_stack_switch(m, null_mut(), None, arg), Status::EINVAL);
            assert_eq!(hw_stack_announce(None, null_mut(), here), Status::EINVAL);
            assert_eq!(hw_stack_announce(m, null_mut(), inside), Status::ESTATE, "not on the stack");
            assert_eq!(hw_stack_announce(m, null_mut(), null_mut()), Status::ESTATE);
            assert_eq!((hw_stack_switch(m, null_mut(), Some(stay), arg), jumped), (Status::OK, 1));
            let Some(&stack) = self.stacks.get(which as usize % self.stacks.len().max(1)) else { return };
            assert_eq!(hw_stack_announce(m, stack, inside), Status::ESTATE);
            assert_eq!(hw_stack_announce(m, stack, here), Status::OK);
            assert!(!checked(hw_stack_range_remove(self.heap(), stack, &mut why), &why), "in use");
            if bad < 4 {
                // The thread has not gone there, so it cannot leave it.
                assert_eq!(hw_stack_switch(m, null_mut(), Some(stay), arg), Status::ESTATE);
                assert_eq!(hw_stack_announce(m, null_mut(), here), Status::ESTATE);
            }
            // Announces the empty stack, by its end.
            let back = (0..64).map(|i| (&raw const self.room[i]).cast_mut().cast());
            let done = back.map(|sp| hw_stack_announce(m, null_mut(), sp)).find(|&done| done == Status::OK);
            assert_eq!((done, jumped), (Some(Status::OK), 1));
        }
    }

    fn end(self) {
        let mut why = ErrorReport::NONE;
        // SAFETY: nothing uses heap or mutator afterwards.
        unsafe {
            assert!(!checked(hw_heap_destroy(self.heap, &mut why), &why), "a thread is attached");
            assert_eq!(hw_detach(null_mut()), Status::EINVAL);
            assert_eq!(hw_detach(self.m), Status::OK);
            assert!(checked(hw_heap_destroy(self.heap, &mut why), &why));
        }
    }
}

/// Makes the calls of the bytes, on a new heap.
pub(crate) fn replay(data: &[u8]) {
    let (mut bytes, mut world) = (Bytes(data), World::new());
    while !bytes.0.is_empty() {
        world.step(&mut bytes);
    }
    world.end();
}
