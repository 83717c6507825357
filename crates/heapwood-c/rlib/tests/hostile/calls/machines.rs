//! The calls for virtual machines, as `calls` makes the others: stores that are announced or name no owner, tails, functions that
//! name roots, walks, reserves, mutators that are given away, regions in two halves, names and reasons.
//! Invariant: each call that is wrong is refused with its reason, and what was begun in a step has ended after it.

use super::{Bytes, World, checked};
use core::ffi::{CStr, c_char, c_void};
use core::ptr::{null, null_mut};
use heapwood_c::alloc::hw_base;
use heapwood_c::barrier::{hw_dirty, hw_plain_begin, hw_plain_end, hw_plain_top, hw_write_inside_slow};
use heapwood_c::control::hw_collect;
use heapwood_c::error_report::ErrorReport;
use heapwood_c::external::hw_reserve;
use heapwood_c::report::{hw_on_report, hw_type_name, hw_why_alive};
use heapwood_c::roots::{hw_handle_new, hw_root_function};
use heapwood_c::status::Status;
use heapwood_c::tail::{TailGiven, hw_alloc_tail_slow, hw_type_tail};
use heapwood_c::threads::{
    hw_blocking_begin, hw_blocking_end, hw_last_error, hw_mutator_give, hw_mutator_take, hw_request_poll,
};
use heapwood_c::types::{TagGiven, hw_heap_tag};
use heapwood_c::walk::hw_walk;
use heapwood_heap::Address;
use heapwood_layout::TraceContext;

/// How many kinds of steps there are here.
pub(super) const STEPS: u8 = 12;

/// Names no root.
unsafe extern "C" fn no_roots(_: *mut c_void, _: *mut TraceContext) {}

unsafe extern "C" fn count(number: *mut c_void, object: *mut u8, _: u32, size: usize) {
    assert!(!object.is_null() && size > 0);
    // SAFETY: the walk passes its own number.
    unsafe { *number.cast::<usize>() += 1 };
}

unsafe extern "C" fn never(_: *mut c_void, _: *const c_char) {
    panic!("nothing is wrong that verify mode reports");
}

impl World {
    /// Whether a call was accepted; if not, that the mutator's last error says so.
    fn accepted(&self, status: Status) -> bool {
        // SAFETY: the mutator is this thread's, and its last error stays until the next.
        status == Status::OK || checked(status, unsafe { &*hw_last_error(self.m()) })
    }

