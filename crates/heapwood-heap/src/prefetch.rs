//! Prefetching: a hint that a line will be needed soon. It never faults, whatever the address.

/// Fetches the line at `addr` for reading.
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

/// Fetches the line at `addr` to be written.
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
