//! The sources that this command was built from, where it still finds them.

use heapwood_report::legible::legible;
use std::path::Path;

/// The folder of the workspace when this command was built.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Where the sources would be.
pub(crate) fn folder() -> &'static Path {
    Path::new(SOURCES)
}

/// The folder of the sources.
///
/// # Errors
/// They are no longer there.
pub(crate) fn check() -> Result<&'static Path, String> {
    check_in(folder())
}

fn check_in(folder: &Path) -> Result<&Path, String> {
    match folder.join("crates/heapwood-cli/Cargo.toml").exists() {
        true => Ok(folder),
        false => Err(format!(
            "the sources that this command was built from are no longer in {}; build it where they are now: cargo build \
             --release",
            legible(folder)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_sources_are_named() {
        let why = check_in(Path::new("/no/such/folder")).unwrap_err();
        assert!(why.contains("/no/such/folder") && why.contains("cargo build --release"), "{why}");
        assert!(check().is_ok());
    }
}
