//! The table of a heap's types. A type's number has two parts. The low bits are the number of its shape, which is
//! enough for the inline path to find the allocation buffer. The other bits count the types of the heap. So types that
//! share a shape keep their exact sizes, which arrays need. Large types are no special case: the buffers of their
//! shapes are always empty. Invariants: an entry does not change once its number was returned. Every entry is in the
//! index, which finds a known description in a few steps for any number of types.

use crate::error::Error;
use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use heapwood_gc::lock_order::CLIENT_TABLE;
use heapwood_gc::{Described, Heap, ObjectType, Tail, TailElement};
use heapwood_heap::{MAX_SHAPES, ProgramId, ShapeId};
use heapwood_layout::{Layout, Tag, TagError, TypeDescriptor};
use heapwood_os::memory::mapped_index::hash;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Lock, Mapped, MappedArray, MappedIndex, OsError};
use std::sync::OnceLock;

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
    /// A header (0: none) with a tail of elements, by the numbers of their types; and the header's bytes, at least 1.
    Tail {
        /// The type of the header.
        header: TypeNumber,
        /// That of the elements.
        element: TypeNumber,
        /// Bytes without elements.
        bytes: usize,
    },
}

impl Description {
    /// The bytes of the type.
    pub fn size(&self) -> usize {
        match self {
            Description::Short(descriptor) => descriptor.size(),
            Description::Program(size, _) => *size,
            Description::Tail { bytes, .. } => *bytes,
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
            Description::Tail { header, element, bytes } => {
                hash([6, header.into(), element.into(), word(bytes)])
            }
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

/// For each shape of a heap, the type that was registered first.
pub struct FirstTypes(MappedArray<TypeNumber>);

impl FirstTypes {
    /// The number of that type; 0 if there is none.
    pub fn of(&self, shape: ShapeId) -> TypeNumber {
        // SAFETY: shape numbers are below MAX_SHAPES, and all places are committed.
        unsafe { self.0.at(shape.index()).read() }
    }
}

/// The most bytes of a type's name, with the zero that ends it.
const NAME: usize = 64;

/// A type's name; zeros: it has none.
struct Name([AtomicU8; NAME]);

// SAFETY: zeros are an empty name.
unsafe impl Zeroed for Name {}

/// The types of one heap.
pub struct TypeTable {
    entries: MappedArray<Entry>,
    /// Made for the first name, since addresses may be scarce. All of it is committed.
    names: OnceLock<MappedArray<Name>>,
    kernel: KernelRef,
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
        self.names.get().inspect(|names| names.for_each_mapping(f));
        self.adding.lock().index.for_each_mapping(f);
    }
}

impl TypeTable {
    /// An empty table.
    pub fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let entries = MappedArray::new(kernel, CAPACITY)?;
        let adding = Adding { committed: 0, index: MappedIndex::new(kernel, CAPACITY)? };
        Ok(TypeTable {
            entries,
            names: OnceLock::new(),
            kernel,
            last: AtomicU32::new(0),
            adding: Lock::new(adding),
        })
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

    /// Names a type, for reports. A type that several descriptions share has all their names: `Node or Pair`. What does not fit is cut.
    pub fn set_name(&self, heap: &Heap, number: TypeNumber, name: &CStr) -> Result<(), Error> {
        self.get(number)?;
        let _one = heap.lock_for_client();
        let _adding = self.adding.lock();
        if self.names.get().is_none() {
            let names = MappedArray::new(self.kernel, CAPACITY)?;
            names.commit(0..CAPACITY)?;
            // Nobody else sets it: the lock is held.
            let _ = self.names.set(names);
        }
        let Some(names) = self.names.get() else { return Ok(()) };
        // SAFETY: all places are committed, and the number is one of a type.
        let Name(place) = unsafe { &*names.at((number >> SHAPE_BITS) as usize) };
        let known: [u8; NAME] = core::array::from_fn(|at| place[at].load(Ordering::Relaxed));
        let known = known.split(|&byte| byte == 0).next().unwrap_or(&[]);
        let (name, or) = (name.to_bytes(), b" or ");
        let has_it =
            known.windows(or.len()).enumerate().filter(|(_, between)| between == or).map(|(at, _)| at);
        let ends = has_it.clone().chain([known.len()]);
        let mut begins = [0].into_iter().chain(has_it.map(|at| at + or.len()));
        let is_known = !known.is_empty()
            && ends.into_iter().any(|end| begins.next().is_some_and(|begin| &known[begin..end] == name));
        if is_known || name.is_empty() {
            return Ok(());
        }
        let more = if known.is_empty() { &[][..] } else { or };
        // What is there already stays as it is, for others may be reading it.
        for (place, byte) in place[..NAME - 1].iter().skip(known.len()).zip(more.iter().chain(name)) {
            place.store(*byte, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The name of a type, which stays where it is as long as the heap, though it may become longer.
    pub fn name(&self, number: TypeNumber) -> Option<&CStr> {
        self.get(number).ok()?;
        // SAFETY: as above; the last byte is always zero.
        let name = unsafe { CStr::from_ptr(self.names.get()?.at((number >> SHAPE_BITS) as usize).cast()) };
        (!name.is_empty()).then_some(name)
    }

    /// The type that was registered first of those with each shape.
    ///
    /// # Errors
    /// The kernel gives no memory.
    pub fn first_of_shapes(&self, kernel: KernelRef) -> Result<FirstTypes, OsError> {
        let numbers = MappedArray::<TypeNumber>::new(kernel, MAX_SHAPES)?;
        numbers.commit(0..MAX_SHAPES)?;
        for index in (1..=self.last.load(Ordering::Acquire)).rev() {
            // SAFETY: it is committed, and nobody else knows it.
            unsafe { numbers.at(self.entry(index).object.shape().index()).write(self.number(index)) };
        }
        Ok(FirstTypes(numbers))
    }

    /// The tail of elements of a type behind a header of another; 0 is no header.
    pub fn tail(&self, header: TypeNumber, element: TypeNumber) -> Result<Tail, Error> {
        let header = match header {
            0 => None,
            header => match self.get(header)?.description {
                Description::Short(header) => Some(header),
                Description::Program(..) => return Err(Error::TailHeader(header)),
                Description::Tail { .. } => return Err(Error::TailOfTails),
            },
        };
        let element = match self.get(element)?.description {
            Description::Short(element) => TailElement::Described(element),
            Description::Program(bytes, program) => TailElement::Program(bytes, program),
            Description::Tail { .. } => return Err(Error::TailOfTails),
        };
        Ok(Tail::new(header.as_ref(), element)?)
    }

    fn number(&self, index: u32) -> TypeNumber {
        index << SHAPE_BITS | self.entry(index).object.shape().index() as u32
    }

    /// Gives the heap a tag, unless it has types.
    pub fn add_tag(&self, heap: &Heap, tag: Tag) -> Result<(), Error> {
        let _one = heap.lock_for_client();
        // Types of few words have no layout of their own, so the heap does not know of them.
        let _adding = self.adding.lock();
        match self.last.load(Ordering::Relaxed) {
            0 => Ok(heap.types().add_tag(tag)?),
            _ => Err(TagError::Late.into()),
        }
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
            Description::Tail { header, element, bytes } => {
                heap.types().register_scan(bytes, self.tail(header, element)?.scan(bytes))?
            }
        };
        // SAFETY: the entry is committed and unused, and the lock keeps other threads from taking it.
        unsafe { (*self.entries.at(index)).0.write(Registered { description, object }) };
        known.insert(description.hash(), index as u32);
        self.last.store(index as u32, Ordering::Release);
        Ok(self.number(index as u32))
    }
}
