//! Values that the command lines of the command and of the evaluation have in common.

use crate::legible::legible;
use clap::builder::{PathBufValueParser, TypedValueParser};
use std::path::PathBuf;

/// A file for output, which a lone dash is not.
pub fn a_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(check_file)
}

/// A file for a picture: SVG is what is written, whatever its name says.
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
