//! Making programs, in constants or at run time: types are put together from scalars, pointers, other types and arrays
//! of them, and no array is ever unrolled. Invariant: a builder's instructions emit as many bits as words were added;
//! what does not fit is refused, never cut off. Programs of fields and arrays become nests without a loop being
//! taken apart ([`nest`](super::nest)), of no more nodes than the program has bytes.
//!
//! ```
//! use heapwood_layout::program::{Builder, Program, ProgramBuf};
//!
//! // struct Grid { name: *Name, size: [usize; 3], rows: [[Cell; 300]; 200] }, struct Cell { kind: usize, item: *Item }
//! const CELL: Builder<16> = Builder::new().scalars(1).pointer();
//! const ROW: Builder<16> = Builder::new().array(CELL.body(), 2, 300);
//! const GRID: ProgramBuf<32> = Builder::new().pointer().scalars(3).array(ROW.body(), 600, 200).finish();
//! let grid: Program = GRID.program();
//! assert_eq!((grid.words(), grid.bytes().len()), (4 + 120_000, 7));
//! ```
//!
//! Each operation comes twice: as a method of the builder by value, which panics where it must refuse (a compile error
//! in a constant), and as `push_..`, which returns an error.

use super::Program;
use super::emit::{Emitter, ok};
use crate::error::BuildError;
use crate::limits::{MASK_BLOCKS, MAX_WORDS};
use crate::mask::last_bit;

/// A type in the making, in `N` bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Builder<const N: usize> {
    bytes: [u8; N],
    emitter: Emitter,
}

/// What a builder holds, whatever its size: to be put into another as a field or an element.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    bytes: &'a [u8],
    emitter: &'a Emitter,
}

/// A program in `N` bytes of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ProgramBuf<const N: usize> {
    /// Zero behind the program, so that equal programs are equal.
    bytes: [u8; N],
    len: usize,
    words: u64,
}

/// A field of a type: the word it begins at, and where the pointers of it are.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// The offset from the beginning of the type, in words.
    pub offset: u64,
    /// The field's pointers.
    pub part: Part<'a>,
}

/// Where the pointers of a field are.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// As a builder has it.
    Body(Body<'a>),
    /// As a mask has it: that of [`TypeMap::mask`](crate::TypeMap::mask).
    Mask([u64; MASK_BLOCKS]),
}

impl<const N: usize> Default for Builder<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Builder<N> {
    /// A type of no words yet.
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

