//! The hash of a weak table's keys. Invariant: any addresses, and any numbers of a program's, are scattered, so that searches for them
//! take few steps: the halves of a product, folded (the step of wyhash). One half alone has runs: of objects of 16 bytes that lie side
//! by side, its middle bits led to 6 steps a search, and not to 2.5.

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// The hash of an address, or of a hash of the program's, of which any bits may be alike. Its lowest bits are to be used.
#[inline(always)]
pub(super) fn mixed(word: usize) -> usize {
    let product = word as u128 * u128::from(FACTOR);
    (product as u64 ^ (product >> 64) as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps to find each of so many words, when three of four places are used. Knuth expects 2.5 a word.
    fn steps(places: usize, word: impl Fn(usize) -> usize) -> usize {
        let mut used = vec![false; places];
        let search = |i| {
            let at = |step: &usize| mixed(word(i)).wrapping_add(*step) & (places - 1);
            let step = (0..places).find(|step| !used[at(step)]).unwrap();
            used[at(&step)] = true;
            step + 1
        };
        (0..places / 4 * 3).map(search).sum()
    }

    #[test]
    fn searches_are_short() {
        let (places, base) = (1 << 17, 0x7F12_3400_0000);
        let most = places / 4 * 3 * 4;
        for size in [1, 16, 32, 48, 64, 96, 208, 4096, 8192, 1 << 20] {
            let side_by_side = steps(places, |i| base + size * i);
            assert!(side_by_side < most, "{side_by_side} steps for objects of {size} bytes");
            // Every third survives, in kilobytes here and there.
            let scattered = steps(places, |i| base + (i / 20) * 11_264 + i % 20 * 48);
            assert!(scattered < most, "{scattered} steps");
        }
    }
}
