//! The output of a workload for `heapwood bench`, and its parser. Programs for other memory managers print the same.
//! Lines `figure NAME VALUE` are measurements of the program itself. All other lines are check values, which are equal
//! in all programs that did the same work.

use crate::workload::Line;
use std::fmt;

/// A step as it is printed.
pub fn print(line: &Line) -> String {
    let figures = line.figures.iter().map(|(name, value)| format!("\nfigure {name} {value}"));
    line.check.clone() + &figures.collect::<String>()
}

/// The output of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutput {
    /// The check values, in order.
    pub checks: Vec<String>,
    /// Names and values.
    pub figures: Vec<(String, f64)>,
}

impl RunOutput {
    /// Parses an output.
    ///
    /// # Errors
    /// There is no check value, or a figure is not a number.
    pub fn parse(stdout: &str) -> Result<RunOutput, String> {
        let mut said = RunOutput { checks: Vec::new(), figures: Vec::new() };
        for line in stdout.lines() {
            match line.strip_prefix("figure ") {
                None => said.checks.push(line.to_string()),
                Some(rest) => {
                    let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
                    let value = value.parse::<f64>().ok().filter(|v| v.is_finite());
                    let value = value
                        .ok_or_else(|| format!("it printed a figure without a finite number: {line:?}"))?;
                    said.figures.push((name.to_string(), value));
                }
            }
        }
        match said.checks.is_empty() {
            true => Err("it printed no check value".into()),
            false => Ok(said),
        }
    }

    /// The first line that differs from another run's, which `whose` names.
    pub fn differs_from<'a>(&'a self, other: &'a RunOutput, whose: &'a str) -> Option<Difference<'a>> {
        let count = self.checks.len().max(other.checks.len());
        let pairs = (0..count).map(|k| (k, self.checks.get(k), other.checks.get(k)));
        let (line, here, there) = { pairs }.find(|(_, here, there)| here != there)?;
        let line = line + 1;
        Some(Difference { line, here: here.map(String::as_str), there: there.map(String::as_str), whose })
    }
}

/// A check value that differs between two runs.
#[derive(Debug, PartialEq)]
pub struct Difference<'a> {
    line: usize,
    here: Option<&'a str>,
    there: Option<&'a str>,
    /// The other run.
    whose: &'a str,
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |said: Option<&str>| said.map_or("nothing".into(), |text| format!("{text:?}"));
        write!(
            f,
            "in check value {} it has {}, but {} {}",
            self.line,
            show(self.here),
            self.whose,
            show(self.there)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_lines_are_parsed() {
        let line = Line {
            text: "for people".into(),
            check: "churn ops 3".into(),
            figures: vec![("mops", 2.5), ("gap_us", 1e9)],
            fields: serde_json::Value::Null,
        };
        let said = RunOutput::parse(&(print(&line) + "\n")).unwrap();
        assert_eq!(said.checks, ["churn ops 3"]);
        assert_eq!(said.figures, [("mops".to_string(), 2.5), ("gap_us".to_string(), 1e9)]);
    }

    #[test]
    fn check_values_and_figures_are_distinguished() {
        let said = RunOutput::parse("churn ops 3\nfigure mops 2.5\nfigure gap_us 1e3\ndone\n").unwrap();
        assert_eq!(said.checks, ["churn ops 3", "done"]);
        assert_eq!(said.figures, [("mops".to_string(), 2.5), ("gap_us".to_string(), 1000.0)]);
        for wrong in
            ["a\nfigure", "a\nfigure ", "a\nfigure mops", "a\nfigure mops fast", "a\nfigure mops inf"]
        {
            // A bare word is a check value, and will differ.
            assert_eq!(RunOutput::parse(wrong).is_err(), wrong != "a\nfigure", "{wrong}");
        }
        assert!(RunOutput::parse("").is_err() && RunOutput::parse("figure mops 1\n").is_err());
    }

    #[test]
    fn any_difference_is_found() {
        let said = |text: &str| RunOutput::parse(text).unwrap();
        let a = said("one\ntwo\nfigure x 1");
        assert_eq!(a.differs_from(&said("one\ntwo\nfigure x 2"), "off"), None);
        for (other, words) in [
            ("one\nthree", "value 2 it has \"two\", but off \"three\""),
            ("one", "value 2 it has \"two\", but off nothing"),
            ("one\ntwo\nthree", "value 3 it has nothing, but off \"three\""),
        ] {
            let message = a.differs_from(&said(other), "off").unwrap().to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
