//! Statuses, which every function that can fail returns. Invariant: a number never changes its meaning.

use core::ffi::{CStr, c_char};

/// The header's `hw_status`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub i32);

impl Status {
    /// Done.
    pub const OK: Status = Status(0);
    /// The system gave no memory.
    pub const ENOMEM: Status = Status(-1);
    /// The heap's limit or address range has no room left.
    pub const ELIMIT: Status = Status(-2);
    /// An argument is wrong.
    pub const EINVAL: Status = Status(-3);
    /// A type's description is wrong.
    pub const EDESC: Status = Status(-4);
    /// Not in this state, or not on this thread.
    pub const ESTATE: Status = Status(-5);
    /// The system does not provide required information.
    pub const ENOSYS: Status = Status(-7);
    /// A table of the heap is full.
    pub const EFULL: Status = Status(-10);

    /// Its name and meaning.
    pub fn text(self) -> &'static CStr {
        match self {
            Status::OK => c"HW_OK: done",
            Status::ENOMEM => c"HW_ENOMEM: the system gave no memory",
            Status::ELIMIT => c"HW_ELIMIT: the heap's limit, its address range, or what the process's memory leaves it has no room left",
            Status::EINVAL => c"HW_EINVAL: an argument is wrong",
            Status::EDESC => c"HW_EDESC: a type's description is wrong",
            Status::ESTATE => c"HW_ESTATE: not in this state, or not on this thread",
            Status::ENOSYS => c"HW_ENOSYS: the system does not tell what is needed, or its pages are too large",
            Status::EFULL => c"HW_EFULL: a table of the heap is full",
            _ => c"not a status of Heapwood",
        }
    }
}

/// The name and meaning of a status.
#[unsafe(no_mangle)]
pub extern "C" fn hw_strstatus(status: Status) -> *const c_char {
    status.text().as_ptr()
}
