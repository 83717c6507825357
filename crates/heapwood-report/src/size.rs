//! Sizes as people write them: `64MiB`, `64M`, `1.5GiB` or bytes. Units are powers of 1024, so that `64M` is what
//! `ulimit` and control groups take it for; to the crate bytesize it would be 64 million bytes.

use heapwood_gc::settings::size;

/// The bytes that `text` says.
///
/// # Errors
/// What it should have been, in words.
pub fn parse_size(text: &str) -> Result<usize, String> {
    size::parse(text).map(|bytes| bytes as usize).map_err(|why| why.to_string())
}

/// A size for people, in the largest unit that leaves a number of at least 1.
pub fn show(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = if bytes == 0 { 0 } else { bytes.ilog2() as usize / 10 };
    match unit {
        0 => format!("{bytes} bytes"),
        _ => format!("{:.1} {}", bytes as f64 / (1u64 << (10 * unit)) as f64, units[unit]),
    }
}

/// A size for people in the largest unit of which it is a whole number.
pub fn exact(bytes: usize) -> String {
    size::Size(bytes as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        assert_eq!(parse_size("64MiB"), Ok(64 << 20));
        assert_eq!(parse_size("64 m"), Ok(64 << 20));
        assert_eq!(parse_size("1.5G"), Ok(3 << 29));
        assert_eq!(parse_size("4096"), Ok(4096));
        for wrong in ["", "MiB", "64 parsecs", "1..5M", "-3M", "9999999999T"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
        assert_eq!(show(1536 << 10), "1.5 MiB");
        assert_eq!(show(12), "12 bytes");
        assert_eq!([4 << 20, 3 << 29, 12].map(exact), ["4 MiB", "1536 MiB", "12 bytes"]);
    }
}
