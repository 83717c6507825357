//! Where objects lie: spans of pages, and the way from an address to its span.
//!
//! | module | what it holds |
//! |---|---|
//! | `span` | span descriptors and their states |
//! | `young_pages` | a byte a page: whether all there is young |
//! | `page_table` | a word a page: what lies there |
//! | `lookup` | the two together: from an address to its span, and over all spans |
//! | `span_list` | lists of spans |
//! | `large_objects` | where large objects start |
//! | `witness` | who uses a span as its own, for loom's models |

pub(crate) mod large_objects;
pub(crate) mod lookup;
pub(crate) mod page_table;
pub(crate) mod span;
pub(crate) mod span_list;
mod witness;
pub(crate) mod young_pages;
