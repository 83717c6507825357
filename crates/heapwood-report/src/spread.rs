//! Median, least and most of what was measured, and how likely a difference is by chance.

use serde::Serialize;
use statrs::statistics::{Data, Max, Min, OrderStatistics};
use statrs::stats_tests::Alternative;
use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

/// How one quantity came out over the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Half of the values are below it.
    pub median: f64,
    /// The least value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

impl Spread {
    /// Of at least one value.
    ///
    /// # Panics
    /// If there is none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Spread {
        let mut data = Data::new(values.into_iter().collect::<Vec<f64>>());
        assert!(!data.is_empty(), "nothing was measured");
        Spread { median: data.median(), min: data.min(), max: data.max() }
    }

    /// In units of `unit`.
    pub fn over(self, unit: f64) -> Spread {
        Spread { median: self.median / unit, min: self.min / unit, max: self.max / unit }
    }

    /// Of the ratios of pairs.
    pub fn of_ratios(above: impl IntoIterator<Item = f64>, below: impl IntoIterator<Item = f64>) -> Spread {
        Spread::of(above.into_iter().zip(below).map(|(a, b)| a / b.max(f64::MIN_POSITIVE)))
    }
}

/// How likely values would lie as far apart as these two lists do if both came from one distribution, whatever that is:
/// the two-sided p value of the Mann-Whitney U test. `None` for fewer than two values in either list, which say nothing of
/// chance, and for values that are no numbers.
///
/// By the normal approximation with corrections for continuity and ties: statrs 0.19 has an exact method, too, but its
/// answer for lists of equal length that do not overlap at all is 1. Five against five that do not overlap give 0.012,
/// where the exact value is 0.008.
pub fn p_value(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len().min(b.len()) < 2 {
        return None;
    }
    let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
    mannwhitneyu(a, b, method, Alternative::TwoSided).ok().map(|(_, p)| p)
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

    #[test]
    fn p_values_are_those_of_the_test() {
        let near = |a: &[f64], b: &[f64], expected: f64| {
            for (a, b) in [(a, b), (b, a)] {
                let p = p_value(a, b).unwrap();
                assert!((p - expected).abs() < 1e-4, "{a:?} {b:?}: {p}");
            }
        };
        // The example in scipy's documentation of the test, by the same method.
        near(&[19.0, 22.0, 16.0, 29.0, 24.0], &[20.0, 11.0, 17.0, 12.0], 0.1113);
        near(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0], 0.0122);
        near(&[1.0, 3.0, 5.0, 7.0, 9.0], &[2.0, 4.0, 6.0, 8.0, 10.0], 0.6761);
        near(&[2.0, 2.0, 2.0], &[2.0, 2.0, 2.0], 1.0);
    }

    #[test]
    fn too_few_values_have_no_p_value() {
        assert_eq!(p_value(&[1.0], &[2.0]), None);
        assert_eq!(p_value(&[1.0, 2.0, 3.0], &[4.0]), None);
        assert_eq!(p_value(&[1.0, f64::NAN], &[1.0, 2.0]), None);
    }
}