    pub(super) fn machine_step(&mut self, step: u8, bad: u8, bytes: &mut Bytes<'_>) {
        let m = (bad != 1).then(|| self.m());
        let given = self.object(bytes);
        // No object, or not its first byte.
        let object = match bad {
            2 => given | 8,
            3 => given | 1,
            4 => (&raw const self.slots[0]) as usize,
            _ => given,
        };
        let is_right = given != 0 && !(1..=4).contains(&bad);
        match step {
            0 => {
                // SAFETY: the mutator is this thread's, here and below; addresses of any kind are refused.
                let status = unsafe { hw_dirty(m, object as *mut u8) };
                assert_eq!(status == Status::OK, is_right, "{object:#x} {status:?}");
            }
            1 => self.plain(object, is_right || bad == 1 && given != 0, bytes),
            2 => {
                let slot = &raw mut self.slots[bytes.byte() as usize % 64];
                // SAFETY: the slot is outside the heap, and the value an object or null.
                unsafe { hw_write_inside_slow(self.m(), slot, Address::new(given)) };
            }
            3 => {
                let (heap, mut why) = (if bad == 1 { None } else { self.heap() }, ErrorReport::NONE);
                let function = if bad == 2 { None } else { Some(no_roots as _) };
                // SAFETY: the function names nothing, whoever calls it.
                let root = unsafe { hw_root_function(heap, function, null_mut(), &mut why) };
                assert_eq!(root != 0, bad != 1 && bad != 2);
                if root != 0 {
                    self.roots.push(root);
                }
            }
            4 => {
                let mut objects = 0usize;
                let function = if bad == 2 { None } else { Some(count as _) };
                // SAFETY: the function adds to the number.
                let status = unsafe { hw_walk(m, function, (&raw mut objects).cast()) };
                assert_eq!(status == Status::OK, bad != 1 && bad != 2);
                let held: std::collections::HashSet<usize> = self.handles.iter().map(|held| held.1).collect();
                assert!(status != Status::OK || objects >= held.len() - usize::from(held.contains(&0)));
            }
            5 => {
                let size = bytes.size();
                // SAFETY: as above.
                unsafe {
                    let status = hw_reserve(m, size);
                    assert!(m.is_some() && self.accepted(status) || status != Status::OK);
                    assert!(bad < 4 || hw_reserve(m, 0) == Status::OK);
                }
            }
            6 => self.give(bad),
            7 => {
                // SAFETY: nothing is allocated between the two.
                unsafe {
                    assert_eq!(hw_blocking_end(Some(self.m())), Status::ESTATE);
                    assert_eq!(
                        (hw_blocking_begin(None), hw_blocking_end(None)),
                        (Status::EINVAL, Status::EINVAL)
                    );
                    assert_eq!(hw_blocking_begin(Some(self.m())), Status::OK);
                    assert_eq!(hw_blocking_begin(Some(self.m())), Status::ESTATE);
                    assert_eq!(hw_collect(Some(self.m())), Status::ESTATE);
                    assert_ne!(hw_dirty(Some(self.m()), object as *mut u8), Status::OK);
                    assert_eq!(hw_blocking_end(Some(self.m())), Status::OK);
                }
            }
            8 => self.tail(bad, bytes),
            9 => {
                let (mut why, name) = (ErrorReport::NONE, [bytes.take(80), &[0]].concat());
                let number =
                    self.types.get(bytes.byte() as usize % self.types.len().max(1)).map_or(0, |ty| ty.0);
                let number = if bad == 2 { number ^ 1 << 20 } else { number };
                let is_known = self.types.iter().any(|ty| ty.0 == number);
                let heap = if bad == 1 { None } else { self.heap() };
                let text = if bad == 3 { null() } else { name.as_ptr().cast() };
                // SAFETY: the name ends with a zero.
                let status = unsafe { hw_type_name(heap, number, text, &mut why) };
                assert_eq!(checked(status, &why), is_known && bad != 1 && bad != 3);
            }
            10 => {
                let mut text = [1u8; 200];
                let room = if bad == 5 { 0 } else { 1 + bytes.byte() as usize % 199 };
                if m.is_none() {
                    return;
                }
                // SAFETY: the text has the room.
                let status = unsafe {
                    hw_why_alive(self.m(), object as *const c_void, text.as_mut_ptr().cast(), room)
                };
                assert_eq!(self.accepted(status), is_right && bad != 5, "{object:#x}");
                assert!(status != Status::OK || CStr::from_bytes_until_nul(&text[..room]).is_ok());
                assert!(text[room..].iter().all(|&byte| byte == 1), "written behind the text");
            }
            _ => {
                let mut why = ErrorReport::NONE;
                // SAFETY: the function is called with any argument; a tag is two words.
                unsafe {
                    hw_request_poll(m);
                    assert!(!checked(hw_on_report(None, None, null_mut(), &mut why), &why));
                    assert!(checked(hw_on_report(self.heap(), Some(never), null_mut(), &mut why), &why));
                    let tag =
                        core::mem::transmute::<[u64; 2], TagGiven>([u64::from(bad), u64::from(bytes.byte())]);
                    if !self.types.is_empty() {
                        assert!(!checked(hw_heap_tag(self.heap(), tag, &mut why), &why), "there are types");
                    }
                    assert!(!checked(hw_heap_tag(None, tag, &mut why), &why));
                }
            }
        }
    }

