//! AddressSanitizer, where the program was built with it: memory that the program must not touch is made known to it. Its functions
//! are looked up by name, so that nothing here depends on it. Invariant: without it nothing is called.

use core::ffi::c_void;

type Mark = unsafe extern "C" fn(*const c_void, usize);

/// The sanitizer of the process.
#[derive(Clone, Copy, Debug)]
pub struct AddressSanitizer {
    poison: Mark,
    unpoison: Mark,
}

impl AddressSanitizer {
    /// The sanitizer, if the process has one.
    pub fn find() -> Option<Self> {
        let mark = |name: &core::ffi::CStr| {
            // SAFETY: the name ends with a zero.
            let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            // SAFETY: the sanitizer's functions of these names have this type (sanitizer/asan_interface.h).
            (!found.is_null()).then(|| unsafe { core::mem::transmute::<*mut c_void, Mark>(found) })
        };
        Some(AddressSanitizer {
            poison: mark(c"__asan_poison_memory_region")?,
            unpoison: mark(c"__asan_unpoison_memory_region")?,
        })
    }

    /// From now on code that was built with the sanitizer is reported if it touches these bytes.
    pub fn poison(self, at: usize, bytes: usize) {
        // SAFETY: it changes shadow memory only.
        unsafe { (self.poison)(at as *const c_void, bytes) };
    }

    /// Ends that.
    pub fn unpoison(self, at: usize, bytes: usize) {
        // SAFETY: as above.
        unsafe { (self.unpoison)(at as *const c_void, bytes) };
    }
}
