//! The processor's counter: reading it costs a few nanoseconds, where a system call for CPU time costs more than what is timed.
//! Invariant: a measured time only grows, while the rate is measured ever more exactly.

use crate::process::clock::monotonic_ns;

/// The processor's counter, which has a constant rate and is synchronised across processors.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the counter.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: user programs may read the virtual counter on Linux.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }
}

/// The rate of the counter, measured since this clock was started.
#[derive(Clone, Copy, Debug)]
pub struct TickClock {
    ticks: u64,
    ns: u64,
}

impl TickClock {
    /// Starts the measurement.
    pub fn start() -> Self {
        TickClock { ticks: ticks(), ns: monotonic_ns() }
    }

    /// Converts ticks to nanoseconds.
    pub fn ns(&self, count: u64) -> u64 {
        let passed = ticks().wrapping_sub(self.ticks).max(1);
        let ns = monotonic_ns() - self.ns;
        (count as u128 * ns as u128 / passed as u128) as u64
    }
}
