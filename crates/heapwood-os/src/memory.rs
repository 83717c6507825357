//! Memory from the kernel: reserved, committed, given back, read where it may be unmapped. Sizes of pages. Why the kernel
//! refused.

pub mod kernel;
pub(crate) mod limits;
pub mod linux;
pub mod mapped_box;
pub mod mapped_index;
pub mod page;
pub mod pagemap;
pub mod region;
pub mod request;
pub mod safe_read;
