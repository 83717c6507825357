//! Types as C describes them: by a mask, a program, a text, a function, or not at all. Invariant: an error leaves the
//! heap's table unchanged.

use crate::error::Error;
use crate::error_report::ErrorReport;
use crate::handle::HeapHandle;
use crate::status::Status;
use crate::threads::tell;
use crate::type_table::{Description, TypeNumber};
use heapwood_gc::Heap;
use heapwood_layout::describe::{Item, compile, parse};
use heapwood_layout::program::Builder;
use heapwood_layout::{TraceFn, TypeDescriptor, WORD};

/// Registers the type that `describe` returns.
///
/// # Safety
/// 1. `out` and `why` are NULL or may be written.
unsafe fn register(
    heap: Option<&HeapHandle>,
    describe: impl FnOnce() -> Result<TypeDescriptor, Error>,
    out: *mut TypeNumber,
    why: *mut ErrorReport,
) -> Status {
    // SAFETY: contract 1.
    unsafe { register_any(heap, |_| Ok(Description::Short(describe()?)), out, why) }
}

/// The same for descriptions that the heap must check first.
///
/// # Safety
/// 1. `out` and `why` are NULL or may be written.
unsafe fn register_any(
    heap: Option<&HeapHandle>,
    describe: impl FnOnce(&Heap) -> Result<Description, Error>,
    out: *mut TypeNumber,
    why: *mut ErrorReport,
) -> Status {
    let register = || {
        let heap = heap.ok_or(Error::Null("heap"))?;
        if out.is_null() {
            return Err(Error::Null("out"));
        }
        let number = heap.types.add(&heap.heap, describe(&heap.heap)?)?;
        // SAFETY: contract 1.
        unsafe { out.write(number) };
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, register(), why) }
}

/// Registers a type without pointers.
///
/// # Safety
/// 1. `heap` is NULL or exists; `out` and `why` are NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_type_no_pointers(
    heap: Option<&HeapHandle>,
    size: usize,
    out: *mut TypeNumber,
    why: *mut ErrorReport,
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
    heap: Option<&HeapHandle>,
    size: usize,
    mask: *const u64,
    mask_words: usize,
    out: *mut TypeNumber,
    why: *mut ErrorReport,
) -> Status {
    let describe = || {
        let mask = match mask_words {
            0 => &[],
            _ if mask.is_null() => return Err(Error::Null("mask")),
            // A mask longer than the type needs is an error, so no more is read.
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
    heap: Option<&HeapHandle>,
    size: usize,
    program: *const u8,
    length: usize,
    out: *mut TypeNumber,
    why: *mut ErrorReport,
) -> Status {
    let describe = |heap: &Heap| {
        if program.is_null() {
            return Err(Error::Null("program"));
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
    heap: Option<&HeapHandle>,
    text: *const core::ffi::c_char,
    size: *mut usize,
    out: *mut TypeNumber,
    why: *mut ErrorReport,
) -> Status {
    let mut bytes = 0;
    let describe = |heap: &Heap| {
        if text.is_null() {
            return Err(Error::Null("text"));
        }
        // SAFETY: contract 2.
        let text = unsafe { core::ffi::CStr::from_ptr(text) };
        let text = text.to_str().map_err(|e| Error::NoText(e.valid_up_to()))?;
        let mut items = [Item::Scalars(0); 128];
        let items = parse(text, &mut items).map_err(Error::Parse)?;
        let mut program = Builder::<1024>::new();
        let words = compile(items, &mut program).map_err(Error::Describe)?;
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
    heap: Option<&HeapHandle>,
    size: usize,
    out: *mut TypeNumber,
    why: *mut ErrorReport,
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
    heap: Option<&HeapHandle>,
    size: usize,
    trace: Option<TraceFn>,
    out: *mut TypeNumber,
    why: *mut ErrorReport,
) -> Status {
    let describe = || {
        let trace = trace.ok_or(Error::Null("trace"))?;
        Ok(TypeDescriptor::traced(size, trace)?)
    };
    // SAFETY: contract 1.
    unsafe { register(heap, describe, out, why) }
}

/// Gives a type a name for reports of verify mode.
///
/// # Safety
/// 1. `heap` is NULL or exists; `why` is NULL or may be written.
/// 2. `name` is NULL or a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_type_name(
    heap: Option<&HeapHandle>,
    number: TypeNumber,
    name: *const core::ffi::c_char,
    why: *mut ErrorReport,
) -> Status {
    let name = || {
        let heap = heap.ok_or(Error::Null("heap"))?;
        let shape = heap.types.get(number)?.object.shape();
        if name.is_null() {
            return Err(Error::Null("name"));
        }
        // SAFETY: contract 2.
        let name = unsafe { core::ffi::CStr::from_ptr(name) };
        let name = name.to_str().map_err(|e| Error::NoText(e.valid_up_to()))?;
        if heap.heap.config().verify {
            // A heap has few types, and reports may come as long as the process lives.
            heap.heap.types().name(shape, String::from(name).leak());
        }
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, name(), why) }
}
