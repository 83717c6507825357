//! The granule: every object starts at a multiple of it, and each granule has a mark bit.

/// Bytes of a granule.
pub const GRANULE: usize = 16;
/// log2 of [`GRANULE`].
pub(crate) const GRANULE_LOG: u32 = GRANULE.trailing_zeros();

const _: () = assert!(GRANULE.is_power_of_two() && GRANULE == 1 << GRANULE_LOG);
