//! Where spans get pages.
//!
//! | module | what it holds |
//! |---|---|
//! | `memory` | the reservation: committing, huge pages, giving back |
//! | `page_heap` | the page allocator over it, the tables beside it, growth, the limit |

mod memory;
pub(crate) mod page_heap;
