//! Where spans get pages.
//!
//! | module | what it holds |
//! |---|---|
//! | `first_touch` | whether huge pages are worth it |
//! | `memory` | the reservation: committing, huge pages, giving back |
//! | `page_blocks` | pages that a mutator has cached |
//! | `page_heap` | the page allocator over it, the tables beside it, growth, the limit |

mod first_touch;
mod memory;
pub(crate) mod page_blocks;
pub(crate) mod page_heap;