    /// What this holds, for another builder.
    pub const fn body(&self) -> Body<'_> {
        Body { bytes: &self.bytes, emitter: &self.emitter }
    }

    /// Adds words that are no pointers.
    ///
    /// # Errors
    /// The instructions or the words become too many.
    pub const fn push_scalars(&mut self, words: u64) -> Result<(), BuildError> {
        self.emitter.run(&mut self.bytes, false, words)
    }

    /// Adds pointers.
    ///
    /// # Errors
    /// The instructions or the words become too many.
    pub const fn push_pointers(&mut self, n: u64) -> Result<(), BuildError> {
        self.emitter.run(&mut self.bytes, true, n)
    }

    /// Adds `n` words, at most 64: word `i` is a pointer if bit `i` of `mask` is set.
    ///
    /// # Errors
    /// Bits are set beyond those, or `n` is larger than 64; or the instructions or the words become too many.
    pub const fn push_bits(&mut self, mask: u64, n: u32) -> Result<(), BuildError> {
        if n > 64 {
            return Err(BuildError::TooManyBits { n });
        }
        if n < 64 && mask >> n != 0 {
            return Err(BuildError::BitBeyond { bit: mask.ilog2(), n });
        }
        self.emitter.bits(&mut self.bytes, mask, n as u64)
    }

    /// Adds what another builder holds.
    ///
    /// # Errors
    /// The instructions or the words become too many.
    pub const fn push_body(&mut self, body: Body<'_>) -> Result<(), BuildError> {
        self.emitter.append(&mut self.bytes, body.emitter, body.bytes)
    }

    /// Adds scalars up to N words.
    ///
    /// # Errors
    /// There are more already; or the instructions become too many.
    pub const fn push_padding(&mut self, to: u64) -> Result<(), BuildError> {
        if to < self.words() {
            return Err(BuildError::PadBackwards { words: self.words(), to });
        }
        self.push_scalars(to - self.words())
    }

    /// Adds an array of `n` elements of `element_words` words each: those that `element` holds, and scalars.
    ///
    /// # Errors
    /// The element holds more words; or the instructions or the words become too many.
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

    /// Makes the words from `begin` on the first of `n` elements, and adds the others. For an array whose element is built
    /// in place; it should be of whole fields.
    ///
    /// # Errors
    /// The instructions or the words become too many.
    ///
    /// # Panics
    /// There are fewer words than `begin`, or `n` is 0.
    pub const fn push_array_from(&mut self, begin: u64, n: u64) -> Result<(), BuildError> {
        assert!(begin <= self.words() && n > 0, "the first element of an array must be there");
        self.emitter.array_from(&mut self.bytes, begin, n)
    }

    /// Adds the last words so many more times. Where they begin inside an array, a nest has to take that apart.
    ///
    /// # Errors
    /// There are fewer words; or the instructions or the words become too many.
    pub const fn push_repeat(&mut self, last: u64, times: u64) -> Result<(), BuildError> {
        self.emitter.repeat(&mut self.bytes, last, times)
    }

    /// The program of what was added.
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

    /// A type of `words` words put together from fields in any order. Words that belong to no field are scalars; so are
    /// those behind the last bit of a mask.
    ///
    /// # Errors
    /// Two fields overlap, or one reaches beyond the type; or the instructions become too many.
    pub const fn try_of_fields(words: u64, fields: &[Field<'_>]) -> Result<Self, BuildError> {
        let mut all = Self::new();
        // Picks the next field by its offset, equals (of which only one can have words) by their order. That takes
        // fields squared steps, but no buffer.
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

    /// [`push_scalars`](Self::push_scalars), which see.
    ///
    /// # Panics
    /// Where it returns an error.
    pub const fn scalars(mut self, words: u64) -> Self {
        or_panic(self.push_scalars(words));
        self
    }

    /// One pointer.
    ///
    /// # Panics
    /// Where [`push_pointers`](Self::push_pointers) returns an error.
    pub const fn pointer(self) -> Self {
        self.pointers(1)
    }

    /// [`push_pointers`](Self::push_pointers), which see.
    ///
    /// # Panics
    /// Where it returns an error.
    pub const fn pointers(mut self, n: u64) -> Self {
        or_panic(self.push_pointers(n));
        self
    }

    /// [`push_bits`](Self::push_bits), which see.
    ///
    /// # Panics
    /// Where it returns an error.
    pub const fn bits(mut self, mask: u64, n: u32) -> Self {
        or_panic(self.push_bits(mask, n));
        self
    }

    /// [`push_body`](Self::push_body), which see.
    ///
    /// # Panics
    /// Where it returns an error.
    pub const fn append(mut self, body: Body<'_>) -> Self {
        or_panic(self.push_body(body));
        self
    }

    /// [`push_padding`](Self::push_padding), which see.
    ///
    /// # Panics
    /// Where it returns an error.
    pub const fn padded(mut self, to: u64) -> Self {
        or_panic(self.push_padding(to));
        self
    }

    /// [`push_array`](Self::push_array), which see.
    ///
    /// # Panics
    /// Where it returns an error.
    pub const fn array(mut self, element: Body<'_>, element_words: u64, n: u64) -> Self {
        or_panic(self.push_array(element, element_words, n));
        self
    }

    /// [`try_of_fields`](Self::try_of_fields), which see.
    ///
    /// # Panics
    /// Where it returns an error.
    pub const fn of_fields(words: u64, fields: &[Field<'_>]) -> Self {
        match Self::try_of_fields(words, fields) {
            Ok(all) => all,
            Err(error) => error.panic(),
        }
    }

    /// [`try_finish`](Self::try_finish), which see.
    ///
    /// # Panics
    /// Where it returns an error.
    pub const fn finish(&self) -> ProgramBuf<N> {
        match self.try_finish() {
            Ok(program) => program,
            Err(error) => error.panic(),
        }
    }
}

impl Body<'_> {
    /// The words that it describes.
    pub const fn words(&self) -> u64 {
        self.emitter.words
    }
}

impl Part<'_> {
    /// The words that it describes.
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

    /// The instructions, the end included.
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
