//! Prefetching: a hint that a line will be needed soon. It never faults, whatever the address.
//!
//! Allocation gives one such hint, whose place is chosen as the heap is built (`--cfg heapwood_prefetch="..."`), so that places can be
//! compared; docs/design/prefetch.md has what was measured. That a hint pays beside a barrier is an idea of golang/go#69224.

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

/// Fetches the line `AHEAD` bytes behind `addr` to be written: where the instruction adds, the compiler need not.
#[inline(always)]
fn for_write_ahead<const AHEAD: usize>(addr: *const u8) {
    #[cfg(target_arch = "x86_64")]
    for_write(addr.wrapping_add(AHEAD));
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{0}, #{1}]", in(reg) addr, const AHEAD, options(nostack, readonly, preserves_flags));
    }
}

/// Where allocation fetches memory from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere.
    Off,
    /// The object, before anything is written there.
    Object,
    /// The object, after the cursor has been stored.
    After,
    /// The object that will be made next.
    Next,
    /// The next line of the run.
    Line,
    /// Eight lines ahead, if the cell is at most a line long.
    Ahead,
}

/// The place that this heap was built with.
pub const PLACE: Place = if cfg!(heapwood_prefetch = "off") {
    Place::Off
} else if cfg!(heapwood_prefetch = "object") {
    Place::Object
} else if cfg!(heapwood_prefetch = "after") {
    Place::After
} else if cfg!(heapwood_prefetch = "next") {
    Place::Next
} else if cfg!(heapwood_prefetch = "line") {
    Place::Line
} else if cfg!(any(heapwood_prefetch = "ahead", target_arch = "aarch64")) {
    Place::Ahead
} else {
    Place::Off
};

const LINE: usize = 64;
const AHEAD: usize = 8 * LINE;

/// To be called with each cell of `size` bytes, a constant, before it is written.
#[inline(always)]
pub fn before_write(cell: *const u8, size: usize) {
    match PLACE {
        Place::Object => for_write(cell),
        Place::Next => for_write(cell.wrapping_add(size)),
        Place::Line => for_write_ahead::<LINE>(cell),
        Place::Ahead if size <= LINE => for_write_ahead::<AHEAD>(cell),
        Place::Off | Place::After | Place::Ahead => {}
    }
}

/// The same, after the cursor was stored.
#[inline(always)]
pub fn after_commit(cell: *const u8) {
    if let Place::After = PLACE {
        for_write(cell);
    }
}
