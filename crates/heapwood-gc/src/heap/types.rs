//! The types of a heap's objects, as a program registers them. Invariant: a type that was registered stays so.

use super::object_type::{Described, ObjectType};
use crate::error::Refusal;
use crate::heap::Heap;
use crate::process::record;
use heapwood_heap::{ProgramId, Scan, ShapeId};
use heapwood_layout::{MASK_BLOCKS, Program, TypeDescriptor, WORD};

/// The types of a heap.
#[derive(Clone, Copy)]
pub struct HeapTypes<'h>(&'h Heap);

impl Heap {
    /// The types of its objects.
    #[inline(always)]
    pub fn types(&self) -> HeapTypes<'_> {
        HeapTypes(self)
    }
}

impl<'h> HeapTypes<'h> {
    /// Registers a type. Types of one size class and one layout share a shape.
    ///
    /// # Errors
    /// The heap has no room for more shapes.
    pub fn register(self, descriptor: &TypeDescriptor) -> Result<ObjectType, Refusal> {
        let _no_preempt = record().no_preempt();
        self.with_scan(descriptor.size(), Scan::Layout(descriptor.layout()))
    }

    /// Gives the type with this shape a name, for the reports of verify mode. Types of one layout share a shape: of their names the
    /// first two are kept.
    pub fn name(self, shape: ShapeId, name: &'static str) {
        if let Some(names) = self.0.state.type_names().filter(|_| !name.is_empty()) {
            names.note(shape, name);
        }
    }

    /// The layouts of the heap's types are written by hand: verify mode looks for pointers that they forget.
    pub fn are_by_hand(self) {
        if let Some(names) = self.0.state.type_names() {
            names.set_by_hand();
        }
    }

    /// Registers a type of `size` bytes (not 0), all of whose objects are scanned as `scan` says.
    ///
    /// # Errors
    /// The heap has no room for more shapes.
    pub fn register_scan(self, size: usize, scan: Scan) -> Result<ObjectType, Refusal> {
        let _no_preempt = record().no_preempt();
        self.with_scan(size, scan)
    }

    /// The form in which the heap keeps a type of `size` bytes that a program describes: a mask up to the number of
    /// words for which that is faster ([`Config::mask_words`](crate::Config::mask_words)). Only a program is registered by this.
    ///
    /// # Errors
    /// As for [`HeapTypes::register_program`].
    pub fn describe(self, size: usize, program: &[u8]) -> Result<Described, Refusal> {
        let _no_preempt = record().no_preempt();
        let checked = check(size, program)?;
        if checked.words() > self.0.config.mask_words.into() {
            return Ok(Described::Program(self.program_number(checked)?));
        }
        let mut mask = [0; MASK_BLOCKS];
        checked.decode(&mut mask, 0);
        Ok(Described::Mask(TypeDescriptor::masked(size, &mask[..checked.words().div_ceil(64) as usize])?))
    }

    /// Registers a type of `size` bytes as a program that describes its pointers, one bit for each word, however short.
    ///
    /// # Errors
    /// The size is not that of a type; the program is invalid (the error has the byte), or is no nest of few loops and
    /// too large to be unrolled; or the heap has no room for more.
    pub fn register_program(self, size: usize, program: &[u8]) -> Result<(ObjectType, ProgramId), Refusal> {
        let _no_preempt = record().no_preempt();
        let id = self.program_number(check(size, program)?)?;
        Ok((self.of_program(size, id)?, id))
    }

    /// The type of `size` bytes with this program of the same size.
    ///
    /// # Errors
    /// The heap has no room for more layouts.
    pub fn program_type(self, size: usize, program: ProgramId) -> Result<ObjectType, Refusal> {
        let _no_preempt = record().no_preempt();
        self.of_program(size, program)
    }

    fn of_program(self, size: usize, program: ProgramId) -> Result<ObjectType, Refusal> {
        // A cell has room for two such types, but is one object.
        let scan = match size / WORD {
            1 => {
                let is_pointer = self.0.space().layouts().program(program).is_pointer(0);
                Scan::Layout(TypeDescriptor::masked(size, &[is_pointer.into()])?.layout())
            }
            _ => Scan::Program { header: 0, program },
        };
        self.with_scan(size, scan)
    }

    fn with_scan(self, size: usize, scan: Scan) -> Result<ObjectType, Refusal> {
        let shape = self.0.space().shape_for(size, scan)?;
        Ok(ObjectType::new(size, shape))
    }

    fn program_number(self, program: Program<'_>) -> Result<ProgramId, Refusal> {
        Ok(self.0.space().layouts().register_program(program)?)
    }
}

/// Checks the program of a type of `size` bytes; it checks the size first.
fn check(size: usize, program: &[u8]) -> Result<Program<'_>, Refusal> {
    let words = TypeDescriptor::conservative(size)?.size() / WORD;
    Program::check(program, words as u64).map_err(Refusal::Program)
}
