//! The report of two settings. `--json` prints it as serialised here; the table shows the same numbers.

use super::huge_pages::HugePages;
use super::measured::Run;
use super::quantity::{Quantity, Unit, quantities};
use super::rounds::Entry;
use crate::args::Size;
use crate::settings::Ab;
use heapwood_report::Header;
use heapwood_report::comparison::{Comparison, delta_percent, geometric_mean};
use heapwood_workloads::Workload;
use serde::Serialize;

/// The report.
#[derive(Serialize)]
pub(crate) struct Report {
    workload: &'static str,
    n: u64,
    threads: u32,
    #[serde(flatten)]
    pub(crate) header: Header,
    /// The setting.
    setting: &'static str,
    /// A, then B.
    pub(crate) settings: [Side; 2],
    pub(crate) quantities: Vec<Compared>,
    pub(crate) geometric_means: Vec<Mean>,
}

/// One of the two.
#[derive(Serialize)]
pub(crate) struct Side {
    /// `percent=100`
    pub(crate) name: String,
    value: String,
    /// `None` for a program that does not ask for them.
    pub(crate) huge_pages: Option<HugePages>,
}

/// A quantity of both.
#[derive(Serialize)]
pub(crate) struct Compared {
    pub(crate) name: &'static str,
    #[serde(skip)]
    pub(crate) label: &'static str,
    #[serde(skip)]
    pub(crate) unit: Unit,
    #[serde(flatten)]
    pub(crate) values: Comparison,
}

/// The geometric mean of the medians of all times in one unit.
#[derive(Serialize)]
pub(crate) struct Mean {
    pub(crate) unit: &'static str,
    of: Vec<&'static str>,
    pub(crate) a: f64,
    pub(crate) b: f64,
    pub(crate) delta_percent: Option<f64>,
}

impl Report {
    pub(crate) fn new(
        workload: &'static Workload,
        size: Size,
        ab: &Ab,
        header: Header,
        sides: [&Entry; 2],
    ) -> Report {
        let values = |quantity: &Quantity, entry: &Entry| {
            entry.runs.iter().map(|run: &Run| quantity.of(run)).collect::<Vec<f64>>()
        };
        let compared = |quantity: Quantity| Compared {
            name: quantity.name,
            label: quantity.label,
            unit: quantity.unit,
            values: Comparison::of(values(&quantity, sides[0]), values(&quantity, sides[1])),
        };
        let quantities: Vec<Compared> = quantities(workload).map(compared).collect();
        let side = |k: usize| Side {
            name: sides[k].program.name.clone(),
            value: ab.values[k].clone(),
            huge_pages: sides[k].program.huge_pages.then(|| sides[k].repeats.with(&sides[k].runs)),
        };
        Report {
            workload: workload.name,
            n: size.n,
            threads: size.threads,
            header,
            setting: ab.setting.name(),
            settings: [side(0), side(1)],
            geometric_means: means(&quantities),
            quantities,
        }
    }
}

/// One for each unit of time with several quantities.
fn means(quantities: &[Compared]) -> Vec<Mean> {
    let of_unit = |unit: Unit| {
        let times: Vec<&Compared> = quantities.iter().filter(|q| q.unit == unit).collect();
        if times.len() < 2 {
            return None;
        }
        let mean = |median: fn(&Comparison) -> f64| {
            geometric_mean(&times.iter().map(|q| median(&q.values)).collect::<Vec<f64>>())
        };
        let (a, b) = (mean(|c| c.a.median)?, mean(|c| c.b.median)?);
        let of = times.iter().map(|q| q.name).collect();
        Some(Mean { unit: unit.of_time()?, of, a, b, delta_percent: delta_percent(a, b) })
    };
    [Unit::Seconds, Unit::Microseconds, Unit::Nanoseconds].into_iter().filter_map(of_unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometric_means_combine_times_of_one_unit() {
        let compared = |name, unit, a: f64, b: f64| Compared {
            name,
            label: name,
            unit,
            values: Comparison::of(vec![a; 3], vec![b; 3]),
        };
        let quantities = [
            compared("cpu_s", Unit::Seconds, 1.0, 2.0),
            compared("wall_s", Unit::Seconds, 4.0, 2.0),
            compared("max_rss_bytes", Unit::Bytes, 1e9, 9e9),
            compared("longest_gap_us", Unit::Microseconds, 1.0, 2.0),
            compared("a_ns", Unit::Nanoseconds, 1.0, 2.0),
            compared("b_ns", Unit::Nanoseconds, 8.0, 16.0),
            compared("c_ns", Unit::Nanoseconds, 27.0, 54.0),
        ];
        let means = means(&quantities);
        let near = |x: f64, y: f64| assert!((x - y).abs() < 1e-9, "{x} {y}");
        assert_eq!(means.iter().map(|mean| mean.unit).collect::<Vec<_>>(), ["s", "ns"]);
        assert_eq!(
            (&means[0].of[..], &means[1].of[..]),
            (&["cpu_s", "wall_s"][..], &["a_ns", "b_ns", "c_ns"][..])
        );
        near(means[0].a, 2.0);
        near(means[0].delta_percent.unwrap(), 0.0);
        near(means[1].b, 12.0);
        near(means[1].delta_percent.unwrap(), 100.0);
    }
}
