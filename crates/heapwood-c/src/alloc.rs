//! Allocation. The header's inline functions take cells from allocation buffers. These functions do the rest: an empty
//! buffer, a large type, an array, a number that is no type. Invariant: memory of a returned object is zero where it
//! may hold pointers.

use crate::error::Error;
use crate::status::Status;
use crate::threads::{heap_of, object_or_null, refuse};
use crate::type_table::{Description, TypeNumber};
use core::ptr::NonNull;
use heapwood_gc::{Mutator, ObjectType, slice_scan};
use heapwood_heap::{Scan, ShapeId, SizeClass};
use heapwood_layout::Layout;

/// The header finds the buffer of pointer-free cells of `n` bytes at index `(n + 15) / 16`, for `n` up to 256.
const _: () = {
    let mut n = 1;
    while n <= 256 {
        assert!(ShapeId::no_pointers(SizeClass::of(n)).index() == n.div_ceil(16));
        n += 1;
    }
};

fn object(m: &Mutator, ty: TypeNumber, zeroed: bool) -> Result<NonNull<u8>, Error> {
    let ty = heap_of(m).types.get(ty)?.object;
    Ok(if zeroed { m.allocate_zeroed(ty)? } else { m.allocate(ty)? })
}

fn bytes(m: &Mutator, n: usize, zeroed: bool) -> Result<NonNull<u8>, Error> {
    let size = n.max(1);
    let ty = ObjectType::no_pointers(size);
    Ok(if zeroed { m.allocate_zeroed(ty)? } else { m.allocate(ty)? })
}

/// The type of an array.
pub fn array_type(m: &Mutator, element: &Description, n: usize) -> Result<ObjectType, Error> {
    let size = element
        .size()
        .checked_mul(n)
        .filter(|&b| b <= isize::MAX as usize)
        .ok_or(Error::ArraySize(n, element.size()))?
        .max(1);
    let scan = match element {
        Description::Program(_, program) => Scan::Program { header: 0, program: *program },
        Description::Short(element) => match element.layout() {
            Layout::NoPointers => return Ok(ObjectType::no_pointers(size)),
            _ => slice_scan(element, 0).ok_or(Error::ArrayOfTraced)?,
        },
    };
    Ok(match scan {
        Scan::Layout(Layout::Conservative) => ObjectType::conservative(size),
        scan => m.types().type_for(size, scan)?,
    })
}

fn array(m: &Mutator, element: TypeNumber, n: usize, zeroed: bool) -> Result<NonNull<u8>, Error> {
    let ty = array_type(m, &heap_of(m).types.get(element)?.description, n)?;
    Ok(if zeroed { m.allocate_zeroed(ty)? } else { m.allocate(ty)? })
}

/// The slow half of `hw_alloc`.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_alloc_slow(m: &Mutator, ty: TypeNumber) -> *mut u8 {
    object_or_null(m, object(m, ty, false))
}

/// The slow half of `hw_alloc_bytes`.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_alloc_bytes_slow(m: &Mutator, n: usize) -> *mut u8 {
    object_or_null(m, bytes(m, n, false))
}

/// Allocates an array.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_alloc_array(m: &Mutator, element: TypeNumber, n: usize) -> *mut u8 {
    object_or_null(m, array(m, element, n, false))
}

/// Allocates an object of zeros.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_alloc_zeroed(m: &Mutator, ty: TypeNumber) -> *mut u8 {
    object_or_null(m, object(m, ty, true))
}

/// Allocates zeros without pointers.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_alloc_bytes_zeroed(m: &Mutator, n: usize) -> *mut u8 {
    object_or_null(m, bytes(m, n, true))
}

/// Allocates an array of zeros.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_alloc_array_zeroed(m: &Mutator, element: TypeNumber, n: usize) -> *mut u8 {
    object_or_null(m, array(m, element, n, true))
}

/// Frees an object. Does nothing for NULL.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread.
/// 2. The object is not used afterwards, and no root and no live object refers to it when a collection may run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_free(m: Option<&Mutator>, object: *mut u8) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    let Some(object) = NonNull::new(object) else { return Status::OK };
    // SAFETY: contract 2.
    match unsafe { m.free(object) } {
        Ok(()) => Status::OK,
        Err(why) => refuse(m, why.into()),
    }
}

/// The object that `address` points to or into.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. `size` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_base(m: &Mutator, address: usize, size: *mut usize) -> *mut u8 {
    let Some(object) = m.find(address) else { return core::ptr::null_mut() };
    if !size.is_null() {
        // SAFETY: contract 2.
        unsafe { size.write(object.bytes) };
    }
    object.base.get() as *mut u8
}
