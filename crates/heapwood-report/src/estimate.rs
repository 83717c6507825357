//! The median of measured values and its confidence interval, which holds the true median with a probability of at
//! least 95 %, whatever the distribution. Its ends are two of the values, the k-th smallest and the k-th largest,
//! where k is the largest that the binomial distribution allows; so fewer than six values have no interval. benchstat
//! does the same, but moves the upper end in by one value if 95 % remain (of eight values, for example).

use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};
use statrs::statistics::{Data, OrderStatistics};

/// The highest probability that the interval misses the median on one side.
const TAIL: f64 = 0.025;
/// The least number of values with an interval.
pub const LEAST_VALUES: usize = 6;

/// A median and its confidence interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Half of the values are below it.
    pub median: f64,
    /// The lower end of the interval, if there is one.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The values, in the order of the runs.
    pub samples: Vec<f64>,
}

impl Estimate {
    /// The estimate from at least one value.
    ///
    /// # Panics
    /// If there is none.
    pub fn of(samples: Vec<f64>) -> Estimate {
        assert!(!samples.is_empty(), "nothing was measured");
        let mut data = Data::new(samples.clone());
        let median = data.median();
        let rank = rank(samples.len());
        let mut end = |k: usize| rank.map(|_| data.order_statistic(k));
        let (low, high) = match rank {
            Some(rank) => (end(rank), end(samples.len() + 1 - rank)),
            None => (None, None),
        };
        Estimate { median, low, high, samples }
    }

    /// The larger distance of the interval's ends from the median, in percent of the median; `None` if there is no
    /// interval, or if the median is 0 and a value is not.
    pub fn percent(&self) -> Option<f64> {
        let reach = (self.high? - self.median).max(self.median - self.low?);
        if reach == 0.0 {
            return Some(0.0);
        }
        (self.median != 0.0).then(|| 100.0 * reach / self.median.abs())
    }
}

/// The k of the interval's ends for this number of values.
fn rank(values: usize) -> Option<usize> {
    let below = Binomial::new(0.5, values as u64).ok()?;
    (0..=values).find(|&k| below.cdf(k as u64) > TAIL).filter(|&k| k > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_those_of_the_tables() {
        // From printed tables of the sign test's intervals, such as Conover's.
        let known = [(1, None), (5, None), (6, Some(1)), (8, Some(1)), (9, Some(2)), (10, Some(2))];
        for (values, k) in known.into_iter().chain([(20, Some(6)), (30, Some(10)), (100, Some(40))]) {
            assert_eq!(rank(values), k, "{values}");
        }
        assert!(rank(LEAST_VALUES).is_some() && rank(LEAST_VALUES - 1).is_none());
    }

    #[test]
    fn an_estimate_is_a_median_between_two_of_the_values() {
        let mut values: Vec<f64> = (1..=10).map(|k| f64::from(k * k)).collect();
        values.reverse();
        let estimate = Estimate::of(values.clone());
        assert_eq!((estimate.median, estimate.low, estimate.high), (30.5, Some(4.0), Some(81.0)));
        assert!((estimate.percent().unwrap() - 100.0 * 50.5 / 30.5).abs() < 1e-9);
        assert_eq!(estimate.samples, values, "in the order of the runs");
    }

    #[test]
    fn few_values_have_no_interval() {
        let estimate = Estimate::of(vec![3.0, 1.0, 2.0]);
        assert_eq!(
            (estimate.median, estimate.low, estimate.high, estimate.percent()),
            (2.0, None, None, None)
        );
    }

    #[test]
    fn nothing_is_divided_by_a_median_of_nothing() {
        assert_eq!(Estimate::of(vec![0.0; 6]).percent(), Some(0.0));
        assert_eq!(Estimate::of(vec![0.0, 0.0, 0.0, 0.0, 0.0, 1.0]).percent(), None);
    }
}
