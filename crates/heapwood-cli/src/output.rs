//! Lines for standard output. If they cannot be written (a full disk), the program ends with the reason: `println!`
//! would panic.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a line and a newline.
pub(crate) fn line(text: Arguments<'_>) {
    if let Err(e) = writeln!(std::io::stdout(), "{text}") {
        eprintln!("heapwood: the output could not be written: {e}");
        std::process::exit(1);
    }
}

/// `println!` by way of [`line()`].
macro_rules! say {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*)) };
}
pub(crate) use say;
