//! Tables for people, which are also valid Markdown, and the numbers in them.

use crate::spread::Spread;
pub use comfy_table::Table;
use comfy_table::presets;

/// A table without rows.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header);
    table
}

/// `0.62 (0.60-0.63)`, in units of `unit`.
pub fn show(spread: Spread, unit: f64) -> String {
    show_as(spread.over(unit), number)
}

/// The same with another format of numbers.
pub fn show_as(spread: Spread, number: impl Fn(f64) -> String) -> String {
    let [median, min, max] = [spread.median, spread.min, spread.max].map(number);
    if min == max { median } else { format!("{median} ({min}-{max})") }
}

/// A p value, or a dash if there is none.
pub fn show_p(p: Option<f64>) -> String {
    match p {
        None => "-".into(),
        Some(p) if p < 0.001 => "<0.001".into(),
        Some(p) => format!("{p:.3}"),
    }
}

/// About three digits, or all those before the point.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.0995 || v == 0.0 => 2,
        v if v >= 0.00995 => 3,
        _ => 4,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = (1 << 20) as f64;

    #[test]
    fn numbers_have_about_three_digits() {
        let shown = [0.0, 0.00494, 0.0216, 0.624, 9.994, 9.996, 12.34, 99.94, 99.96, 12345.6].map(number);
        let expected = ["0.00", "0.0049", "0.022", "0.62", "9.99", "10.0", "12.3", "99.9", "100", "12346"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_spread_of_one_value_is_that_value() {
        assert_eq!(show(Spread::of([1.0, 1.0]), 1.0), "1.00");
        assert_eq!(show(Spread::of([3.0 * MIB, MIB, 2.0 * MIB]), MIB), "2.00 (1.00-3.00)");
    }

    #[test]
    fn p_values_are_never_shown_as_nothing() {
        assert_eq!(
            [None, Some(0.0122), Some(0.0001), Some(1.0)].map(show_p),
            ["-", "0.012", "<0.001", "1.000"]
        );
    }
}
