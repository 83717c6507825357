//! What mutators share, and how dead objects become free cells and pages again.
//!
//! | module | what it holds |
//! |---|---|
//! | `central` | the state behind one lock: three lists of spans a shape, the budget |
//! | `sweeper` | lazy sweeping, and the pages that it frees |

pub(crate) mod central;
pub(crate) mod sweeper;
