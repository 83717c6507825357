//! Which workload, and how much of it.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use heapwood_workloads::Workload;

/// The names of all workloads, each with its line of help and what N is.
pub(super) fn workloads() -> impl TypedValueParser<Value = &'static Workload> {
    let names = heapwood_workloads::ALL.iter().map(|w| {
        PossibleValue::new(w.name).help(format!("{}; N: {} [default: {}]", w.about, w.n.unit, w.n.usual))
    });
    PossibleValuesParser::new(names)
        .map(|name| Workload::find(&name).expect("the parser lets through only the names it was given"))
}

/// What N is, workload by workload.
fn sizes() -> String {
    let each =
        heapwood_workloads::ALL.iter().map(|w| format!("the {} of {} ({})", w.n.unit, w.name, w.n.usual));
    each.collect::<Vec<_>>().join(", ")
}

pub(super) fn parse_count(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(0) => Err("it must be at least 1".into()),
        Ok(n) => Ok(n),
        Err(_) if text.starts_with('-') && text[1..].parse::<u64>().is_ok() => {
            Err("it must not be negative".into())
        }
        Err(_) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
            Err("it is larger than any number this program counts to".into())
        }
        Err(_) => Err(format!("it must be a whole number: {}", sizes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_say_what_is_wrong() {
        assert_eq!(parse_count("21"), Ok(21));
        assert!(parse_count("-1").unwrap_err().contains("negative"));
        assert!(parse_count("many").unwrap_err().contains("whole number"));
        assert!(parse_count("99999999999999999999999").unwrap_err().contains("larger"));
        assert!(parse_count("0").is_err() && parse_count("").is_err() && parse_count("1.5").is_err());
    }
}
