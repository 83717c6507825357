//! What verify mode says, and to whom; and why an object is alive. Invariant: none of this changes what a collection finds.

use crate::error::Error;
use crate::error_report::ErrorReport;
use crate::handle::HeapHandle;
use crate::status::Status;
use crate::threads::{refuse, tell};
use crate::type_table::TypeNumber;
use core::ffi::{CStr, c_char, c_void};
use core::fmt::{self, Write};
use heapwood_gc::{Mutator, ReportFn, ReportHook};

/// Names a type for reports.
///
/// # Safety
/// 1. `heap` is NULL or exists; `name` is NULL or a text; `why` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_type_name(
    heap: Option<&HeapHandle>,
    ty: TypeNumber,
    name: *const c_char,
    why: *mut ErrorReport,
) -> Status {
    let set = || {
        let heap = heap.ok_or(Error::Null("heap"))?;
        if name.is_null() {
            return Err(Error::Null("name"));
        }
        // SAFETY: contract 1.
        heap.types.set_name(&heap.heap, ty, unsafe { CStr::from_ptr(name) })
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, set(), why) }
}

/// Sets the function that gets the reports of verify mode, or removes it.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
/// 2. Until it is replaced, any thread may call `f` with `arg`, and it keeps the header's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_on_report(
    heap: Option<&HeapHandle>,
    f: Option<ReportFn>,
    arg: *mut c_void,
    why: *mut ErrorReport,
) -> Status {
    let set = || {
        let heap = heap.ok_or(Error::Null("heap"))?;
        // SAFETY: contract 2.
        unsafe { heap.heap.on_report(f.map(|function| ReportHook { function, argument: arg })) }?;
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, set(), why) }
}

/// A text of the program, with room for so many bytes and a zero.
struct Text {
    at: *mut u8,
    room: usize,
}

impl Write for Text {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let n = s.len().min(self.room);
        // SAFETY: `hw_why_alive` was promised the room.
        unsafe {
            self.at.copy_from_nonoverlapping(s.as_ptr(), n);
            self.at = self.at.add(n);
            self.at.write(0);
        }
        self.room -= n;
        if n < s.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Writes why an object is alive.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. `text` may be written for `n` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_why_alive(
    m: &Mutator,
    object: *const c_void,
    text: *mut c_char,
    n: usize,
) -> Status {
    if text.is_null() || n == 0 {
        return refuse(m, Error::Null("text"));
    }
    let mut text = Text { at: text.cast(), room: n - 1 };
    match m.why_alive(object as usize, &mut text) {
        Ok(()) => Status::OK,
        Err(error) => refuse(m, Error::WhyAlive(error)),
    }
}
