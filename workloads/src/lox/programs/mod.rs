//! The programs of the workload, which every machine runs. They are written in Lox, and have a global `n` for their size.

use crate::lox::front::{Program, compile};
use crate::workload::Line;
use serde_json::json;

/// A program: its name, its text, and what N of the workload is multiplied by for its own `n`, so that each takes about as long.
const ALL: [(&str, &str, u64); 5] = [
    ("trees", include_str!("trees.lox"), 1),
    ("sort", include_str!("sort.lox"), 1),
    ("words", include_str!("words.lox"), 20),
    ("tasks", include_str!("tasks.lox"), 3),
    ("fib", include_str!("fib.lox"), 12),
];

/// The bytes alive at once at least: the instances of a tree of depth 14, with two fields each.
pub(in crate::lox) const LEAST_BYTES: u128 = 32767 * 56;

/// The names and programs, for an N of the workload.
pub fn all(n: u64) -> impl Iterator<Item = (&'static str, Program)> {
    ALL.into_iter().map(move |(name, text, times)| {
        let program = compile(&format!("var n = {}; {text}", n * times));
        (name, program.unwrap_or_else(|error| panic!("{name}.lox, {error}")))
    })
}

/// What is reported of a line that a program has printed.
pub fn line(program: &str, printed: &str) -> Line {
    let check = format!("lox {program}: {printed}");
    let fields = json!({"program": program, "printed": printed});
    Line { text: check.clone(), check, figures: Vec::new(), fields }
}
