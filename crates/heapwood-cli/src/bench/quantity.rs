//! The quantities of a run: the operating system's account of the process, and the figures of the workload. Invariant:
//! quantities in one unit can be combined, as in a geometric mean. A figure's unit is the end of its name.

use super::measured::Run;
use heapwood_workloads::{Figure, Workload};

/// The unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Microseconds,
    Nanoseconds,
    Bytes,
    /// Given by its label.
    Own,
}

impl Unit {
    fn of(figure: &str) -> Unit {
        match figure.rsplit_once('_') {
            Some((_, "ns")) => Unit::Nanoseconds,
            Some((_, "us")) => Unit::Microseconds,
            _ => Unit::Own,
        }
    }

    /// Its name, if it is a unit of time.
    pub(crate) fn of_time(self) -> Option<&'static str> {
        match self {
            Unit::Seconds => Some("s"),
            Unit::Microseconds => Some("us"),
            Unit::Nanoseconds => Some("ns"),
            Unit::Bytes | Unit::Own => None,
        }
    }
}

/// The source of a quantity.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Cpu,
    Wall,
    MaxRss,
    Figure(&'static Figure),
}

/// A quantity of every run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    /// Its name in JSON.
    pub(crate) name: &'static str,
    /// Its label in tables, with its unit.
    pub(crate) label: &'static str,
    pub(crate) unit: Unit,
    pub(crate) source: Source,
}

/// All quantities of a workload's runs.
pub(crate) fn quantities(workload: &'static Workload) -> impl Iterator<Item = Quantity> {
    let of_process = |name, label, unit, source| Quantity { name, label, unit, source };
    let figures = workload.figures.iter().map(|figure| Quantity {
        name: figure.name,
        label: figure.label,
        unit: Unit::of(figure.name),
        source: Source::Figure(figure),
    });
    [
        of_process("cpu_s", "CPU s", Unit::Seconds, Source::Cpu),
        of_process("wall_s", "wall s", Unit::Seconds, Source::Wall),
        of_process("max_rss_bytes", "max RSS MiB", Unit::Bytes, Source::MaxRss),
    ]
    .into_iter()
    .chain(figures)
}

impl Quantity {
    pub(crate) fn of(&self, run: &Run) -> f64 {
        match self.source {
            Source::Cpu => run.cpu_s(),
            Source::Wall => run.wall_s,
            Source::MaxRss => run.used.max_rss_bytes as f64,
            // Every run has every figure, or has failed.
            Source::Figure(figure) => run.figure(figure.name).unwrap_or(f64::NAN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_all_workloads_have_the_units_of_their_labels() {
        for figure in heapwood_workloads::ALL.iter().flat_map(|workload| workload.figures) {
            let unit = Unit::of(figure.name).of_time();
            let said = ["ns", "us"].into_iter().find(|unit| figure.label.contains(&format!(", {unit}")));
            assert_eq!(unit, said, "{figure:?}");
        }
        assert_eq!(Unit::of("malloc8_ns"), Unit::Nanoseconds);
    }
}
