//! The bits of the write barrier's flag: the reasons for which stores take the slow path. Invariant: each mutator's
//! flag is the heap's, except for `YOUNG`, which a thread may clear once it has declared the remembered set overflowed.

/// A full marking is active.
pub(crate) const MARK: u32 = 1;
/// There are young collections.
pub(crate) const YOUNG: u32 = 2;
/// Verify mode notes stores.
pub(crate) const VERIFY: u32 = 4;
/// The heap's words have tags, which the slow path clears. It is no reason to take that path.
pub(crate) const TAGGED: u32 = 8;
