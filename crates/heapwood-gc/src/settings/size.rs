//! Sizes as people write them: `64MiB`, `64M`, `1.5GiB` or bytes, in powers of 1024. Nothing here allocates.
//! Invariant: what is shown is read as the same number of bytes.

use core::fmt;

const NO_NUMBER: &str = "a size begins with a number, such as 64MiB";
const NO_UNIT: &str = "a size is a number with KiB, MiB, GiB or TiB, such as 64MiB";
const TOO_LARGE: &str = "no machine has that much memory";

/// The bytes in `text`, or why it is not a size.
pub fn parse(text: &str) -> Result<u64, &'static str> {
    let text = text.trim_ascii();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    const UNITS: [(&str, u32); 14] = [
        ("", 0),
        ("b", 0),
        ("k", 10),
        ("kb", 10),
        ("kib", 10),
        ("m", 20),
        ("mb", 20),
        ("mib", 20),
        ("g", 30),
        ("gb", 30),
        ("gib", 30),
        ("t", 40),
        ("tb", 40),
        ("tib", 40),
    ];
    let unit = unit.trim_ascii();
    let (_, shift) = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name)).ok_or(NO_UNIT)?;
    let bytes = match number.parse::<u64>() {
        Ok(whole) => u128::from(whole) << shift,
        Err(_) => (number.parse::<f64>().map_err(|_| NO_NUMBER)? * (1u64 << shift) as f64) as u128,
    };
    // No machine has more, and sums with it do not overflow.
    u64::try_from(bytes).ok().filter(|&bytes| bytes < 1 << 60).ok_or(TOO_LARGE)
}

/// A size for people, in the largest unit that gives a whole number: `4 MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 7] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 == 1 {
            return f.write_str("1 byte");
        }
        let unit = if self.0 == 0 { 0 } else { self.0.trailing_zeros() as usize / 10 };
        write!(f, "{} {}", self.0 >> (10 * unit), UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        assert_eq!(parse("64MiB"), Ok(64 << 20));
        assert_eq!(parse("64 m"), Ok(64 << 20));
        assert_eq!(parse("1.5G"), Ok(3 << 29));
        assert_eq!(parse("4096"), Ok(4096));
        assert_eq!(parse("1152921504606846975"), Ok((1 << 60) - 1));
        assert_eq!(parse("64 parsecs"), Err(NO_UNIT));
        assert_eq!(parse("9999999999T"), Err(TOO_LARGE));
        assert_eq!(parse("99999999999999999999999999T"), Err(TOO_LARGE));
        for wrong in ["", "MiB", "1..5M", "."] {
            assert_eq!(parse(wrong), Err(NO_NUMBER), "{wrong}");
        }
        assert!(parse("-3M").is_err());
        assert_eq!(
            [4 << 20, 3 << 29, 12, 0].map(|n| Size(n).to_string()),
            ["4 MiB", "1536 MiB", "12 bytes", "0 bytes"]
        );
    }
}
