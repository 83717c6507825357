//! The types of a heap's objects. Invariant: types of one size class and one layout have one shape, and a shape gives
//! the pointers in all its objects.

use crate::error::TypeError;
use heapwood_heap::{MAX_ELEMENT_WORDS, ProgramId, Scan, ShapeError, ShapeId, SizeClass, Space};
use heapwood_layout::{Layout, MASK_BLOCKS, Program, TypeDescriptor, WORD};

/// A type as a heap knows it: a size and a shape that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectType {
    size: usize,
    shape: ShapeId,
}

impl ObjectType {
    /// The type of objects of `size` bytes, not 0, of this shape.
    pub(crate) const fn new(size: usize, shape: ShapeId) -> Self {
        ObjectType { size, shape }
    }

    /// Objects of `size` bytes, not 0, without pointers.
    pub const fn no_pointers(size: usize) -> Self {
        Self::new(size, ShapeId::no_pointers(SizeClass::of(size)))
    }

    /// Objects of `size` bytes, not 0, in which any word may be a pointer.
    pub const fn conservative(size: usize) -> Self {
        Self::new(size, ShapeId::conservative(SizeClass::of(size)))
    }

    /// Bytes of an object.
    #[inline(always)]
    pub const fn size(self) -> usize {
        self.size
    }

    /// The shape of its objects.
    #[inline(always)]
    pub const fn shape(self) -> ShapeId {
        self.shape
    }

    /// The size of its cells; `None` if each object has pages of its own.
    pub fn cell_size(self) -> Option<usize> {
        SizeClass::of(self.size).map(SizeClass::cell_size)
    }
}

/// The form in which a heap keeps a type that a program describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Described {
    /// A mask, to be registered.
    Mask(TypeDescriptor),
    /// A registered program.
    Program(ProgramId),
}

/// Registers a type. Types of one size class and one layout share a shape.
pub(crate) fn register(space: &Space, descriptor: &TypeDescriptor) -> Result<ObjectType, TypeError> {
    let size = descriptor.size();
    let shape =
        space.layouts().shape_for(size, Scan::Layout(descriptor.layout())).map_err(TypeError::Shape)?;
    Ok(ObjectType { size, shape })
}

/// The form in which the heap keeps a type that a program describes: a mask if it has at most `mask_words` words.
pub(crate) fn describe(
    space: &Space,
    mask_words: usize,
    size: usize,
    program: &[u8],
) -> Result<Described, TypeError> {
    let checked = check(size, program)?;
    if checked.words() > mask_words as u64 {
        return Ok(Described::Program(program_number(space, checked)?));
    }
    let mut mask = [0; MASK_BLOCKS];
    checked.decode(&mut mask, 0);
    Ok(Described::Mask(TypeDescriptor::masked(size, &mask[..checked.words().div_ceil(64) as usize])?))
}

/// Registers a type as a program, however short.
pub(crate) fn register_program(
    space: &Space,
    size: usize,
    program: &[u8],
) -> Result<(ObjectType, ProgramId), TypeError> {
    let id = program_number(space, check(size, program)?)?;
    Ok((program_type(space, size, id)?, id))
}

/// The type of `size` bytes with this program of the same size.
pub(crate) fn program_type(space: &Space, size: usize, program: ProgramId) -> Result<ObjectType, TypeError> {
    // A cell has room for two such types, but is one object.
    let scan = match size / WORD {
        1 => Scan::Layout(
            TypeDescriptor::masked(size, &[space.layouts().program(program).is_pointer(0).into()])?.layout(),
        ),
        _ => Scan::Program { header: 0, program },
    };
    let shape = space.layouts().shape_for(size, scan).map_err(TypeError::Shape)?;
    Ok(ObjectType { size, shape })
}

/// The scan of a slice of `element`s after `header` words without pointers. An element with a trace function has no
/// slices: its function knows only single objects.
pub const fn slice_scan(element: &TypeDescriptor, header: u8) -> Option<Scan> {
    Some(match element.layout() {
        Layout::NoPointers => Scan::Layout(Layout::NoPointers),
        Layout::Conservative => Scan::Layout(Layout::Conservative),
        Layout::Mask(mask) if element.size() / WORD <= MAX_ELEMENT_WORDS => {
            Scan::Slice { header, words: element.size() / WORD, mask: mask.bits() }
        }
        // Only the first words of such an element have pointers, but no slice has such long elements.
        Layout::Mask(_) => Scan::Layout(Layout::Conservative),
        Layout::Trace(_) => return None,
    })
}

fn program_number(space: &Space, program: Program<'_>) -> Result<ProgramId, TypeError> {
    space.layouts().register_program(program).map_err(|e| TypeError::Shape(ShapeError::Program(e)))
}

/// Checks the program of a type of `size` bytes; it checks the size first.
fn check(size: usize, program: &[u8]) -> Result<Program<'_>, TypeError> {
    let words = TypeDescriptor::conservative(size)?.size() / WORD;
    Program::check(program, words as u64).map_err(TypeError::Program)
}
