//! Parsers of argument values that the command and the evaluation share.

use crate::legible::legible;
use clap::builder::{PathBufValueParser, TypedValueParser};
use std::path::PathBuf;

/// An output file; a lone dash is refused.
pub fn a_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(check_file)
}

/// An output file for a picture. Its extension, if any, must be svg.
pub fn a_picture() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(check_picture)
}

fn check_file(path: PathBuf) -> Result<PathBuf, &'static str> {
    match path.as_os_str() == "-" {
        true => {
            Err("it is not written to standard output: give the name of a file (./- for one of that name)")
        }
        false => Ok(path),
    }
}

fn check_picture(path: PathBuf) -> Result<PathBuf, String> {
    let path = check_file(path)?;
    match path.extension() {
        Some(other) if !other.eq_ignore_ascii_case("svg") => {
            let svg = path.with_extension("svg");
            let svg = legible(svg.file_name().unwrap_or(svg.as_os_str()));
            Err(format!("pictures are written as SVG only: name it {svg}, or without an extension"))
        }
        _ => Ok(path),
    }
}
