//! Median, minimum and maximum of measured values, and the probability that a difference is chance.

use serde::Serialize;
use statrs::statistics::{Data, Max, Min, OrderStatistics, Statistics};
use statrs::stats_tests::Alternative;
use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

/// The spread of one quantity over all rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Half of the values are below it.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

impl Spread {
    /// The spread of at least one value.
    ///
    /// # Panics
    /// If there is none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Spread {
        let mut data = Data::new(values.into_iter().collect::<Vec<f64>>());
        assert!(!data.is_empty(), "nothing was measured");
        Spread { median: data.median(), min: data.min(), max: data.max() }
    }

    /// The same in another unit.
    pub fn over(self, unit: f64) -> Spread {
        Spread { median: self.median / unit, min: self.min / unit, max: self.max / unit }
    }

    /// The spread of the ratios of pairs.
    pub fn of_ratios(above: impl IntoIterator<Item = f64>, below: impl IntoIterator<Item = f64>) -> Spread {
        Spread::of(above.into_iter().zip(below).map(|(a, b)| a / b.max(f64::MIN_POSITIVE)))
    }
}

/// The geometric mean of positive values; `None` if there are others, or none.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let fit = !values.is_empty() && values.iter().all(|&v| v > 0.0 && v.is_finite());
    fit.then(|| values.geometric_mean())
}

/// The longest lists with an exact p value.
const MOST_EXACT: usize = 50;

/// The two-sided p value of the Mann-Whitney U test for lists without ties. The number of orders with a given number
/// of inverted pairs is computed by recursion on the largest value: either it belongs to the first list and follows
/// all of the second, or it belongs to the second (Mann and Whitney, 1947).
fn exact_p_value(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len(), b.len());
    let wrong = a.iter().map(|a| b.iter().filter(|b| a > b).count()).sum::<usize>();
    let least = wrong.min(n * m - wrong);
    // orders[j][u]: the orders of i values of the first list and j of the second with u inverted pairs.
    let mut orders = vec![vec![0.0; n * m + 1]; m + 1];
    orders.iter_mut().for_each(|of| of[0] = 1.0);
    for _ in 0..n {
        let mut next = vec![vec![0.0; n * m + 1]; m + 1];
        next[0][0] = 1.0;
        for j in 1..=m {
            for u in 0..=n * m {
                next[j][u] = next[j - 1][u] + if u >= j { orders[j][u - j] } else { 0.0 };
            }
        }
        orders = next;
    }
    let (tail, all) = (orders[m][..=least].iter().sum::<f64>(), orders[m].iter().sum::<f64>());
    (2.0 * tail / all).min(1.0)
}

/// The two-sided p value of the Mann-Whitney U test: the probability that two lists differ at least as much as these
/// if both come from one distribution. `None` for fewer than two values in either list, and for values that are no
/// numbers.
///
/// Exact for up to 50 values in each list if no two are equal, as in benchstat; otherwise by the normal approximation
/// with corrections for continuity and ties. (The exact method of statrs 0.19 returns 1 for lists of equal length that
/// do not overlap.)
pub fn p_value(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len().min(b.len()) < 2 || a.iter().chain(b).any(|value| value.is_nan()) {
        return None;
    }
    let mut all: Vec<f64> = a.iter().chain(b).copied().collect();
    all.sort_by(f64::total_cmp);
    let ties = all.windows(2).any(|pair| pair[0] == pair[1]);
    if !ties && a.len().max(b.len()) <= MOST_EXACT {
        return Some(exact_p_value(a, b));
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
        // The example in scipy's documentation of the test.
        near(&[19.0, 22.0, 16.0, 29.0, 24.0], &[20.0, 11.0, 17.0, 12.0], 0.1111);
        // Of the 20, 252 and 924 orders of three, five and six values in each list, 2 are the most extreme.
        near(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 2.0 / 20.0);
        near(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0], 2.0 / 252.0);
        let six = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        near(&six, &six.map(|value| value + 6.0), 2.0 / 924.0);
        near(&[1.0, 3.0, 5.0, 7.0, 9.0], &[2.0, 4.0, 6.0, 8.0, 10.0], 0.6905);
        // With ties, by the normal approximation.
        near(&[2.0, 2.0, 2.0], &[2.0, 2.0, 2.0], 1.0);
    }

    /// The exact value equals that of all orders.
    #[test]
    fn exact_p_values_are_those_of_all_orders() {
        let (n, m) = (4, 5);
        let of_order = |order: u32| {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            (0..n + m).for_each(|i| if order >> i & 1 != 0 { a.push(i as f64) } else { b.push(i as f64) });
            (a, b)
        };
        let wrong = |(a, b): &(Vec<f64>, Vec<f64>)| {
            let wrong = a.iter().map(|a| b.iter().filter(|b| a > *b).count()).sum::<usize>();
            wrong.min((n * m) as usize - wrong)
        };
        let orders: Vec<_> =
            (0..1u32 << (n + m)).filter(|order| order.count_ones() == n).map(of_order).collect();
        for order in &orders {
            let as_far = orders.iter().filter(|other| wrong(other) <= wrong(order)).count();
            let (expected, p) = (as_far as f64 / orders.len() as f64, p_value(&order.0, &order.1).unwrap());
            assert!((p - expected.min(1.0)).abs() < 1e-12, "{order:?}: {p}, not {expected}");
        }
    }

    #[test]
    fn long_lists_have_nearly_the_value_of_the_approximation() {
        let a: Vec<f64> = (0..50).map(|i| (i * 37 % 101) as f64).collect();
        let b: Vec<f64> = (50..100).map(|i| (i * 37 % 101) as f64 + 8.5).collect();
        let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
        let near = mannwhitneyu(&a, &b, method, Alternative::TwoSided).unwrap().1;
        let exact = p_value(&a, &b).unwrap();
        assert!((exact - near).abs() < 0.002 && exact != near, "{exact} {near}");
    }

    #[test]
    fn geometric_means() {
        assert!((geometric_mean(&[1.0, 8.0, 27.0]).unwrap() - 6.0).abs() < 1e-12);
        assert_eq!(
            [geometric_mean(&[]), geometric_mean(&[0.0, 2.0]), geometric_mean(&[f64::NAN])],
            [None; 3]
        );
    }

    #[test]
    fn too_few_values_have_no_p_value() {
        assert_eq!(p_value(&[1.0], &[2.0]), None);
        assert_eq!(p_value(&[1.0, 2.0, 3.0], &[4.0]), None);
        assert_eq!(p_value(&[1.0, f64::NAN], &[1.0, 2.0]), None);
    }
}
