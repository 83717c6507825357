//! The pages that spans are made of.
//!
//! | module | contents |
//! |---|---|
//! | `external` | bytes outside the heap, which count like pages |
//! | `memory` | the reservation: commit, the decision for or against huge pages, release |
//! | `page_blocks` | a mutator's cached pages |
//! | `page_heap` | the page allocator over the reservation, the tables beside it, growth, the limit; it has the sweeper sweep before it grows |

pub(crate) mod external;
pub(crate) mod memory;
pub(crate) mod page_blocks;
pub(crate) mod page_heap;
