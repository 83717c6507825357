//! Comparison of two settings by one quantity, as in benchstat: the medians, their difference, and the probability
//! that it is chance. Invariant: a difference is shown only if its p value is below [`ALPHA`].

use crate::estimate::Estimate;
use crate::spread::p_value;
use serde::Serialize;
use statrs::statistics::Statistics;

/// The p value from which on a difference is taken for chance.
pub const ALPHA: f64 = 0.05;

/// One quantity of two settings.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The first setting.
    pub a: Estimate,
    /// The second setting.
    pub b: Estimate,
    /// The second median relative to the first, in percent above 100; `None` if the first is 0.
    pub delta_percent: Option<f64>,
    /// By the Mann-Whitney U test; `None` for too few values.
    pub p: Option<f64>,
    /// Whether p is below [`ALPHA`].
    pub differs: bool,
    /// The number of values of each setting.
    pub n: usize,
}

impl Comparison {
    /// Compares lists of equal length.
    pub fn of(a: Vec<f64>, b: Vec<f64>) -> Comparison {
        debug_assert_eq!(a.len(), b.len());
        let (p, n) = (p_value(&a, &b), a.len());
        let (a, b) = (Estimate::of(a), Estimate::of(b));
        let delta_percent = delta_percent(a.median, b.median);
        Comparison { a, b, delta_percent, p, differs: p.is_some_and(|p| p < ALPHA), n }
    }
}

/// The difference of `b` from `a`, in percent of `a`.
pub fn delta_percent(a: f64, b: f64) -> Option<f64> {
    (a != 0.0).then(|| 100.0 * (b / a - 1.0))
}

/// The geometric mean of positive values; `None` if there are others, or none.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let fit = !values.is_empty() && values.iter().all(|&v| v > 0.0 && v.is_finite());
    fit.then(|| values.geometric_mean())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_a_small_p_value() {
        let compare = |a: &[f64], b: &[f64]| Comparison::of(a.to_vec(), b.to_vec());
        let far = compare(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 9.0, 10.0, 12.0]);
        assert!(far.differs && far.n == 5 && (far.p.unwrap() - 2.0 / 252.0).abs() < 1e-4, "{far:?}");
        assert!((far.delta_percent.unwrap() - 200.0).abs() < 1e-9, "{far:?}");
        let near = compare(&[1.0, 3.0, 5.0, 7.0, 9.0], &[2.0, 4.0, 6.0, 8.0, 10.0]);
        assert!(!near.differs && (near.p.unwrap() - 0.6905).abs() < 1e-4, "{near:?}");
        let alike = compare(&[2.0; 3], &[2.0; 3]);
        assert!(!alike.differs && alike.delta_percent == Some(0.0), "{alike:?}");
        let one = compare(&[1.0], &[9.0]);
        assert!(!one.differs && one.p.is_none(), "{one:?}");
        // Three values of each are too few for a difference, however far apart they are.
        let three = compare(&[1.0, 2.0, 3.0], &[100.0, 200.0, 300.0]);
        assert!(!three.differs && three.p.unwrap() > ALPHA, "{three:?}");
    }

    #[test]
    fn nothing_is_compared_with_nothing() {
        assert_eq!((delta_percent(0.0, 1.0), delta_percent(4.0, 3.0)), (None, Some(-25.0)));
    }

    #[test]
    fn geometric_means() {
        assert!((geometric_mean(&[1.0, 8.0, 27.0]).unwrap() - 6.0).abs() < 1e-12);
        assert_eq!(
            [geometric_mean(&[]), geometric_mean(&[0.0, 2.0]), geometric_mean(&[f64::NAN])],
            [None; 3]
        );
    }
}
