//! Runs a program of Lox, in a session or in a heap without one:
//!
//! ```text
//! cargo run --release -p heapwood-workloads --example lox -- FILE.lox [--plain] [--stats]
//! ```

use heapwood::{Config, Heap, Stats};
use heapwood_workloads::lox::front::{Program, compile};
use heapwood_workloads::lox::session::RunError;
use heapwood_workloads::lox::{plain, session};
use std::io::{BufWriter, Write};
use std::process::ExitCode;

const USAGE: &str = "usage: lox FILE.lox [--plain] [--stats]

Runs a program of Lox.
  --plain  in a heap that scans the stack, instead of a session
  --stats  prints afterwards how often the heap was collected, and what it allocated

It exits with 64 if it does not know an argument, with 65 if the text is no program, with 66 if there is no such file, and with 70 if
the program makes a mistake.";

fn main() -> ExitCode {
    let (options, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let known = options.iter().all(|option| option == "--plain" || option == "--stats");
    let ([file], true) = (&files[..], known) else {
        eprintln!("{USAGE}");
        return ExitCode::from(64);
    };
    let has = |wanted: &str| options.iter().any(|option| option == wanted);
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => return fail(66, &format!("{file}: {error}")),
    };
    let program = match compile(&text) {
        Ok(program) => program,
        Err(error) => return fail(65, &error.to_string()),
    };
    let mut out = BufWriter::new(std::io::stdout());
    // Who no longer reads the output ends the program's use, not its run.
    let mut print = |line: &str| _ = writeln!(out, "{line}");
    let run = if has("--plain") { in_plain_heap } else { session::run };
    let ran = run(Config::default(), &program, &mut print);
    _ = out.flush();
    match ran {
        Ok(stats) if has("--stats") => {
            eprintln!("{} collections, {} bytes allocated", stats.collections, stats.allocated_bytes);
            ExitCode::SUCCESS
        }
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => fail(70, &error.to_string()),
    }
}

fn fail(code: u8, message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(code)
}

fn in_plain_heap(config: Config, program: &Program, print: &mut dyn FnMut(&str)) -> Result<Stats, RunError> {
    // SAFETY: the machine keeps its pointers on the stack of this thread and in objects.
    let heap = unsafe { Heap::new(config) }.map_err(RunError::Heap)?;
    let m = heap.attach().map_err(RunError::Heap)?;
    plain::run(&m, program, print).map_err(RunError::Lox)?;
    Ok(heap.stats())
}
