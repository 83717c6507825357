//! The header of every report: the command that repeats the measurement, the time of its end, and the machine.

use crate::machine::Machine;
use serde::Serialize;
use std::fmt;
use std::time::SystemTime;

/// The header of a report; its fields are part of the report's JSON object.
#[derive(Serialize, Clone, Debug)]
pub struct Header {
    /// The command that repeats the measurement, as a shell line.
    pub command: String,
    /// The number of measured runs, after the warm-up.
    pub runs: u32,
    /// The time of the end, in UTC: `2026-11-22T10:40:14Z`.
    pub date: String,
    /// The machine.
    pub machine: Machine,
}

impl Header {
    /// The header of a measurement that has just ended on this machine.
    pub fn now(command: String, runs: u32) -> Header {
        Header { command, runs, date: now(), machine: Machine::this() }
    }

    /// The date without the time: `2026-11-22`.
    pub fn day(&self) -> &str {
        day(&self.date)
    }
}

fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

fn day(date: &str) -> &str {
    date.split('T').next().unwrap_or_default()
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`, {}, {}", self.command, self.date, self.machine)
    }
}

/// A word of a shell command, quoted if necessary.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.,:/+=@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (text, quoted) in
            [("go,java-serial", "go,java-serial"), ("", "''"), ("a b", "'a b'"), ("it's", r"'it'\''s'")]
        {
            assert_eq!(shell_word(text), quoted);
        }
    }
}
