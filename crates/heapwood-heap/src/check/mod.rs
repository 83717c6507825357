//! What looks at a heap that stands still: the `walker`, which recomputes what must hold, and the `snapshot` of its pages.

#[cfg(feature = "inspect")]
pub(crate) mod snapshot;
pub(crate) mod walker;
