//! Building programs, in constants or at run time: types are composed of scalars, pointers, other types and arrays of
//! them, and no array is unrolled. Programs of fields and arrays compile into nests without a split loop
//! ([`nest`](super::nest)), with no more nodes than the program has bytes. Invariant: a builder's instructions emit
//! exactly the words that were added; what does not fit is refused.
//!
//! ```
//! use heapwood_layout::program::{Builder, Program, ProgramBuf};
//!
//! // struct Cell { kind: usize, item: *Item }
//! // struct Grid { name: *Name, size: [usize; 3], rows: [[Cell; 300]; 200] }
//! const CELL: Builder<16> = Builder::new().scalars(1).pointer();
//! const ROW: Builder<16> = Builder::new().array(CELL.body(), 2, 300);
//! const GRID: ProgramBuf<32> = Builder::new().pointer().scalars(3).array(ROW.body(), 600, 200).finish();
//! let grid: Program = GRID.program();
//! assert_eq!((grid.words(), grid.bytes().len()), (4 + 120_000, 7));
//! ```
//!
//! Each operation exists twice: as a by-value method of the builder, which panics on an error (a compile error in a
//! constant), and as `push_..`, which returns the error.

use super::Program;
use super::emit::{Emitter, ok};
use crate::error::BuildError;
use crate::limits::{MASK_BLOCKS, MAX_WORDS};
use crate::mask::last_bit;

/// A type under construction, in `N` bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Builder<const N: usize> {
    bytes: [u8; N],
    emitter: Emitter,
}

/// The contents of a builder of any size, to be added to another as a field or an element.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    bytes: &'a [u8],
    emitter: &'a Emitter,
}

/// A program in `N` bytes of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ProgramBuf<const N: usize> {
    /// Bytes after the program are zero, so equal programs are equal values.
    bytes: [u8; N],
    len: usize,
    words: u64,
}

/// A field of a type: its offset and its pointers.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// The offset from the start of the type, in words.
    pub offset: u64,
    /// The field's pointers.
    pub part: Part<'a>,
}

/// The pointers of a field.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// Those of a builder.
    Body(Body<'a>),
    /// Those of a mask: [`TypeMap::mask`](crate::TypeMap::mask).
    Mask([u64; MASK_BLOCKS]),
}

impl<const N: usize> Default for Builder<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Builder<N> {
    /// A type without words.
    pub const fn new() -> Self {
        Builder { bytes: [0; N], emitter: Emitter::NEW }
    }

    /// The words added so far.
    pub const fn words(&self) -> u64 {
        self.emitter.words
    }

    /// Whether one of them is a pointer.
    pub const fn has_pointers(&self) -> bool {
        self.emitter.has_pointers()
    }

