//! Median, least and most of what was measured.

use serde::Serialize;
use statrs::statistics::{Data, Max, Min, OrderStatistics};

/// How one quantity came out over the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Of at least one value.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Spread {
        let mut data = Data::new(values.into_iter().collect::<Vec<f64>>());
        assert!(!data.is_empty(), "nothing was measured");
        Spread { median: data.median(), min: data.min(), max: data.max() }
    }

    /// In units of `unit`.
    pub(crate) fn over(self, unit: f64) -> Spread {
        Spread { median: self.median / unit, min: self.min / unit, max: self.max / unit }
    }

    /// Of the ratios of pairs.
    pub(crate) fn of_ratios(
        above: impl IntoIterator<Item = f64>,
        below: impl IntoIterator<Item = f64>,
    ) -> Spread {
        Spread::of(above.into_iter().zip(below).map(|(a, b)| a / b.max(f64::MIN_POSITIVE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_both_ends() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of([4.0, 1.0]).median, 2.5);
        assert_eq!(Spread::of([7.0]), Spread { median: 7.0, min: 7.0, max: 7.0 });
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        // The machine was twice as slow in the second round, for both: the ratio does not show it.
        assert_eq!(Spread::of_ratios([6.0, 12.0], [1.0, 2.0]), Spread { median: 6.0, min: 6.0, max: 6.0 });
    }
}
