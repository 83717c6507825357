//! The command line of `heapwood layout`.

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Subcommand)]
pub(crate) enum Layout {
    /// Print the program that describes the pointers of a type, in a few bytes
    #[command(after_help = SHOW_HELP)]
    Show(Show),
    /// Check that a file holds a valid program, or report the first wrong byte
    #[command(after_help = CHECK_HELP)]
    Check(Check),
}

const SHOW_HELP: &str = "\
One line an instruction: its offset, its bytes, its effect. Below: the words and bytes of the type, its pointers, and \
the bytes of the description.

Syntax of types (a file of that name takes precedence):
  ptr                  a word that is a pointer
  word                 a word that is no pointer
  [N]T                 an array: [100]ptr, [1<<28]ptr
  {T T ...}            a struct, its fields in the order of their offsets

A file holds the bytes of a program, raw or as hexadecimal text: two digits a byte, with white space, and comments from \
# to the end of the line. A file without control characters except white space is text; programs end with the byte 00.

Examples:
  heapwood layout show '{ word ptr [100]{ptr word word} [1<<28]ptr }'
  heapwood layout show program.bin
  printf '02 01 00  # two words, the first a pointer' > small.hex; heapwood layout show small.hex

Exit codes: 0 done, 1 the file holds no valid program, 2 the command line is wrong: neither a file nor a type.";

const CHECK_HELP: &str = "\
A valid program describes each word of a type exactly once and repeats only words before it. Without --words the type \
has as many words as the program emits. An error names the offset of the wrong byte in the program, and what was \
expected there. Files hold bytes or hexadecimal text: see heapwood layout show --help.

Examples:
  heapwood layout check program.bin
  heapwood layout check program.hex --words 3000

Exit codes: 0 accepted, 1 refused or cannot be read, 2 the command line is wrong.";

#[derive(Parser)]
pub(crate) struct Show {
    /// A file that holds a program, or a type such as `{ word [100]ptr }`
    #[arg(value_name = "FILE|TYPE")]
    pub(crate) what: OsString,

    /// With a file: the words of the type [default: as many as the program emits]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_words)]
    pub(crate) words: Option<u64>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Parser)]
pub(crate) struct Check {
    /// A file that holds a program, as bytes or as hexadecimal text
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The words of the type [default: as many as the program emits]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_words)]
    pub(crate) words: Option<u64>,

    /// Print one JSON object instead of a line
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_words(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "it must be a whole number of words, such as 3000, below 2^64".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_word_counts_name_the_cause() {
        assert_eq!(parse_words("0"), Ok(0));
        assert_eq!(parse_words("18446744073709551615"), Ok(u64::MAX));
        for wrong in ["", "-1", "1.5", "many", "18446744073709551616"] {
            assert!(parse_words(wrong).unwrap_err().contains("number of words"), "{wrong}");
        }
    }
}
