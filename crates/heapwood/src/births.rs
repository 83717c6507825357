//! In verify mode, the types of objects, for reports: each allocation takes a slow path then, and notes the type's name beside the object.
//! Invariant: a name is made before its object, since making it may allocate, and stays for good.

use core::any::type_name;
use core::ffi::{CStr, c_char};
use core::ptr::NonNull;
use heapwood_gc::{Mutator, Origin};
use heapwood_os::threads::stack::thread_id;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

/// The name of the type of an object to come, if reports are to know it.
pub(crate) struct Birth {
    name: *const c_char,
    plain: bool,
}

impl Birth {
    /// Of an object of type `T`, which holds no pointers if it is `plain`.
    #[inline]
    pub(crate) fn of<T: ?Sized>(m: &Mutator, plain: bool) -> Option<Self> {
        let config = m.heap().config();
        (config.verify && config.sites).then(|| Birth { name: name_of(type_name::<T>()).as_ptr(), plain })
    }

    /// Notes it for an object that was made just now, or is about to be.
    pub(crate) fn note(&self, m: &Mutator, object: NonNull<u8>) {
        let (thread, name) = (thread_id(), Some(self.name));
        // SAFETY: the name stays.
        unsafe {
            m.note_origin(object, Origin { name, sites: [0; 2], thread, bytes: None, plain: self.plain })
        };
    }
}

/// A name with a zero behind it.
fn name_of(name: &'static str) -> &'static CStr {
    /// By the addresses of the names without.
    static NAMES: Mutex<Option<HashMap<(usize, usize), &'static CStr>>> = Mutex::new(None);
    let key = (name.as_ptr() as usize, name.len());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    names.get_or_insert_default().entry(key).or_insert_with(|| match CString::new(name) {
        Ok(name) => Box::leak(name.into_boxed_c_str()),
        Err(_) => c"object",
    })
}
