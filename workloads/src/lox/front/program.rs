//! A program as a machine runs it. Invariants: the numbers in its instructions are within its tables; the stack of a function's frame
//! never has more values than `slots`; every path through a function's code ends with a return.

use super::op::Op;

/// The number of the name `init`.
pub const INIT: u16 = 0;

/// A compiled program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its functions, of which the last is the text as a whole, without parameters.
    pub functions: Vec<Function>,
    /// Its texts, each once.
    pub texts: Vec<String>,
    /// The names of its fields, methods and classes, each once.
    pub names: Vec<String>,
    /// The names of its globals, those of [`Native::ALL`](super::Native::ALL) first.
    pub globals: Vec<String>,
}

/// A function.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Its name; empty for a text as a whole.
    pub name: String,
    /// How many parameters it has.
    pub arity: u8,
    /// The values that its frame has at most, with the first one; no more than [`MOST_SLOTS`].
    pub slots: u32,
    /// The variables that its closure captures when it is made.
    pub captured: Vec<Captured>,
    /// Its instructions.
    pub code: Vec<Op>,
    /// Their lines.
    pub lines: Vec<u32>,
    /// Its numbers.
    pub numbers: Vec<f64>,
}

/// The values of one frame at most: a machine's stack has room for more.
pub const MOST_SLOTS: u32 = 1 << 12;

/// A variable that a closure captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Captured {
    /// The local in this slot of the frame that makes the closure.
    Local(u8),
    /// What that frame's closure has captured under this number.
    Outer(u8),
}

impl Program {
    /// The function that is the text as a whole.
    pub fn main(&self) -> u32 {
        self.functions.len() as u32 - 1
    }
}
