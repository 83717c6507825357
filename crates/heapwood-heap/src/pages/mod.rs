//! The pages that spans are made of.
//!
//! | module | contents |
//! |---|---|
//! | `first_touch` | the decision for or against huge pages |
//! | `memory` | the reservation: commit, huge pages, release |
//! | `page_blocks` | a mutator's cached pages |
//! | `page_heap` | the page allocator over the reservation, the tables beside it, growth, the limit |

mod first_touch;
pub(crate) mod memory;
pub(crate) mod page_blocks;
pub(crate) mod page_heap;
