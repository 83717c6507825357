//! The table of two settings: a line for each quantity, as in benchstat. It is valid Markdown.

use super::ab_report::{Compared, Report};
use super::quantity::Unit;
use heapwood_report::comparison::{ALPHA, Comparison};
use heapwood_report::estimate::{Estimate, LEAST_VALUES};
use heapwood_report::say;
use heapwood_report::tables::{Table, number, show_p, table};

const MIB: f64 = (1 << 20) as f64;

pub(crate) fn print(report: &Report) {
    say!("{}", report.header);
    say!("");
    say!(
        "Median of {} runs of each, in turn{}.",
        report.header.runs,
        if report.header.runs < LEAST_VALUES as u32 {
            format!("; fewer than {LEAST_VALUES} have no 95 % confidence interval")
        } else {
            ", ± how far its 95 % confidence interval reaches at most (in percent)".into()
        }
    );
    say!("delta: of the second median, over the first; ~: p is {ALPHA} or more, so it may be chance.");
    say!(
        "p: how likely the two would lie as far apart by chance (Mann-Whitney U test; -: too few runs to say); n: runs of each."
    );
    let compared = report.quantities.iter().filter(|quantity| quantity.values.p.is_some()).count();
    if compared > 1 {
        say!(
            "{compared} quantities are compared: where nothing differs, one in {:.0} still has a p below {ALPHA}. A single such row of many \
             says little; compare it again.",
            1.0 / ALPHA
        );
    }
    say!("");
    say!("{}", lines(report));
    for side in &report.settings {
        if let Some(huge_pages) = &side.huge_pages {
            say!("");
            say!("{}: {huge_pages}.", side.name);
        }
    }
}

fn lines(report: &Report) -> Table {
    let [a, b] = &report.settings;
    let mut table = table(&["", &a.name, &b.name, "delta", "p", "n"]);
    for Compared { label, unit, values, .. } in &report.quantities {
        let scale = if *unit == Unit::Bytes { MIB } else { 1.0 };
        table.add_row([
            label.to_string(),
            show(&values.a, scale),
            show(&values.b, scale),
            delta(values),
            show_p(values.p),
            values.n.to_string(),
        ]);
    }
    for mean in &report.geometric_means {
        let label = format!("geometric mean, {}", mean.unit);
        let delta = mean.delta_percent.map_or("?".into(), percent);
        table.add_row([label, number(mean.a), number(mean.b), delta, String::new(), String::new()]);
    }
    table
}

fn show(estimate: &Estimate, scale: f64) -> String {
    let median = number(estimate.median / scale);
    if estimate.low.is_none() {
        return median;
    }
    // There is no percentage of a median of 0.
    let spread = estimate.percent().map_or("?".into(), |percent| format!("{percent:.0} %"));
    format!("{median} ± {spread}")
}

fn delta(values: &Comparison) -> String {
    match values.delta_percent {
        _ if !values.differs => "~".into(),
        // The base is 0.
        None => "?".into(),
        Some(delta) => percent(delta),
    }
}

fn percent(delta: f64) -> String {
    format!("{delta:+.2} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_benchstat_does() {
        let tens: Vec<f64> = (96..106).map(f64::from).collect();
        assert_eq!(show(&Estimate::of(tens.clone()), 10.0), "10.1 ± 3 %");
        assert_eq!(show(&Estimate::of(vec![1.0, 2.0]), 1.0), "1.50");
        assert_eq!(show(&Estimate::of(vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), 1.0), "0.00 ± ?");
        let compare = |b: Vec<f64>| delta(&Comparison::of(tens.clone(), b));
        assert_eq!(compare(tens.iter().map(|v| v * 1.5).collect()), "+50.00 %");
        assert_eq!(compare(tens.iter().map(|v| v / 2.0).collect()), "-50.00 %");
        assert_eq!(compare(tens.iter().map(|v| v + 0.5).collect()), "~");
        let from_nothing = Comparison::of(vec![0.0; 10], tens.clone());
        assert_eq!(delta(&from_nothing), "?");
    }
}
