//! Who called: the return addresses on the calling thread's stack, by the unwinder that the standard library is linked with, and what
//! they mean to a reader: a file and an offset in it, which `addr2line` understands. For reports of misuse; it is slow.
//! Invariant: nothing here allocates from the ordinary heap, once the unwinder has been used.

use core::ffi::{CStr, c_int, c_void};
use core::fmt;

/// How many callers are kept.
pub const CALLERS: usize = 8;

/// Return addresses, the innermost first; 0 where there is none.
pub type Callers = [usize; CALLERS];

struct Collecting {
    found: Callers,
    len: usize,
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

extern "C" fn each(context: *mut c_void, collecting: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const END: c_int = 5;
    // SAFETY: what `callers` gives, which alone uses it meanwhile; the context is the unwinder's.
    let (collecting, address) = unsafe { (&mut *collecting.cast::<Collecting>(), _Unwind_GetIP(context)) };
    // An address that is returned to lies behind the call.
    collecting.found[collecting.len] = address.saturating_sub(1);
    collecting.len += 1;
    if collecting.len == CALLERS { END } else { GO_ON }
}

/// The callers of this.
#[inline(never)]
pub fn callers() -> Callers {
    let mut collecting = Collecting { found: [0; CALLERS], len: 0 };
    // SAFETY: the function takes what it is given here.
    unsafe { _Unwind_Backtrace(each, (&raw mut collecting).cast()) };
    collecting.found
}

/// Where code lies.
#[derive(Clone, Copy)]
pub struct Place(usize);

impl Place {
    /// Of an instruction.
    pub fn of(address: usize) -> Self {
        Place(address)
    }
}

impl fmt::Display for Place {
    /// The function if the loader knows its name, and the file with the offset in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: all-zero bytes are such a structure.
        let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
        // SAFETY: the loader writes no more than the structure.
        if unsafe { libc::dladdr(self.0 as *const c_void, &raw mut info) } == 0 || info.dli_fname.is_null() {
            return write!(f, "{:#x}", self.0);
        }
        // SAFETY: texts of the loader's, which stay as long as the library is loaded.
        let text = |text: *const core::ffi::c_char| unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("?");
        if !info.dli_sname.is_null() {
            write!(f, "{} in ", text(info.dli_sname))?;
        }
        write!(f, "{}+{:#x}", text(info.dli_fname), self.0 - info.dli_fbase as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn inner() -> Callers {
        core::hint::black_box(callers())
    }

    #[test]
    fn callers_lie_in_this_program() {
        let (first, second) = (inner(), core::hint::black_box(inner()));
        assert!(first[0] != 0 && first[1] != 0 && first[0] == second[0], "{first:x?}");
        let here = std::env::current_exe().unwrap();
        let told = Place::of(first[1]).to_string();
        assert!(told.contains(here.file_name().unwrap().to_str().unwrap()) && told.contains("+0x"), "{told}");
        assert_eq!(Place::of(1).to_string(), "0x1");
    }
}
