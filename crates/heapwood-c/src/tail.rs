//! Types with a variable tail: a header, and behind it as many elements as an allocation asks for. C keeps a struct for each, by
//! which the header's inline function finds the allocation buffer of a small object. Invariant: the numbers of its buffers are those of
//! layouts that have the pointers of header and elements in every cell of their size.

use crate::alloc::made;
use crate::error::Error;
use crate::error_report::ErrorReport;
use crate::handle::HeapHandle;
use crate::status::Status;
use crate::threads::{heap_of, tell};
use crate::type_table::{Description, TypeNumber};
use core::ptr::NonNull;
use heapwood_gc::Mutator;
use heapwood_heap::GRANULE;

/// The largest object that the header allocates inline.
const MOST_INLINE: usize = 256;
/// Its size in granules, which is the number of the size class.
const BUMPS: usize = MOST_INLINE / GRANULE;

/// The header's `hw_tail`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TailGiven {
    /// Bytes of the header and of an element.
    pub header: usize,
    /// As above.
    pub element: usize,
    /// Objects with fewer elements are allocated inline.
    pub few: usize,
    /// The type.
    pub ty: TypeNumber,
    /// The buffer of objects of so many granules; without a granule that of one. The last fills the struct.
    pub bumps: [u16; BUMPS + 2],
}

/// Registers a type of objects with a header and a tail of elements.
///
/// # Safety
/// 1. `heap` is NULL or exists; `out` and `why` are NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_type_tail(
    heap: Option<&HeapHandle>,
    header: TypeNumber,
    element: TypeNumber,
    out: *mut TailGiven,
    why: *mut ErrorReport,
) -> Status {
    let register = || {
        let heap = heap.ok_or(Error::Null("heap"))?;
        if out.is_null() {
            return Err(Error::Null("out"));
        }
        let tail = heap.types.tail(header, element)?;
        let (header_bytes, element_bytes) = (tail.header_bytes(), tail.element_bytes());
        let bytes = header_bytes.max(1);
        let ty = heap.types.add(&heap.heap, Description::Tail { header, element, bytes })?;
        let few = match MOST_INLINE.checked_sub(header_bytes) {
            Some(room) => room / element_bytes + 1,
            None => 0,
        };
        let mut bumps = [0; BUMPS + 2];
        for n in 0..few {
            let bytes = header_bytes + n * element_bytes;
            let bump = &mut bumps[bytes.div_ceil(GRANULE)];
            if *bump == 0 {
                let bytes = bytes.max(1);
                let object = heap.heap.types().register_scan(bytes, tail.scan(bytes))?;
                *bump = object.shape().index() as u16;
            }
        }
        let given = TailGiven { header: header_bytes, element: element_bytes, few, ty, bumps };
        // SAFETY: contract 1.
        unsafe { out.write(given) };
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { tell(heap, register(), why) }
}

const _: () = assert!(size_of::<TailGiven>() == 64);

fn with_tail(m: &Mutator, ty: TypeNumber, n: usize) -> Result<NonNull<u8>, Error> {
    let types = &heap_of(m).types;
    let Description::Tail { header, element, .. } = types.get(ty)?.description else {
        return Err(Error::NoTail(ty));
    };
    let tail = types.tail(header, element)?;
    let bytes = tail.bytes(n).ok_or(Error::ArraySize(n, tail.element_bytes()))?;
    Ok(m.allocate(m.types().type_for(bytes, tail.scan(bytes))?)?)
}

/// The slow half of `hw_alloc_tail`.
///
/// # Safety
/// 1. `m` is attached, and belongs to the calling thread.
/// 2. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_alloc_tail_slow(m: &Mutator, ty: TypeNumber, n: usize) -> *mut u8 {
    made(m, with_tail(m, ty, n), Some(ty), || None, hw_alloc_tail_slow as *const ())
}
