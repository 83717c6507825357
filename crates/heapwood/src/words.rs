//! The search of memory for words in a range of addresses. Other threads may write the memory meanwhile, and parts of it may never have
//! been written: reads that Rust's model does not have. So they are instructions; they also take no longer in a debug build, in which
//! tests run. Invariant: a word that stays as it is during the search is found.

use core::arch::asm;
use core::ops::Range;

/// The address of the first word in `memory` that holds an address of `wanted`, of those that begin at its start and each `step` bytes on.
///
/// # Safety
/// 1. The memory is readable.
pub(crate) unsafe fn first_in(memory: Range<usize>, step: usize, wanted: &Range<usize>) -> Option<usize> {
    let end = (memory.end + 1).saturating_sub(size_of::<usize>());
    let mut at = memory.start;
    // SAFETY: it reads words that begin below `end`, which are readable (contract 1), and writes nothing.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(
            "2:",
            "cmp {at}, {end}",
            "jae 3f",
            "mov {word}, [{at}]",
            "sub {word}, {start}",
            "cmp {word}, {len}",
            "jb 3f",
            "add {at}, {step}",
            "jmp 2b",
            "3:",
            at = inout(reg) at,
            end = in(reg) end,
            word = out(reg) _,
            start = in(reg) wanted.start,
            len = in(reg) wanted.len(),
            step = in(reg) step,
            options(nostack, readonly),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(
            "2:",
            "cmp {at}, {end}",
            "b.hs 3f",
            "ldr {word}, [{at}]",
            "sub {word}, {word}, {start}",
            "cmp {word}, {len}",
            "b.lo 3f",
            "add {at}, {at}, {step}",
            "b 2b",
            "3:",
            at = inout(reg) at,
            end = in(reg) end,
            word = out(reg) _,
            start = in(reg) wanted.start,
            len = in(reg) wanted.len(),
            step = in(reg) step,
            options(nostack, readonly),
        );
    }
    (at < end).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_where_they_are() {
        let memory = [5usize, 100, 0, 109, 110, usize::MAX];
        let start = memory.as_ptr() as usize;
        let find = |from: usize, to: usize, step| {
            // SAFETY: within the array.
            unsafe { first_in(start + from..start + to, step, &(100..110)) }.map(|at| at - start)
        };
        assert_eq!((find(0, 48, 8), find(16, 48, 8), find(32, 48, 8)), (Some(8), Some(24), None));
        assert_eq!(
            (find(0, 15, 8), find(0, 16, 8), find(0, 0, 8), find(0, 7, 1)),
            (None, Some(8), None, None)
        );
        let mut bytes = [0xffu8; 40];
        bytes[13..21].copy_from_slice(&105usize.to_ne_bytes());
        let start = bytes.as_ptr() as usize;
        // SAFETY: within the array.
        let found = |end| unsafe { first_in(start..start + end, 1, &(100..110)) }.map(|at| at - start);
        assert_eq!((found(40), found(21), found(20)), (Some(13), Some(13), None));
    }
}
