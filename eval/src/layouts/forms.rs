//! A type in all forms, and the operations on each: a program, a mask unrolled once, the older recursive form, and a
//! nest of loops. Invariant: all forms have the same pointers, which is checked when they are made.

use super::bits;
use super::recursive::RecursiveForm;
use super::types::{ROOM, Type};
use crate::timing::{Clock, Series};
use heapwood_layout::program::{Nest, Node, Piece, Program, ProgramBuf};
use heapwood_layout::{MASK_BLOCKS, MAX_MASK_WORDS};
use heapwood_report::CommandError;
use std::hint::black_box;

/// The distance of objects in bits. It is odd, so that objects begin at all bits of a word.
const APART: usize = 13;

/// Nodes for a program of this many bytes.
const NODES: usize = ROOM;

/// The heap's description of the type's elements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Mask,
    Program,
}

pub(super) struct Forms {
    pub(super) ty: &'static Type,
    program: ProgramBuf<ROOM>,
    /// One bit a word.
    unrolled: Vec<u64>,
    old: RecursiveForm,
    nodes: [Node; NODES],
    out: Vec<u64>,
    pub(super) pointers: u64,
    pub(super) decode: Series,
    pub(super) copy: Series,
    pub(super) recursive: Series,
    pub(super) find: Series,
}

/// The kind of description of a type's elements.
pub(super) fn kind(ty: &Type) -> Kind {
    if ty.element_words() <= MAX_MASK_WORDS { Kind::Mask } else { Kind::Program }
}

/// The bits of a program.
pub(crate) fn unroll(program: &Program<'_>) -> Vec<u64> {
    let mut bits = vec![0; (program.words() as usize).div_ceil(64)];
    program.decode(&mut bits, 0);
    bits
}

/// The same as the heap's layout.
pub(super) fn mask(element: &Program<'_>) -> [u64; MASK_BLOCKS] {
    let bits = unroll(element);
    std::array::from_fn(|k| bits.get(k).copied().unwrap_or(0))
}

impl Forms {
    pub(super) fn new(ty: &'static Type) -> Result<Forms, CommandError> {
        let program = ty.program().map_err(CommandError::run)?;
        let room = ty.words() + 128;
        let mut forms = Forms {
            ty,
            unrolled: unroll(&program.program()),
            old: ty.old(),
            nodes: [Node::EMPTY; NODES],
            out: vec![0; room.div_ceil(64)],
            pointers: 0,
            program,
            decode: Series::new(),
            copy: Series::new(),
            recursive: Series::new(),
            find: Series::new(),
        };
        forms.compare()?;
        Ok(forms)
    }

    pub(super) fn program_bytes(&self) -> usize {
        self.program.bytes().len()
    }

    /// One bit a word.
    pub(super) fn mask_bytes(&self) -> usize {
        self.ty.words().div_ceil(8)
    }

    /// Checks that all forms have the same bits at every start.
    fn compare(&mut self) -> Result<(), CommandError> {
        let differs = |form: &str| {
            CommandError::run(format!("{}: {form} has other pointers than the older form", self.ty.name))
        };
        for start in [0, APART, 63] {
            let room = self.out.len();
            let mut expected = vec![0u64; room];
            let end = self.old.decode(&mut expected, start);
            if end != start + self.ty.words() {
                return Err(CommandError::run(format!(
                    "{}: the older form has another length",
                    self.ty.name
                )));
            }
            let form = |write: &dyn Fn(&mut [u64])| {
                let mut out = vec![0u64; room];
                write(&mut out);
                out == expected
            };
            let n = self.ty.words();
            if !form(&|out| self.program.program().decode(out, start)) {
                return Err(differs("the decoder"));
            }
            if !form(&|out| bits::copy(out, start, &self.unrolled, n)) {
                return Err(differs("the mask"));
            }
        }
        let nest = Nest::compile(self.program.program(), &mut self.nodes).map_err(CommandError::run)?;
        let mut bits = vec![0; self.out.len()];
        self.old.decode(&mut bits, 0);
        let expected = (0..self.ty.words() as u64).filter(|i| bits[*i as usize / 64] >> (i % 64) & 1 == 1);
        let (count, sum) = expected.fold((0, 0), |(count, sum), i| (count + 1, sum + i));
        if find(&nest) != sum {
            return Err(CommandError::run(format!("{}: the nest has other pointers", self.ty.name)));
        }
        self.pointers = count;
        Ok(())
    }

    /// A stretch of everything.
    pub(super) fn round(&mut self, clock: &Clock, measuring: bool) {
        let (program, words) = (self.program.program(), self.ty.words());
        let mut out = std::mem::take(&mut self.out);
        self.decode.round(clock, measuring, |times| {
            for start in (0..times).map(|k| k * APART % 64) {
                black_box(&program).decode(black_box(&mut out), start);
            }
        });
        self.copy.round(clock, measuring, |times| {
            for start in (0..times).map(|k| k * APART % 64) {
                bits::copy(black_box(&mut out), start, black_box(&self.unrolled), words);
            }
        });
        self.recursive.round(clock, measuring, |times| {
            for start in (0..times).map(|k| k * APART % 64) {
                black_box(&self.old).decode(black_box(&mut out), start);
            }
        });
        self.out = out;
        if let Ok(nest) = Nest::compile(program, &mut self.nodes) {
            self.find.round(clock, measuring, |times| {
                for _ in 0..times {
                    black_box(find(black_box(&nest)));
                }
            });
        }
    }
}

/// Visits each pointer of an object, and adds up the word numbers. Each number goes through `black_box`, or the
/// compiler would reduce a loop over pointer words to a formula.
fn find(nest: &Nest<'_>) -> u64 {
    let (mut cursor, mut sum) = (nest.cursor(0), 0u64);
    while let Some(piece) = cursor.next_run() {
        match piece {
            Piece::Ones { word, words } => {
                for word in word..word + words {
                    sum += black_box(word);
                }
            }
            Piece::Bits { word, mut bits, .. } => {
                while bits != 0 {
                    sum += black_box(word + u64::from(bits.trailing_zeros()));
                    bits &= bits - 1;
                }
            }
        }
    }
    sum
}
