//! Checks of a stopped heap: the `walker` recomputes its invariants, `snapshot` lists dead spans, `parts` says
//! where all memory is.

pub(crate) mod parts;
pub(crate) mod snapshot;
pub(crate) mod walker;
