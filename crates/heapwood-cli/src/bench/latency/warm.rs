//! Memory of the machine, touched and given back before a run. In a virtual machine with free page reporting the host takes
//! free memory away, and gives it back at its first touch: 4 ms for 2 MiB on some machines, in which the thread does not run. The
//! first program after a pause would pay for all that follow. Invariant: no memory is held when a run begins.

use heapwood_os::{LEAST_KERNEL_PAGE, MappedArray, SYSTEM};
use heapwood_report::machine::available_memory;

/// The part of the machine's free memory that is touched at most.
const MOST_PART: u64 = 2;
/// A program is expected to need N times what is alive.
const NEEDED: u64 = 3;

/// Touches as much memory as programs with so many bytes alive may need. Does nothing where the kernel refuses it.
pub(super) fn memory_for(live_bytes: u64) {
    let bytes = (NEEDED * live_bytes).min(available_memory() / MOST_PART) as usize;
    let Ok(memory) = MappedArray::<u8>::new(&SYSTEM, bytes) else { return };
    if bytes == 0 || memory.commit_huge(0..bytes).is_err() {
        return;
    }
    for at in (0..bytes).step_by(LEAST_KERNEL_PAGE) {
        // SAFETY: the element is committed, and nobody else has the memory.
        unsafe { memory.at(at).write_volatile(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is resident is the whole process's, so other tests must not run beside it.
    #[test]
    #[ignore = "of the long suite: memory that the kernel counts"]
    fn memory_is_given_back() {
        heapwood_gc_testing::in_child(|| {
            const LIVE: u64 = 64 << 20;
            let resident = || heapwood_os::process::usage::resident_memory().unwrap();
            let before = resident();
            memory_for(LIVE);
            let after = resident();
            assert!(after < before + LIVE, "{before} before, {after} after");
        });
    }
}
