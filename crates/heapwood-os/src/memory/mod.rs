//! Memory from the kernel: reserving, committing, releasing, safe reads, page sizes, and the reasons for refusals.

pub(crate) mod address_slots;
pub mod kernel;
pub(crate) mod limits;
pub mod linux;
pub mod mapped;
pub mod mapped_box;
pub mod mapped_index;
pub mod page;
pub mod pagemap;
pub(crate) mod parts;
pub mod region;
pub mod request;
pub mod safe_read;
