//! Input files, read whole. Invariant: reading stops at a limit, so a device, a pipe or a wrong file is refused once
//! it is larger than any valid one.

use std::fs::File;
use std::io::{Error, Read, Result};
use std::path::Path;

/// The content of a file of at most `most` bytes.
///
/// # Errors
/// It cannot be read, or is larger.
pub fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(Error::other(format!("it is larger than {}", crate::size::show(most)))),
        false => Ok(bytes),
    }
}
