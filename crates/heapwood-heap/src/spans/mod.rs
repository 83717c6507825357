//! Spans of pages, and the lookup from an address to its span.
//!
//! | module | contents |
//! |---|---|
//! | `span` | span descriptors and their states |
//! | `young_pages` | one byte a page: whether all objects there are young |
//! | `page_table` | one word a page: the kind and span of the page |
//! | `lookup` | both together: from an address to its span, and a walk over all spans |
//! | `span_list` | lists of spans |
//! | `large_objects` | the pages where large objects start |
//! | `page_set` | a set of pages that is walked without a look at the rest |
//! | `witness` | loom's view of span ownership |

pub(crate) mod large_objects;
pub(crate) mod lookup;
pub(crate) mod page_set;
pub(crate) mod page_table;
pub(crate) mod span;
pub(crate) mod span_list;
mod witness;
pub(crate) mod young_pages;
