//! The table of a heap's types. A type's number has two parts. The low bits are the number of its shape, which is
//! enough for the inline path to find the allocation buffer. The other bits count the types of the heap. So types that
//! share a shape keep their exact sizes, which arrays need. Large types are no special case: the buffers of their
//! shapes are always empty. Invariants: an entry does not change once its number was returned. Every entry is in the
//! index, which finds a known description in a few steps for any number of types.

use crate::error::Error;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use heapwood_gc::lock_order::CLIENT_TABLE;
use heapwood_gc::{Described, Heap, ObjectType};
use heapwood_heap::{MAX_SHAPES, ProgramId};
use heapwood_layout::{Layout, TypeDescriptor};
use heapwood_os::memory::mapped_index::hash;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Lock, Mapped, MappedArray, MappedIndex, OsError};

/// The header's `hw_type`; 0 is none.
pub type TypeNumber = u32;

/// Bits of a type's number that are its shape's.
const SHAPE_BITS: u32 = MAX_SHAPES.ilog2();
const _: () = assert!(MAX_SHAPES == 1 << SHAPE_BITS && SHAPE_BITS == 14);
/// One more than the types a heap can have: number 0 is left out.
const CAPACITY: usize = 1 << (32 - SHAPE_BITS);
const STEP: usize = 64;

/// The positions of a type's pointers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Description {
    /// A mask, a function, or none.
    Short(TypeDescriptor),
    /// A program, for a type of N bytes.
    Program(usize, ProgramId),
}

impl Description {
    /// The bytes of the type.
    pub fn size(&self) -> usize {
        match self {
            Description::Short(descriptor) => descriptor.size(),
            Description::Program(size, _) => *size,
        }
    }

    fn hash(&self) -> u64 {
        let word = |n: usize| n as u64;
        match *self {
            Description::Short(descriptor) => match descriptor.layout() {
                Layout::NoPointers => hash([1, word(descriptor.size())]),
                Layout::Conservative => hash([2, word(descriptor.size())]),
                Layout::Trace(function) => hash([3, word(descriptor.size()), word(function as usize)]),
                Layout::Mask(mask) => hash([4, word(descriptor.size())].into_iter().chain(mask.bits())),
            },
            Description::Program(size, program) => hash([5, word(size), word(program.index())]),
        }
    }

    /// The heap's layout of a program.
    pub fn of_program(heap: &Heap, size: usize, bytes: &[u8]) -> Result<Self, Error> {
        Ok(match heap.types().describe(size, bytes)? {
            Described::Mask(descriptor) => Description::Short(descriptor),
            Described::Program(id) => Description::Program(size, id),
        })
    }
}

/// A type of a heap.
#[derive(Clone, Copy)]
pub struct Registered {
    /// The client's description.
    pub description: Description,
    /// The heap's layout for it.
    pub object: ObjectType,
}

struct Entry(MaybeUninit<Registered>);

// SAFETY: an uninitialised entry may hold any bytes, and needs no drop.
unsafe impl Zeroed for Entry {}
// SAFETY: a registered type is plain data and a function that may run on any thread.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

/// The types of one heap.
pub struct TypeTable {
    entries: MappedArray<Entry>,
    /// Entries 1 up to this one are initialised.
    last: AtomicU32,
    adding: Lock<Adding, CLIENT_TABLE>,
}

/// The state for adding a type.
struct Adding {
    /// The number of committed entries.
    committed: usize,
    index: MappedIndex,
}

impl Mapped for TypeTable {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.entries.for_each_mapping(f);
        self.adding.lock().index.for_each_mapping(f);
    }
}

impl TypeTable {
    /// An empty table.
    pub fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let entries = MappedArray::new(kernel, CAPACITY)?;
        let adding = Adding { committed: 0, index: MappedIndex::new(kernel, CAPACITY)? };
        Ok(TypeTable { entries, last: AtomicU32::new(0), adding: Lock::new(adding) })
    }

    fn entry(&self, index: u32) -> &Registered {
        debug_assert!(index != 0 && index <= self.last.load(Ordering::Relaxed));
        // SAFETY: entries from 1 up to the last are initialised, and never change.
        unsafe { (*self.entries.at(index as usize)).0.assume_init_ref() }
    }

    /// The type with this number, if there is one.
    #[inline]
    pub fn get(&self, number: TypeNumber) -> Result<&Registered, Error> {
        let index = number >> SHAPE_BITS;
        if index != 0 && index <= self.last.load(Ordering::Acquire) {
            let found = self.entry(index);
            if self.number(index) == number {
                return Ok(found);
            }
        }
        Err(Error::NoType(number))
    }

    fn number(&self, index: u32) -> TypeNumber {
        index << SHAPE_BITS | self.entry(index).object.shape().index() as u32
    }

    /// The number of the type with this description. Registers it with `heap` if it is new.
    pub fn add(&self, heap: &Heap, description: Description) -> Result<TypeNumber, Error> {
        // A fork holds this lock, so that in the child the other lock is free and its table is consistent.
        let _one = heap.lock_for_client();
        let Adding { committed, index: known } = &mut *self.adding.lock();
        let same = |number| self.entry(number).description == description;
        if let Some(index) = known.find(description.hash(), same) {
            return Ok(self.number(index));
        }
        let index = self.last.load(Ordering::Relaxed) as usize + 1;
        if index == CAPACITY {
            return Err(Error::TooManyTypes(CAPACITY - 1));
        }
        if index >= *committed {
            let end = (*committed + STEP).min(CAPACITY);
            self.entries.commit(*committed..end)?;
            *committed = end;
        }
        known.reserve(|number| self.entry(number).description.hash())?;
        let object = match description {
            Description::Short(descriptor) => heap.types().register(&descriptor)?,
            Description::Program(size, id) => heap.types().program_type(size, id)?,
        };
        // SAFETY: the entry is committed and unused, and the lock keeps other threads from taking it.
        unsafe { (*self.entries.at(index)).0.write(Registered { description, object }) };
        known.insert(description.hash(), index as u32);
        self.last.store(index as u32, Ordering::Release);
        Ok(self.number(index as u32))
    }
}
