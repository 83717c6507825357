//! `heapwood-eval decode`: the speed of decoding programs in bits a nanosecond, compared with published measurements of
//! Go 1.26 for the same types, and with the older recursive form interpreted bit by bit. On a busy machine the best round
//! counts.

use crate::args::Decode;
use crate::layouts::patterns::{self, Pattern};
use crate::timing::{Clock, rounds};
use heapwood_report::header::shell_word;
use heapwood_report::tables::{number, show, table};
use heapwood_report::{CommandError, Header, Progress, Spread};
use serde::Serialize;
use std::fmt;

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    header: Header,
    patterns: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    bits: u64,
    program_bytes: usize,
    ns: Spread,
    bits_per_ns: Spread,
    older_bits_per_ns: Spread,
    /// The best pass of Go 1.26, a published measurement.
    quoted_go_1_26_best_bits_per_ns: Option<f64>,
}

pub(crate) fn run(args: &Decode) -> Result<(), CommandError> {
    let mut patterns = patterns::all()?;
    patterns.retain(|pattern| pattern.name.contains(&args.only));
    if patterns.is_empty() {
        let names: Vec<&str> = patterns::all()?.iter().map(|pattern| pattern.name).collect();
        return Err(CommandError::usage(format!(
            "no pattern is called {:?}: {}",
            args.only,
            names.join(", ")
        )));
    }
    let (bar, clock) = (Progress::new(), Clock::new());
    rounds(args.runs.k, &bar, 1, |measuring| {
        for pattern in &mut patterns {
            pattern.round(&clock, measuring);
            pattern.older_round(&clock, measuring);
        }
        bar.advance();
        Ok(())
    })?;
    bar.finish();
    let only = if args.only.is_empty() { String::new() } else { format!(" {}", shell_word(&args.only)) };
    let command = format!("heapwood-eval decode{only} --runs {}", args.runs.k);
    let header = Header::now(command, args.runs.k);
    args.output.show("decode", &Report { header, patterns: patterns.iter().map(Row::of).collect() })
}

impl Row {
    fn of(pattern: &Pattern) -> Row {
        let bits = pattern.words as f64;
        Row {
            name: pattern.name,
            bits: pattern.words,
            program_bytes: pattern.bytes.len(),
            ns: pattern.decode.spread(),
            bits_per_ns: pattern.decode.rate(bits),
            older_bits_per_ns: pattern.older.rate(bits),
            quoted_go_1_26_best_bits_per_ns: pattern.go,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table =
            table(&["", "bits", "bytes", "ns", "bits/ns", "older", "quoted: Go 1.26, best", "times"]);
        for row in &self.patterns {
            let go = row.quoted_go_1_26_best_bits_per_ns;
            table.add_row([
                row.name.into(),
                row.bits.to_string(),
                row.program_bytes.to_string(),
                show(row.ns, 1.0),
                show(row.bits_per_ns, 1.0),
                show(row.older_bits_per_ns, 1.0),
                go.map_or("-".into(), number),
                go.map_or("-".into(), |go| number(row.bits_per_ns.max / go)),
            ]);
        }
        writeln!(f, "{}\n", self.header)?;
        writeln!(
            f,
            "Programs decoded into a bitmap: median (least-most) of {} rounds, one stretch of each in every round. older: an",
            self.header.runs
        )?;
        writeln!(
            f,
            "older form interpreted bit by bit, bits/ns. times: the best round over Go's best pass, which is quoted.\n"
        )?;
        writeln!(f, "{table}")
    }
}
