//! The facts about a program besides its instructions. `--json` prints them as serialised here. Pointers are counted by
//! the nest of loops that a heap uses, so that the cost does not depend on the size of the type.

use super::source::{From, Source};
use heapwood_heap::{MOST_NODES, RegisterProgramError};
use heapwood_layout::program::{Nest, Node, Op, Ops, Program, ProgramError};
use heapwood_layout::{TypeDescriptor, WORD};
use serde::Serialize;
use std::fmt;

/// A valid program.
#[derive(Serialize)]
pub(super) struct Accepted {
    accepted: bool,
    /// Words of the type.
    words: u64,
    bytes: u128,
    /// Unknown for a program that no heap accepts.
    pointers: Option<u64>,
    /// Bytes of the program, with its end.
    description_bytes: usize,
    /// Bytes of the heap's nest of loops for it.
    nodes: Option<usize>,
    /// The reason why no heap accepts it, although it is valid.
    heap_refuses: Option<String>,
}

/// An invalid program.
#[derive(Serialize)]
pub(super) struct Refused {
    accepted: bool,
    /// The offset of the byte at fault.
    at: usize,
    /// The error, and what was expected.
    why: String,
}

/// A program with its instructions.
#[derive(Serialize)]
pub(super) struct Shown {
    source: From,
    #[serde(flatten)]
    facts: Accepted,
    /// In hexadecimal digits.
    program: String,
    instructions: Vec<Instruction>,
}

#[derive(Serialize)]
struct Instruction {
    /// The offset of its first byte.
    at: usize,
    #[serde(flatten)]
    does: Effect,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Effect {
    Emit { bits: u64 },
    Repeat { last: u64, times: u64 },
}

impl Accepted {
    pub(super) fn of(program: &Program<'_>) -> Accepted {
        let (mut nodes, mut unrolled) = (vec![Node::EMPTY; MOST_NODES], vec![0; MOST_NODES]);
        let nest =
            Nest::compile_or_unroll(*program, &mut nodes, &mut unrolled).map_err(RegisterProgramError::Nest);
        let bytes = u128::from(program.words()) * WORD as u128;
        let size = TypeDescriptor::conservative(usize::try_from(bytes).unwrap_or(usize::MAX));
        Accepted {
            accepted: true,
            words: program.words(),
            bytes,
            pointers: nest.ok().map(|nest| nest.pointers()),
            description_bytes: program.bytes().len(),
            nodes: nest.ok().map(|nest| nest.nodes().len()),
            heap_refuses: size.err().map(|e| e.to_string()).or(nest.err().map(|e| e.to_string())),
        }
    }
}

impl Refused {
    pub(super) fn of(wrong: &ProgramError) -> Refused {
        Refused { accepted: false, at: wrong.at, why: wrong.kind.to_string() }
    }
}

impl Shown {
    pub(super) fn of(source: &Source, program: &Program<'_>) -> Shown {
        let instruction = |(at, op)| Instruction {
            at,
            does: match op {
                Op::Literal { bits, .. } => Effect::Emit { bits },
                Op::Repeat { last, times } => Effect::Repeat { last, times },
            },
        };
        Shown {
            source: source.from,
            facts: Accepted::of(program),
            program: program.bytes().iter().map(|byte| format!("{byte:02x}")).collect(),
            instructions: Ops::new(program.bytes()).map_while(Result::ok).map(instruction).collect(),
        }
    }
}

/// A number with a noun.
struct Count(u128, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.0, self.1, if self.0 == 1 { "" } else { "s" })
    }
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", Count(self.words.into(), "word"), Count(self.bytes, "byte"))?;
        if let Some(bytes) = u64::try_from(self.bytes).ok().filter(|&bytes| bytes >= 1 << 10) {
            write!(f, " ({})", heapwood_report::size::show(bytes))?;
        }
        if let Some(pointers) = self.pointers {
            write!(f, ", {}", Count(pointers.into(), "pointer"))?;
        }
        write!(f, "; {} of description", Count(self.description_bytes as u128, "byte"))?;
        match &self.heap_refuses {
            Some(why) => write!(f, "; right, but no heap takes it: {why}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaps_refuse_sizes_that_no_type_has() {
        let refused = |bytes: &[u8], words| Accepted::of(&Program::check(bytes, words).unwrap()).heap_refuses;
        assert!(refused(&[0x00], 0).unwrap().contains("0 bytes"));
        let mut huge = vec![0x01, 0x00, 0x81];
        huge.extend([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00]);
        assert!(refused(&huge, u64::MAX).unwrap().contains("at most"));
        assert_eq!(refused(&[0x02, 0x01, 0x00], 2), None);
    }
}
