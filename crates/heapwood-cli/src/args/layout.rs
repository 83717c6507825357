//! The command line of `heapwood layout`.

use clap::{Parser, Subcommand};
use std::ffi::OsString;

#[derive(Subcommand)]
pub(crate) enum Layout {
    /// Print the program of a file or a type, or the first wrong byte
    #[command(after_help = HELP)]
    Show(Show),
}

const HELP: &str = "\
One line an instruction: its offset, its bytes, its effect. Below: the words and bytes of the type, its pointers, and \
the bytes of the description. A valid program repeats only words before it. An error names the offset of the wrong byte in \
the program, and what was expected there.

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

#[derive(Parser)]
pub(crate) struct Show {
    /// A file that holds a program, or a type such as `{ word [100]ptr }`
    #[arg(value_name = "FILE|TYPE")]
    pub(crate) what: OsString,
}
