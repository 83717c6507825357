//! Copying bits to any bit address, as in a runtime that unrolls a layout once and caches it (Go until 2015).

/// The lowest bits set, at most 63.
const fn low(bits: usize) -> u64 {
    !(u64::MAX << bits)
}

/// Copies the `n` bits of `from` to bit `start` of `to`. The other bits of `to` stay.
pub(super) fn copy(to: &mut [u64], start: usize, from: &[u64], n: usize) {
    let (shift, end) = (start % 64, start + n);
    let to = &mut to[start / 64..end.div_ceil(64)];
    let (Some(&first), Some(&before), Some(&after)) = (from.first(), to.first(), to.last()) else { return };
    if shift == 0 {
        to.copy_from_slice(&from[..to.len()]);
    } else {
        to[0] = before & low(shift) | first << shift;
        for (to, from) in to[1..].iter_mut().zip(from.windows(2)) {
            *to = from[0] >> (64 - shift) | from[1] << shift;
        }
        // The last bits may begin another word.
        if to.len() > from.len() {
            to[from.len()] = from[from.len() - 1] >> (64 - shift);
        }
    }
    if let (1.., Some(last)) = (end % 64, to.last_mut()) {
        *last = *last & low(end % 64) | after & !low(end % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bit(bits: &[u64], i: usize) -> bool {
        bits[i / 64] >> (i % 64) & 1 == 1
    }

    #[test]
    fn copied_bits_leave_the_others_unchanged() {
        for n in [1usize, 2, 63, 64, 65, 127, 128, 130, 200] {
            let mut mask: Vec<u64> = (1..=4u64).map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            mask.truncate(n.div_ceil(64));
            if !n.is_multiple_of(64) {
                *mask.last_mut().unwrap() &= low(n % 64);
            }
            for start in 0..130 {
                for background in [0, u64::MAX, 0x5555_5555_5555_5555] {
                    let before = [background; 6];
                    let mut copied = before;
                    copy(&mut copied, start, &mask, n);
                    for i in 0..6 * 64 {
                        let inside = (start..start + n).contains(&i);
                        let expected = if inside { bit(&mask, i - start) } else { bit(&before, i) };
                        assert_eq!(bit(&copied, i), expected, "bit {i}, {n} from {start} on");
                    }
                }
            }
        }
    }
}
