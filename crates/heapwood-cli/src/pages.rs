//! `heapwood pages`: the page allocator alone, on samples of real heaps.
//!
//! | module | what it holds |
//! |---|---|
//! | `sample_file` | samples as files |

pub(crate) mod sample_file;
