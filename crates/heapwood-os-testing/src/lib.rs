//! Kernels for tests, which pass on to the system what they do not refuse. No product depends on it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`faulty`] | a kernel that refuses on command |
//! | [`large_page_kernel`] | a kernel with larger pages |

/// Methods of a kernel that pass the request on to the system.
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => { $(
        unsafe fn $name(&self, $($argument: $type),*) $(-> $result)? {
            // SAFETY: the caller's contract is passed on.
            unsafe { heapwood_os::SYSTEM.$name($($argument),*) }
        }
    )* };
}

pub mod faulty;
pub mod large_page_kernel;
