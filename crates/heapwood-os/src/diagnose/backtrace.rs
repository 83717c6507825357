//! Backtraces: the return addresses on the calling thread's stack, by the unwinder that the standard library links,
//! and their text: a file and an offset in it, which `addr2line` understands. For reports of misuse; it is slow.
//! Invariant: once the unwinder has been used, nothing here allocates from the ordinary heap.

use core::ffi::{CStr, c_int, c_void};
use core::fmt;

/// The most callers to record.
pub const CALLERS: usize = 8;

/// Return addresses, the innermost first; 0 marks an unused element.
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
    fn _Unwind_GetRegionStart(context: *mut c_void) -> usize;
}

extern "C" fn each(context: *mut c_void, collecting: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const END: c_int = 5;
    // SAFETY: `callers` passes this pointer and does not use it meanwhile; the unwinder passes the context.
    let (collecting, address) = unsafe { (&mut *collecting.cast::<Collecting>(), _Unwind_GetIP(context)) };
    // A return address lies after the call.
    collecting.found[collecting.len] = address.saturating_sub(1);
    collecting.len += 1;
    if collecting.len == CALLERS { END } else { GO_ON }
}

/// The callers of this function.
#[inline(never)]
pub fn callers() -> Callers {
    let mut collecting = Collecting { found: [0; CALLERS], len: 0 };
    // SAFETY: the function takes the pointer that is passed here.
    unsafe { _Unwind_Backtrace(each, (&raw mut collecting).cast()) };
    collecting.found
}

struct Seeking {
    function: usize,
    /// The next frame is that of a caller.
    is_caller: bool,
    found: [usize; 2],
    len: usize,
}

extern "C" fn seek(context: *mut c_void, seeking: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const END: c_int = 5;
    // SAFETY: as in `each`.
    let (seeking, address, start) =
        unsafe { (&mut *seeking.cast::<Seeking>(), _Unwind_GetIP(context), _Unwind_GetRegionStart(context)) };
    if seeking.is_caller {
        // A return address lies after the call.
        seeking.found[seeking.len] = address.saturating_sub(1);
        seeking.len += 1;
        return if seeking.len == seeking.found.len() { END } else { GO_ON };
    }
    seeking.is_caller = start == seeking.function;
    GO_ON
}

/// The callers of a function that is being called on this thread: the innermost, and that one's. 0 if there is none.
#[inline(never)]
pub fn callers_of(function: *const ()) -> [usize; 2] {
    let mut seeking = Seeking { function: function as usize, is_caller: false, found: [0; 2], len: 0 };
    // SAFETY: the function takes the pointer that is passed here.
    unsafe { _Unwind_Backtrace(seek, (&raw mut seeking).cast()) };
    seeking.found
}

/// The address of an instruction.
#[derive(Clone, Copy)]
pub struct CodeLocation(usize);

impl CodeLocation {
    /// Wraps an address.
    pub fn of(address: usize) -> Self {
        CodeLocation(address)
    }
}

impl fmt::Display for CodeLocation {
    /// The function, if the loader knows its name, and the file with the offset in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: all-zero bytes are a valid structure.
        let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
        // SAFETY: the loader writes no more than the structure.
        if unsafe { libc::dladdr(self.0 as *const c_void, &raw mut info) } == 0 || info.dli_fname.is_null() {
            return write!(f, "{:#x}", self.0);
        }
        // SAFETY: the loader's strings, which exist as long as the library is loaded.
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

    #[inline(never)]
    fn asks() -> [usize; 2] {
        core::hint::black_box(callers_of(asks as *const ()))
    }

    #[test]
    fn a_function_knows_where_it_returns_to() {
        let callers = inner();
        let sites = core::hint::black_box(asks());
        // Both were called by this function.
        assert!(sites[0].abs_diff(callers[2]) < 4096 && sites[1] == callers[3], "{sites:x?} {callers:x?}");
        assert_eq!(callers_of(inner as *const ()), [0; 2], "it is not being called");
    }

    #[test]
    fn callers_lie_in_this_program() {
        let (first, second) = (inner(), core::hint::black_box(inner()));
        assert!(first[0] != 0 && first[1] != 0 && first[0] == second[0], "{first:x?}");
        let here = std::env::current_exe().unwrap();
        let told = CodeLocation::of(first[1]).to_string();
        assert!(told.contains(here.file_name().unwrap().to_str().unwrap()) && told.contains("+0x"), "{told}");
        assert_eq!(CodeLocation::of(1).to_string(), "0x1");
    }
}
