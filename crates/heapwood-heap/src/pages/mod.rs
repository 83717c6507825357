//! The pages that spans are made of.
//!
//! | module | contents |
//! |---|---|
//! | `external` | bytes outside the heap, which count like pages |
//! | `first_touch` | the decision for or against huge pages |
//! | `memory` | the reservation: commit, huge pages, release |
//! | `page_blocks` | a mutator's cached pages |
//! | `page_heap` | the page allocator over the reservation, the tables beside it, growth, the limit |

pub(crate) mod external;
mod first_touch;
pub(crate) mod memory;
pub(crate) mod page_blocks;
pub(crate) mod page_heap;
