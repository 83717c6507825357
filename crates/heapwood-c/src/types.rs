//! Types. A type's number has two parts: the low bits are its shape's, which is all the inline path needs to find
//! a bump; the others count the types of the heap. So types that share a shape keep sizes of their own (an array
//! needs the exact one), and large types are no special case: bumps of their shapes never have a run.
//! Invariants: an entry does not change once its number has been given out; every entry is in the index, by which a
//! description that is known is found in a few steps, however many types there are.

use crate::heap::ClientHeap;
use crate::refusal::Refusal;
use crate::status::{Failure, Status};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};
use heapwood_gc::{Described, Heap, ObjectType};
use heapwood_heap::{MAX_SHAPES, ProgramId};
use heapwood_layout::describe::{Item, compile, parse};
use heapwood_layout::program::Builder;
use heapwood_layout::{Layout, TraceFn, TypeDescriptor, WORD};
use heapwood_os::mapped_index::hash;
use heapwood_os::region::Zeroed;
use heapwood_os::{KernelRef, Lock, MappedArray, MappedIndex, OsError};

/// The header's `hw_type`; 0 is none.
pub type TypeNumber = u32;

/// Bits of a type's number that are its shape's.
const SHAPE_BITS: u32 = MAX_SHAPES.ilog2();
const _: () = assert!(MAX_SHAPES == 1 << SHAPE_BITS && SHAPE_BITS == 14);
/// One more than the types a heap can have: number 0 is left out.
const CAPACITY: usize = 1 << (32 - SHAPE_BITS);
const STEP: usize = 64;

/// Where the pointers of a type are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Description {
    /// A mask, a function, or none.
    Short(TypeDescriptor),
    /// A program, for a type of so many bytes.
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

    /// As the heap makes of a program.
    fn of_program(heap: &Heap, size: usize, bytes: &[u8]) -> Result<Self, Refusal> {
        Ok(match heap.describe(size, bytes)? {
            Described::Mask(descriptor) => Description::Short(descriptor),
            Described::Program(id) => Description::Program(size, id),
        })
    }
}

/// A type of a heap.
#[derive(Clone, Copy)]
pub struct Registered {
    /// What the client said of it.
    pub description: Description,
    /// What the heap made of it.
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
    adding: Lock<Adding>,
}

/// What whoever adds a type needs.
struct Adding {
    /// How many entries are committed.
    committed: usize,
    index: MappedIndex,
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
    pub fn get(&self, number: TypeNumber) -> Result<&Registered, Refusal> {
        let index = number >> SHAPE_BITS;
        if index != 0 && index <= self.last.load(Ordering::Acquire) {
            let found = self.entry(index);
            if self.number(index) == number {
                return Ok(found);
            }
        }
        Err(Refusal::NoType(number))
    }

    fn number(&self, index: u32) -> TypeNumber {
        index << SHAPE_BITS | self.entry(index).object.shape.index() as u32
    }

    /// The number of the type that `description` describes, registering it with `heap` if it is new and has not been.
    fn add(&self, heap: &Heap, description: Description) -> Result<TypeNumber, Refusal> {
        let Adding { committed, index: known } = &mut *self.adding.lock();
        let same = |number| self.entry(number).description == description;
        if let Some(index) = known.find(description.hash(), same) {
            return Ok(self.number(index));
        }
        let index = self.last.load(Ordering::Relaxed) as usize + 1;
        if index == CAPACITY {
            return Err(Refusal::TooManyTypes(CAPACITY - 1));
        }
        if index >= *committed {
            let end = (*committed + STEP).min(CAPACITY);
            self.entries.commit(*committed..end)?;
            *committed = end;
        }
        known.reserve(|number| self.entry(number).description.hash())?;
        let object = match description {
            Description::Short(descriptor) => heap.register(&descriptor)?,
            Description::Program(size, id) => heap.program_type(size, id)?,
        };
        // SAFETY: the entry is committed and not yet in use, and the lock keeps others from taking it.
        unsafe { (*self.entries.at(index)).0.write(Registered { description, object }) };
        known.insert(description.hash(), index as u32);
        self.last.store(index as u32, Ordering::Release);
        Ok(self.number(index as u32))
    }
}

/// Registers what `describe` returns.
///
/// # Safety
/// 1. `out` and `why` are NULL or may be written.
unsafe fn register(
    heap: Option<&ClientHeap>,
    describe: impl FnOnce() -> Result<TypeDescriptor, Refusal>,
    out: *mut TypeNumber,
    why: *mut Failure,
) -> Status {
    // SAFETY: contract 1.
    unsafe { register_any(heap, |_| Ok(Description::Short(describe()?)), out, why) }
}

