//! Times as people write them: `5ms`, `250us`, `1.5s`, or nanoseconds; `off` is a time without end. Nothing here allocates.
//! Invariant: what is shown is read as the same number of nanoseconds.

use core::fmt;

/// `off`: a time without end.
pub const OFF: u64 = u64::MAX;

const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// The nanoseconds in `text`, or why it is no time.
pub fn parse(text: &str) -> Result<u64, &'static str> {
    const WRONG: &str = "a time is a number with ns, us, ms or s, such as 5ms, or off";
    let text = text.trim_ascii();
    if text == "off" {
        return Ok(OFF);
    }
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit.trim_ascii() {
        "" => 1,
        unit => UNITS.iter().find(|(name, _)| *name == unit).ok_or(WRONG)?.1,
    };
    match number.parse::<u64>() {
        Ok(whole) => Ok(whole.saturating_mul(unit)),
        Err(_) => Ok((number.parse::<f64>().map_err(|_| WRONG)? * unit as f64) as u64),
    }
}

/// A time for people, in the largest unit that gives a whole number: `5 ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == OFF {
            return f.write_str("off");
        }
        let (name, unit) =
            UNITS.into_iter().rev().find(|(_, unit)| self.0.is_multiple_of(*unit)).expect("1 divides it");
        match self.0 {
            0 => f.write_str("0"),
            ns => write!(f, "{} {name}", ns / unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown() {
        let read = [
            ("5ms", 5_000_000),
            ("250 us", 250_000),
            ("1.5s", 1_500_000_000),
            ("7", 7),
            ("0", 0),
            ("off", OFF),
        ];
        for (text, ns) in read {
            assert_eq!((parse(text), parse(&Time(ns).to_string())), (Ok(ns), Ok(ns)), "{text}");
        }
        assert_eq!([5_000_000, 1_500_000_000, 7].map(|ns| Time(ns).to_string()), ["5 ms", "1500 ms", "7 ns"]);
        for wrong in ["", "ms", "5 min", "-1ms", "1..5s"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
