//! What the oracles share: the kinds of objects that their programs make, and the graph as the program of one thread means it.

pub mod graph;
pub mod kinds;

/// What was expected, or what was not.
pub type Outcome = Result<(), String>;

/// What word `word` of an object with this serial number holds if it is no slot: no address, since the top bits are set.
pub fn pattern(serial: u64, word: usize) -> usize {
    let mixed = (serial ^ (word as u64) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 4) as usize | 0xF000_0000_0000_0000
}
