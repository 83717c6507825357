//! The bits of the write barrier's flag: why stores take its slow half. Invariant: the flag of each mutator is the heap's, but
//! for `YOUNG`, which a thread may take back once it has declared the remembered set overflowed.

/// A full marking is under way.
pub(crate) const MARK: u32 = 1;
/// There are young collections.
pub(crate) const YOUNG: u32 = 2;
/// Stores are noted.
pub(crate) const VERIFY: u32 = 4;
