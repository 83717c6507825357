//! The command line of each machine: `lox-rc FILE SIZE`. Exit codes: 0, 1 if the program fails, 2 if the command line is wrong.

use crate::compile;
use crate::program::{Error, Program};
use std::fmt::Display;
use std::process::exit;

/// Compiles the file, and runs it by `run` with its size.
pub fn main(run: impl FnOnce(&Program, f64) -> Result<(), Error>) {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (file, size) = match &args[..] {
        [file, size] => (file, size.parse().unwrap_or_else(|_| fail(2, format!("{size:?} is no size")))),
        _ => fail(2, "usage: FILE SIZE: a program of examples/lox/programs, and the size of its work"),
    };
    let source =
        std::fs::read_to_string(file).unwrap_or_else(|e| fail(1, format!("{file} cannot be read: {e}")));
    let program = compile(&source).unwrap_or_else(|e| fail(1, format!("{file}: {e}")));
    run(&program, size).unwrap_or_else(|e| fail(1, format!("{file}: {e}")));
}

fn fail(code: i32, why: impl Display) -> ! {
    eprintln!("{why}");
    exit(code);
}