    /// An object takes plain stores for a while.
    fn plain(&self, object: usize, is_right: bool, bytes: &mut Bytes<'_>) {
        let (n, m, object, mut size) = (bytes.size(), Some(self.m()), object as *mut u8, 0);
        // SAFETY: the mutator is this thread's; nothing is stored.
        unsafe {
            assert_eq!(hw_plain_begin(None, object, n, null_mut()), Status::EINVAL);
            assert_ne!(hw_plain_end(m, object), Status::OK, "it was not begun");
            let mut top = null();
            let begun = self.accepted(hw_plain_begin(m, object, n, &mut top));
            assert!(is_right || !begun);
            if !begun {
                assert_ne!(hw_plain_top(m, object, 0), Status::OK);
                return;
            }
            hw_base(self.m(), object as usize, &mut size);
            assert!(!top.is_null() && (n == usize::MAX || n <= size));
            assert_ne!(hw_plain_begin(m, object, n, null_mut()), Status::OK, "begun twice");
            self.accepted(hw_plain_top(m, object, bytes.size()));
            assert_eq!(hw_plain_top(m, object, 0), Status::OK);
            // It clears what is above the top: no other object's slots are these.
            assert!(bytes.byte().is_multiple_of(2) || hw_collect(m) == Status::OK);
            assert_eq!(hw_plain_end(m, object), Status::OK);
            assert_ne!(hw_plain_end(m, object), Status::OK, "ended twice");
        }
    }

    fn give(&self, bad: u8) {
        let (mut why, m) = (ErrorReport::NONE, Some(self.m()));
        // SAFETY: this thread takes it again.
        unsafe {
            assert!(!checked(hw_mutator_take(self.heap(), self.m, &mut why), &why), "it is this thread's");
            assert_eq!(hw_mutator_give(None), Status::EINVAL);
            assert_eq!(hw_mutator_give(m), Status::OK);
            assert_eq!(hw_mutator_give(m), Status::ESTATE);
            if bad < 4 {
                assert_eq!(hw_reserve(m, 1), Status::ESTATE);
                assert!(!checked(hw_mutator_take(None, self.m, &mut why), &why));
                assert!(!checked(hw_mutator_take(self.heap(), null_mut(), &mut why), &why));
            }
            assert!(checked(hw_mutator_take(self.heap(), self.m, &mut why), &why));
        }
    }

    /// An object with a tail of elements of some type.
    fn tail(&mut self, bad: u8, bytes: &mut Bytes<'_>) {
        let mut ty = || self.types.get(bytes.byte() as usize % self.types.len().max(1)).map_or(0, |ty| ty.0);
        let (header, element) = (if bad == 2 { 0 } else { ty() }, if bad == 3 { 1 << 21 } else { ty() });
        let mut why = ErrorReport::NONE;
        let mut given = core::mem::MaybeUninit::<TailGiven>::zeroed();
        let heap = if bad == 1 { None } else { self.heap() };
        // SAFETY: the result has room for a tail, which zeros are.
        let (status, given) = unsafe {
            let out = if bad == 4 { null_mut() } else { given.as_mut_ptr() };
            (hw_type_tail(heap, header, element, out, &mut why), given.assume_init())
        };
        if !checked(status, &why) {
            return;
        }
        assert!(bad != 1 && bad != 3 && bad != 4 && given.ty != 0 && given.element > 0);
        let n = if bad == 5 { usize::MAX - bytes.size() } else { bytes.byte() as usize };
        if given.element.saturating_mul(n) > super::MOST && bad != 5 {
            return;
        }
        // SAFETY: the mutator is this thread's, and the object gets a handle at once.
        unsafe {
            let object = hw_alloc_tail_slow(self.m(), given.ty, n) as usize;
            if object != 0 {
                let handle = hw_handle_new(self.m(), object);
                assert!(!handle.is_null());
                self.handles.push((handle, object));
            }
        }
    }
}