    /// The contents, for another builder.
    pub const fn body(&self) -> Body<'_> {
        Body { bytes: &self.bytes, emitter: &self.emitter }
    }

    /// Adds words without pointers.
    ///
    /// # Errors
    /// There are too many instructions or words.
    pub const fn push_scalars(&mut self, words: u64) -> Result<(), BuildError> {
        self.emitter.run(&mut self.bytes, false, words)
    }

    /// Adds pointers.
    ///
    /// # Errors
    /// There are too many instructions or words.
    pub const fn push_pointers(&mut self, n: u64) -> Result<(), BuildError> {
        self.emitter.run(&mut self.bytes, true, n)
    }

    /// Adds `n` words, at most 64: word `i` is a pointer if bit `i` of `mask` is set.
    ///
    /// # Errors
    /// A higher bit is set, or `n` is larger than 64; or there are too many instructions or words.
    pub const fn push_bits(&mut self, mask: u64, n: u32) -> Result<(), BuildError> {
        if n > 64 {
            return Err(BuildError::TooManyBits { n });
        }
        if n < 64 && mask >> n != 0 {
            return Err(BuildError::BitBeyond { bit: mask.ilog2(), n });
        }
        self.emitter.bits(&mut self.bytes, mask, n as u64)
    }

    /// Adds the contents of another builder.
    ///
    /// # Errors
    /// There are too many instructions or words.
    pub const fn push_body(&mut self, body: Body<'_>) -> Result<(), BuildError> {
        self.emitter.append(&mut self.bytes, body.emitter, body.bytes)
    }

    /// Adds scalars until there are `to` words.
    ///
    /// # Errors
    /// There are more words already, or too many instructions.
    pub const fn push_padding(&mut self, to: u64) -> Result<(), BuildError> {
        if to < self.words() {
            return Err(BuildError::PadBackwards { words: self.words(), to });
        }
        self.push_scalars(to - self.words())
    }

    /// Adds an array of `n` elements of `element_words` words each: the contents of `element`, padded with scalars.
    ///
    /// # Errors
    /// The element has more words; or there are too many instructions or words.
    pub const fn push_array(
        &mut self,
        element: Body<'_>,
        element_words: u64,
        n: u64,
    ) -> Result<(), BuildError> {
        let (begin, words) = (self.words(), element.emitter.words);
        if words > element_words {
            return Err(BuildError::PadBackwards { words, to: element_words });
        }
        match element_words.checked_mul(n) {
            Some(more) if more <= MAX_WORDS - begin => {}
            _ => return Err(BuildError::TooManyWords { words: begin, element: element_words, n }),
        }
        if n == 0 {
            return Ok(());
        }
        ok!(self.push_body(element));
        ok!(self.push_scalars(element_words - words));
        self.push_array_from(begin, n)
    }

    /// Makes the words from `begin` on the first of `n` elements, and adds the others. For an array whose element is
    /// built in place; the element should consist of whole fields.
    ///
    /// # Errors
    /// There are too many instructions or words.
    ///
    /// # Panics
    /// There are fewer words than `begin`, or `n` is 0.
    pub const fn push_array_from(&mut self, begin: u64, n: u64) -> Result<(), BuildError> {
        assert!(begin <= self.words() && n > 0, "the first element of an array must be there");
        self.emitter.array_from(&mut self.bytes, begin, n)
    }

    /// Repeats the last words. If they begin inside an array, a nest has to split it.
    ///
    /// # Errors
    /// There are fewer words; or there are too many instructions or words.
    pub const fn push_repeat(&mut self, last: u64, times: u64) -> Result<(), BuildError> {
        self.emitter.repeat(&mut self.bytes, last, times)
    }

    /// The finished program.
    ///
    /// # Errors
    /// There is no room for its last instructions.
    pub const fn try_finish(&self) -> Result<ProgramBuf<N>, BuildError> {
        let (mut all, mut bytes) = (*self, [0; N]);
        ok!(all.emitter.flush(&mut all.bytes));
        ok!(all.emitter.write(&mut all.bytes, 0));
        let mut i = 0;
        while i < all.emitter.len {
            bytes[i] = all.bytes[i];
            i += 1;
        }
        Ok(ProgramBuf { bytes, len: all.emitter.len, words: all.emitter.words })
    }

    /// A type of `words` words, composed of fields in any order. Words outside all fields are scalars, and so are
    /// those after the last bit of a mask.
    ///
    /// # Errors
    /// Two fields overlap, or one reaches beyond the type; or there are too many instructions.
    pub const fn try_of_fields(words: u64, fields: &[Field<'_>]) -> Result<Self, BuildError> {
        let mut all = Self::new();
        // Selects the next field by offset, and among equal offsets by position: only one of these can have words.
        // This takes quadratic time, but no buffer.
        let mut last: Option<usize> = None;
        loop {
            let mut next: Option<usize> = None;
            let mut i = 0;
            while i < fields.len() {
                let behind = match last {
                    Some(last) => {
                        fields[i].offset > fields[last].offset
                            || (fields[i].offset == fields[last].offset && i > last)
                    }
                    None => true,
                };
                let before = match next {
                    Some(next) => fields[i].offset < fields[next].offset,
                    None => true,
                };
                if behind && before {
                    next = Some(i);
                }
                i += 1;
            }
            let Some(i) = next else { break };
            last = next;
            let Field { offset, part } = fields[i];
            if part.words() == 0 {
                continue;
            }
            if offset < all.words() {
                return Err(BuildError::Overlap { offset, end: all.words() });
            }
            ok!(all.push_padding(offset));
            match part {
                Part::Body(body) => ok!(all.push_body(body)),
                Part::Mask(mask) => {
                    let mut left = part.words();
                    while left > 0 {
                        let n = if left < 64 { left } else { 64 };
                        ok!(all.push_bits(mask[((part.words() - left) / 64) as usize], n as u32));
                        left -= n;
                    }
                }
            }
        }
        ok!(all.push_padding(words));
        Ok(all)
    }

    /// As [`push_scalars`](Self::push_scalars).
    ///
    /// # Panics
    /// On its errors.
    pub const fn scalars(mut self, words: u64) -> Self {
        or_panic(self.push_scalars(words));
        self
    }

    /// Adds one pointer.
    ///
    /// # Panics
    /// On the errors of [`push_pointers`](Self::push_pointers).
    pub const fn pointer(self) -> Self {
        self.pointers(1)
    }

    /// As [`push_pointers`](Self::push_pointers).
    ///
    /// # Panics
    /// On its errors.
    pub const fn pointers(mut self, n: u64) -> Self {
        or_panic(self.push_pointers(n));
        self
    }

    /// As [`push_bits`](Self::push_bits).
    ///
    /// # Panics
    /// On its errors.
    pub const fn bits(mut self, mask: u64, n: u32) -> Self {
        or_panic(self.push_bits(mask, n));
        self
    }

    /// As [`push_body`](Self::push_body).
    ///
    /// # Panics
    /// On its errors.
    pub const fn append(mut self, body: Body<'_>) -> Self {
        or_panic(self.push_body(body));
        self
    }

    /// As [`push_padding`](Self::push_padding).
    ///
    /// # Panics
    /// On its errors.
    pub const fn padded(mut self, to: u64) -> Self {
        or_panic(self.push_padding(to));
        self
    }

    /// As [`push_array`](Self::push_array).
    ///
    /// # Panics
    /// On its errors.
    pub const fn array(mut self, element: Body<'_>, element_words: u64, n: u64) -> Self {
        or_panic(self.push_array(element, element_words, n));
        self
    }

    /// As [`try_of_fields`](Self::try_of_fields).
    ///
    /// # Panics
    /// On its errors.
    pub const fn of_fields(words: u64, fields: &[Field<'_>]) -> Self {
        match Self::try_of_fields(words, fields) {
            Ok(all) => all,
            Err(error) => error.panic(),
        }
    }

    /// As [`try_finish`](Self::try_finish).
    ///
    /// # Panics
    /// On its errors.
    pub const fn finish(&self) -> ProgramBuf<N> {
        match self.try_finish() {
            Ok(program) => program,
            Err(error) => error.panic(),
        }
    }
}

impl Body<'_> {
    /// The words of the type.
    pub const fn words(&self) -> u64 {
        self.emitter.words
    }
}

impl Part<'_> {
    /// The words of the type.
    pub const fn words(&self) -> u64 {
        match self {
            Part::Body(body) => body.words(),
            Part::Mask(mask) => match last_bit(mask) {
                Some(bit) => bit as u64 + 1,
                None => 0,
            },
        }
    }
}

impl<const N: usize> ProgramBuf<N> {
    /// The program.
    pub const fn program(&self) -> Program<'_> {
        match Program::check(self.bytes(), self.words) {
            Ok(program) => program,
            Err(_) => panic!("a builder makes programs that are right"),
        }
    }

    /// The instructions, with the end instruction.
    pub const fn bytes(&self) -> &[u8] {
        self.bytes.split_at(self.len).0
    }

    /// The words of the type.
    pub const fn words(&self) -> u64 {
        self.words
    }
}

const fn or_panic(result: Result<(), BuildError>) {
    if let Err(error) = result {
        error.panic();
    }
}
