//! Checks of a stopped heap: the `walker` recomputes its invariants, `snapshot` lists dead spans, `owned` counts memory
//! that mutators own and do not use, `parts` says where all memory is.

pub(crate) mod owned;
pub(crate) mod parts;
pub(crate) mod snapshot;
pub(crate) mod walker;
