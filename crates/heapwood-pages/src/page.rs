//! The page, the unit of allocation. Its size is that of the Go page allocator proposal, whatever the kernel's page
//! size is.

/// The logarithm of [`PAGE_SIZE`].
pub const LOG_PAGE_SIZE: u32 = 13;

/// The size of a page in bytes.
pub const PAGE_SIZE: usize = 1 << LOG_PAGE_SIZE;

const _: () = assert!(PAGE_SIZE == 8192 && PAGE_SIZE.is_multiple_of(heapwood_os::LEAST_KERNEL_PAGE));
const _: () = assert!(usize::BITS == 64, "indexes of 48-bit address spaces need 64-bit words");
