//! Random draws with a fixed seed: numbers below a bound, and sizes of runs. The generator is that of the workloads
//! (xorshift64*).

use heapwood_workloads::random::Random;

/// The longest run of the small sizes.
const SMALL: usize = 16;

/// A sequence of draws.
pub(crate) struct Draw(Random);

impl Draw {
    pub(crate) fn new() -> Draw {
        Draw(Random::new())
    }

    /// A uniform number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }

    /// From 1 to 16 pages: uniform up to a uniform limit, so 1 page has 21 % and 16 pages have 0.4 %.
    pub(crate) fn small_run(&mut self) -> usize {
        let most = self.below(SMALL) + 1;
        self.below(most) + 1
    }

    /// The requests of mutators to a page allocator: three in four are 1 page, most others 2 to 16, few 17 to 64.
    pub(crate) fn mixed_run(&mut self) -> usize {
        match self.below(20) {
            0..15 => 1,
            15..19 => 2 + self.below(15),
            _ => 17 + self.below(48),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_runs_are_drawn_more_often() {
        let mut draw = Draw::new();
        let mut often = [0; SMALL + 1];
        (0..10_000).for_each(|_| often[draw.small_run()] += 1);
        assert_eq!(often[0], 0);
        assert!(often[1] > 1900 && often[1] > 2 * often[4] && often[4] > 2 * often[12] && often[16] > 0);
    }

    #[test]
    fn mixed_runs_are_mostly_single_pages() {
        let mut draw = Draw::new();
        let sizes: Vec<usize> = (0..10_000).map(|_| draw.mixed_run()).collect();
        let share = |range: std::ops::RangeInclusive<usize>| {
            sizes.iter().filter(|size| range.contains(size)).count() as f64 / 10_000.0
        };
        assert!((share(1..=1) - 0.75).abs() < 0.02 && (share(2..=16) - 0.20).abs() < 0.02);
        assert!((share(17..=64) - 0.05).abs() < 0.02 && sizes.contains(&64));
    }
}
