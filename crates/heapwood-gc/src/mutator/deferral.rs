//! Whether a mutator's allocations collect (`entry/deferral.rs`).

/// What a mutator does when a collection is due.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deferral {
    /// It collects.
    Off,
    /// It allocates on.
    On,
    /// It has allocated on, though a marking beside the program is behind.
    Behind,
    /// It has allocated on, though a collection is due.
    Due,
}
