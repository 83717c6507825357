//! The minimum mutator utilisation (Cheng and Blelloch): of all windows of a length, the least share that is left to the
//! mutator. The time without it is that of the long gaps; short ones count as the mutator's.

/// Nanoseconds of the windows.
pub(crate) const WINDOWS_NS: [u64; 3] = [1_000_000, 10_000_000, 100_000_000];

/// The utilisation, 0 to 1, for gaps (beginning and length) that are in order and do not overlap, in a time of `total`.
/// `None` if the time is shorter than the window.
pub(crate) fn minimum(gaps: &[(u64, u64)], total: u64, window: u64) -> Option<f64> {
    let last = total.checked_sub(window)?;
    let sums: Vec<u64> = std::iter::once(0)
        .chain(gaps.iter().scan(0, |sum, (_, length)| {
            *sum += length;
            Some(*sum)
        }))
        .collect();
    // The time in gaps before a moment.
    let before = |moment: u64| {
        let begun = gaps.partition_point(|(start, _)| *start < moment);
        match begun.checked_sub(1) {
            None => 0,
            Some(k) => sums[k] + gaps[k].1.min(moment - gaps[k].0),
        }
    };
    let lost = |from: u64| before(from + window) - before(from);
    // A worst window begins where a gap begins, or is the last one. One that begins between gaps loses no less when it is
    // moved right to the next gap; one that begins inside a gap loses no less when it is moved left to that gap's start.
    let most = gaps.iter().map(|(start, _)| lost((*start).min(last))).max().unwrap_or(0);
    Some(1.0 - most as f64 / window as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_made_by_hand_have_the_utilisation_by_hand() {
        let check = |gaps: &[(u64, u64)], total, window, expected: Option<f64>| {
            let found = minimum(gaps, total, window);
            let near = found.zip(expected).is_some_and(|(a, b)| (a - b).abs() < 1e-12);
            assert!(near || found == expected, "{gaps:?} {total} {window}: {found:?}, not {expected:?}");
        };
        check(&[], 100, 10, Some(1.0));
        check(&[], 9, 10, None);
        check(&[(20, 5)], 100, 10, Some(0.5));
        // A gap as long as the window, and longer.
        check(&[(20, 10)], 100, 10, Some(0.0));
        check(&[(20, 30)], 100, 10, Some(0.0));
        // Two gaps in one window; no window holds all of both.
        check(&[(20, 3), (26, 3)], 100, 10, Some(0.4));
        check(&[(20, 3), (28, 3)], 100, 10, Some(0.5));
        // The window at the second gap loses more than the one at the first; the last window begins before the gap.
        check(&[(20, 2), (29, 6)], 100, 10, Some(0.4));
        check(&[(10, 1), (18, 8)], 100, 10, Some(0.2));
        // Gaps at both ends of the time.
        check(&[(0, 4), (97, 3)], 100, 10, Some(0.6));
        check(&[(95, 5)], 100, 100, Some(0.95));
    }

    /// Compared with every window of a random time.
    #[test]
    fn no_window_is_worse() {
        let mut seed = 7u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..200 {
            let (mut gaps, mut at) = (Vec::new(), random(20));
            while at < 150 {
                let length = 1 + random(12);
                gaps.push((at, length));
                at += length + random(25);
            }
            let total = gaps.last().map_or(150, |(start, length)| start + length) + random(10);
            let window = 1 + random(60);
            let busy = |t: &u64| gaps.iter().any(|(start, length)| (*start..start + length).contains(t));
            let lost = |from: u64| (from..from + window).filter(busy).count();
            let most = (0..=total - window).map(lost).max().unwrap();
            let found = minimum(&gaps, total, window).unwrap();
            assert!(
                (found - (1.0 - most as f64 / window as f64)).abs() < 1e-9,
                "{gaps:?} {total} {window}: {found}"
            );
        }
    }
}
