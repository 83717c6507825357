//! The variables that make tests longer, or play a seed again (docs/testing.md).

/// Whether HEAPWOOD_LONG=1 asks for the long mode.
pub fn is_long() -> bool {
    std::env::var_os("HEAPWOOD_LONG").is_some_and(|value| value == "1")
}

/// The number that a variable holds, if it is set.
pub fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")))
}

/// The first seed that an oracle plays.
pub fn first_seed() -> u64 {
    number("HEAPWOOD_ORACLE_SEED").unwrap_or(1)
}

/// How much an oracle plays: what the variable says, what the long mode wants, or the usual.
pub fn amount(variable: &str, long: usize, usual: usize) -> usize {
    number(variable).map_or(if is_long() { long } else { usual }, |n| n as usize)
}