/// The same for what the heap must see first.
///
/// # Safety
/// 1. `out` and `why` are NULL or may be written.
unsafe fn register_any(
    heap: Option<&ClientHeap>,
    describe: impl FnOnce(&Heap) -> Result<Description, Refusal>,
    out: *mut TypeNumber,
    why: *mut Failure,
) -> Status {
    let register = || {
        let heap = heap.ok_or(Refusal::Null("heap"))?;
        if out.is_null() {
            return Err(Refusal::Null("out"));
        }
        let number = heap.types.add(&heap.heap, describe(&heap.heap)?)?;
        // SAFETY: contract 1.
        unsafe { out.write(number) };
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { Failure::tell(register(), why) }
}

/// Registers a type without pointers.
///
/// # Safety
/// 1. `heap` is NULL or exists; `out` and `why` are NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_type_no_pointers(
    heap: Option<&ClientHeap>,
    size: usize,
    out: *mut TypeNumber,
    why: *mut Failure,
) -> Status {
    let describe = || Ok(TypeDescriptor::no_pointers(size)?);
    // SAFETY: contract 1.
    unsafe { register(heap, describe, out, why) }
}

/// Registers a type whose pointers a mask names.
///
/// # Safety
/// 1. `heap` is NULL or exists; `out` and `why` are NULL or may be written.
/// 2. `mask` is NULL or readable for `mask_words` words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_type_mask(
    heap: Option<&ClientHeap>,
    size: usize,
    mask: *const u64,
    mask_words: usize,
    out: *mut TypeNumber,
    why: *mut Failure,
) -> Status {
    let describe = || {
        let mask = match mask_words {
            0 => &[],
            _ if mask.is_null() => return Err(Refusal::Null("mask")),
            // More than the type needs is refused for its length, so no more is read.
            _ => {
                // SAFETY: contract 2.
                unsafe { core::slice::from_raw_parts(mask, mask_words.min(isize::MAX as usize / 8)) }
            }
        };
        Ok(TypeDescriptor::masked(size, mask)?)
    };
    // SAFETY: contract 1.
    unsafe { register(heap, describe, out, why) }
}

/// Registers a type whose pointers a program describes.
///
/// # Safety
/// 1. `heap` is NULL or exists; `out` and `why` are NULL or may be written.
/// 2. `program` is NULL or readable for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_type_program(
    heap: Option<&ClientHeap>,
    size: usize,
    program: *const u8,
    length: usize,
    out: *mut TypeNumber,
    why: *mut Failure,
) -> Status {
    let describe = |heap: &Heap| {
        if program.is_null() {
            return Err(Refusal::Null("program"));
        }
        // SAFETY: contract 2.
        let bytes = unsafe { core::slice::from_raw_parts(program, length.min(isize::MAX as usize)) };
        Description::of_program(heap, size, bytes)
    };
    // SAFETY: contract 1.
    unsafe { register_any(heap, describe, out, why) }
}

/// Registers a type that a text describes.
///
/// # Safety
/// 1. `heap` is NULL or exists; `size`, `out` and `why` are NULL or may be written.
/// 2. `text` is NULL or a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_type_describe(
    heap: Option<&ClientHeap>,
    text: *const core::ffi::c_char,
    size: *mut usize,
    out: *mut TypeNumber,
    why: *mut Failure,
) -> Status {
    let mut bytes = 0;
    let describe = |heap: &Heap| {
        if text.is_null() {
            return Err(Refusal::Null("text"));
        }
        // SAFETY: contract 2.
        let text = unsafe { core::ffi::CStr::from_ptr(text) };
        let text = text.to_str().map_err(|e| Refusal::NoText(e.valid_up_to()))?;
        let mut items = [Item::Scalars(0); 128];
        let items = parse(text, &mut items).map_err(Refusal::Parse)?;
        let mut program = Builder::<1024>::new();
        let words = compile(items, &mut program).map_err(Refusal::Describe)?;
        bytes = usize::try_from(words).ok().and_then(|words| words.checked_mul(WORD)).unwrap_or(usize::MAX);
        Description::of_program(heap, bytes, program.finish().bytes())
    };
    // SAFETY: contract 1.
    let status = unsafe { register_any(heap, describe, out, why) };
    if status == Status::OK && !size.is_null() {
        // SAFETY: contract 1.
        unsafe { size.write(bytes) };
    }
    status
}

/// Registers a type in which any word may be a pointer.
///
/// # Safety
/// 1. `heap` is NULL or exists; `out` and `why` are NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_type_conservative(
    heap: Option<&ClientHeap>,
    size: usize,
    out: *mut TypeNumber,
    why: *mut Failure,
) -> Status {
    let describe = || Ok(TypeDescriptor::conservative(size)?);
    // SAFETY: contract 1.
    unsafe { register(heap, describe, out, why) }
}

/// Registers a type whose pointers a function finds.
///
/// # Safety
/// 1. `heap` is NULL or exists; `out` and `why` are NULL or may be written.
/// 2. `trace` is NULL or finds every pointer of every object of the type, objects of zeros included, from any
///    thread, does nothing else with the heap, and does not unwind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_type_trace(
    heap: Option<&ClientHeap>,
    size: usize,
    trace: Option<TraceFn>,
    out: *mut TypeNumber,
    why: *mut Failure,
) -> Status {
    let describe = || {
        let trace = trace.ok_or(Refusal::Null("trace"))?;
        Ok(TypeDescriptor::traced(size, trace)?)
    };
    // SAFETY: contract 1.
    unsafe { register(heap, describe, out, why) }
}
