//! Files that are read whole. Invariant: not without end: a device, a pipe or a file that was not meant is given up once it
//! has turned out larger than anything sensible.

use std::fs::File;
use std::io::{Error, Read, Result};
use std::path::Path;

/// What is in a file of at most N bytes.
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
