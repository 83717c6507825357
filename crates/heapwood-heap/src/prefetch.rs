//! Prefetching: a hint that a line will be needed soon. It never faults, whatever the address.
//!
//! [`new_object`] is the hint of an allocation: it prefetches the new object before its layout and value are written.
//! The idea is golang/go#69224, which measured it on arm64 and on x86-64 and enables it on arm64 alone; this heap does
//! the same. `--cfg heapwood_prefetch="off"` or `"object"` selects one of the two on either machine, to compare them:
//! docs/design/publication.md.

/// Prefetches the line at `addr` for reading.
#[inline(always)]
pub fn for_read(addr: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint; it does not fault and reads nothing.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(addr.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{0}]", in(reg) addr, options(nostack, readonly, preserves_flags));
    }
}

/// Prefetches the line at `addr` for writing.
#[inline(always)]
pub fn for_write(addr: *const u8) {
    #[cfg(target_arch = "x86_64")]
    for_read(addr);
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{0}]", in(reg) addr, options(nostack, readonly, preserves_flags));
    }
}

/// Whether an allocation prefetches the new object.
const OF_OBJECTS: bool =
    cfg!(any(heapwood_prefetch = "object", all(target_arch = "aarch64", not(heapwood_prefetch = "off"))));

/// Prefetches a new cell; called before it is written.
#[inline(always)]
pub fn new_object(cell: *const u8) {
    if OF_OBJECTS {
        for_write(cell);
    }
}
