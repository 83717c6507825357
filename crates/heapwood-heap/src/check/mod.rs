//! What looks at a heap that stands still: the `walker`, which recomputes what must hold, and the `snapshot` of its pages;
//! and what mutators have `owned` without use.

pub(crate) mod owned;
pub(crate) mod snapshot;
pub(crate) mod walker;
