//! Addresses for large reservations, which take up nothing of the process's address space before they are used: `ulimit -v` (RLIMIT_AS) and
//! VmSize count what is mapped, also without access.
//!
//! For each power of two of bytes there is a region of addresses, in slots of that size. A reservation maps the beginning of a slot, and
//! asks for that address as a hint: where something is mapped already the kernel maps elsewhere, which is undone, and the next slot is
//! tried. So there is no list of slots, and a reservation that ends gives its slot back by unmapping. The rest is mapped as it is used. The kernel maps nothing of its own choice
//! there: it goes from the top down, or, where stacks are unlimited, from 42 TiB up. AddressSanitizer's shadow ends below. Go chooses
//! addresses for its heap in this way.
//!
//! Invariant: two reservations that exist do not overlap.

use crate::error::OsError;
use crate::memory::kernel::KernelRef;
use crate::process::clock::monotonic_ns;
use core::ops::Range;

const TIB: usize = 1 << 40;
/// The first address of all regions.
const FIRST: usize = 17 * TIB;
/// The logarithm of the size of the smallest slots.
const LEAST: u32 = 22;
/// The TiB of each region: 64 slots of the sizes that heaps usually have, four of the largest, of 512 GiB.
const REGIONS: [usize; 18] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 2, 1, 2];
/// How many slots are tried.
const TRIES: usize = 16;

/// The region of slots for this many bytes, and the logarithm of a slot's size.
fn region(bytes: usize) -> Option<(Range<usize>, u32)> {
    let log = bytes.checked_next_power_of_two()?.ilog2();
    let number = log.checked_sub(LEAST)? as usize;
    let tib = *REGIONS.get(number)?;
    let start = FIRST + REGIONS[..number].iter().sum::<usize>() * TIB;
    Some((start..start + tib * TIB, log))
}

/// A number that others do not know, as the addresses that the kernel chooses.
fn secret() -> u64 {
    // SAFETY: the call takes a number; the kernel has put 16 bytes where the result points, if it does.
    unsafe { (libc::getauxval(libc::AT_RANDOM) as *const u64).as_ref().map_or(0, |word| *word) }
}

/// Takes a slot for a reservation of `len` bytes, and maps its first `part`. `None` for other sizes, and where the kernel gives no such
/// addresses.
pub(crate) fn take(kernel: KernelRef, len: usize, part: usize) -> Option<usize> {
    let (region, log) = region(len)?;
    let (slots, mut number) = (region.len() >> log, secret() ^ monotonic_ns());
    (0..TRIES).find_map(|_| {
        // By 2^64 over the golden ratio, which mixes a number's bits into the higher ones.
        number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let start = region.start + ((number as usize % slots) << log);
        // Nothing may lie anywhere in the slot.
        match kernel.reserve_at(start, len) {
            Ok(()) => {
                if part < len {
                    // SAFETY: it was reserved just now, and nobody uses it.
                    unsafe { kernel.release(start + part, len - part) };
                }
                Some(start)
            }
            // The process may not have so many addresses. Where something lies is told as it is used.
            Err(OsError { errno: libc::ENOMEM, .. }) => kernel.reserve_at(start, part).ok().map(|()| start),
            Err(_) => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_lie_one_after_the_other_and_have_slots() {
        let mut end = FIRST;
        for log in LEAST..LEAST + REGIONS.len() as u32 {
            let (region, of) = region(1 << log).unwrap();
            assert_eq!((region.start, of), (end, log));
            assert!(region.len() >> log >= 4 && region.start.is_multiple_of(1 << log), "{log}");
            assert_eq!(super::region((1 << log) - 1).unwrap().1, log, "the next size");
            end = region.end;
        }
        assert!(end <= 0x2aaa_aaaa_a000, "the kernel maps from there up");
        assert!(region(1 << 21).is_none() && region(1 << 40).is_none() && region(usize::MAX).is_none());
    }
}
