//! What a heap may not have: memory beyond a limit, memory that the kernel refuses, pages of the heap's own size; and
//! memory outside the heap, which counts.

mod external;
mod kernel_pages;
mod limit;
mod refusal;
pub(crate) mod reserve;
mod run_time;
