//! What can be said on the command line. Whatever is wrong with it is said here, before anything runs.

use crate::size::parse_size;
use clap::{Parser, Subcommand, ValueEnum};

/// A garbage-collected heap: run workloads on it and see what it does.
#[derive(Parser)]
#[command(name = "heapwood", version, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a workload and print what it cost
    Run(Run),
}

#[derive(Parser)]
pub(crate) struct Run {
    /// Which workload
    #[arg(value_enum)]
    pub(crate) workload: Workload,

    /// How much of it: the depth of trees (21), the replacements of churn (20000000), the objects of mark (8000000)
    #[arg(allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) n: Option<u64>,

    /// Allocate this many percent of what is alive before collecting again
    #[arg(long, value_name = "PERCENT", default_value_t = heapwood::Config::DEFAULT.percent, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=heapwood::Config::MAX_PERCENT as i64))]
    pub(crate) percent: u32,

    /// Let the heap grow to at most SIZE, such as 64MiB
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = parse_limit)]
    pub(crate) limit: Option<usize>,

    /// Check everything after every collection (slow)
    #[arg(long)]
    pub(crate) verify: bool,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, ValueEnum, PartialEq, Eq, Debug)]
pub(crate) enum Workload {
    /// Binary trees, as the Benchmarks Game defines them
    Trees,
    /// A million live objects of 64 to 128 bytes, replaced at random
    Churn,
    /// A static graph of 32-byte objects, collected in full
    Mark,
}

impl Workload {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Workload::Trees => "trees",
            Workload::Churn => "churn",
            Workload::Mark => "mark",
        }
    }
}

fn parse_count(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(0) => Err("it must be at least 1".into()),
        Ok(n) => Ok(n),
        Err(_) if text.starts_with('-') && text[1..].parse::<u64>().is_ok() => {
            Err("it must not be negative".into())
        }
        Err(_) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
            Err("it is larger than any number this program counts to".into())
        }
        Err(_) => Err("it must be a whole number".into()),
    }
}

fn parse_limit(text: &str) -> Result<usize, String> {
    let bytes = parse_size(text)?;
    if bytes < heapwood::Config::MIN_LIMIT {
        return Err(format!(
            "a heap needs at least {}",
            crate::size::show(heapwood::Config::MIN_LIMIT as u64)
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn counts_say_what_is_wrong() {
        assert_eq!(parse_count("21"), Ok(21));
        assert!(parse_count("-1").unwrap_err().contains("negative"));
        assert!(parse_count("many").unwrap_err().contains("whole number"));
        assert!(parse_count("99999999999999999999999").unwrap_err().contains("larger"));
        assert!(parse_count("0").is_err() && parse_count("").is_err() && parse_count("1.5").is_err());
    }
}
