//! Arenas: memory for values that die together, for types that are known at run time. The header's inline functions
//! take values and bytes from an arena's current run. These functions do the rest. Values that an arena cannot hold
//! live in the heap, and the arena keeps them alive. Invariant: a handle is checked before use: it must name an open
//! arena of the calling thread, in a heap that the thread is attached to.

use crate::alloc::array_type;
use crate::error::Error;
use crate::handle::HeapHandle;
use crate::status::Status;
use crate::threads::{heap_of, refuse};
use crate::type_table::{Description, TypeNumber};
use core::ptr::{NonNull, null_mut};
use heapwood_gc::{Mutator, ObjectType, arena_handle_error};
use heapwood_heap::{ArenaHeader, ArenaKind, ArenaLayout, GRANULE, MAX_SHAPES, MOST_IN_ARENA};
use heapwood_layout::{Layout, PointerMask, WORD};

/// The header's `HW_ARENA_RECYCLE`.
pub const RECYCLE: u32 = 1;

/// A type's number is the key of its runs. The collector uses the lower keys.
const _: () = assert!(MAX_SHAPES >= 2, "the first type's number");
/// Flag in a key: the values of the run are pairs.
const PAIRS: usize = 1 << u32::BITS;

/// How N values of a type are stored in an arena.
enum Storage {
    /// Without pointers.
    Data(usize),
    /// As N values of a run.
    Masked((usize, ArenaLayout), usize),
    /// In the heap; a cell of the arena refers to the value.
    External(ObjectType),
}

/// The run for `n` consecutive values of a masked type, and how many values of the run they take. Elements whose size
/// is no multiple of 16 bytes are stored in pairs, so that each array begins at a multiple of 16.
fn run(ty: TypeNumber, size: usize, mask: &PointerMask, n: usize) -> Option<((usize, ArenaLayout), usize)> {
    if n == 1 || size.is_multiple_of(GRANULE) {
        return ArenaLayout::aligned(size, mask.bits()).map(|layout| ((ty as usize, layout), n));
    }
    let (words, mut bits) = (size / WORD, mask.bits());
    if 2 * words > 64 * bits.len() {
        return None;
    }
    for word in (0..words).filter(|&word| mask.is_set(word)) {
        bits[(words + word) / 64] |= 1 << ((words + word) % 64);
    }
    ArenaLayout::new(2 * size, bits).map(|layout| ((ty as usize | PAIRS, layout), n.div_ceil(2)))
}

fn storage(m: &Mutator, ty: TypeNumber, n: usize) -> Result<Storage, Error> {
    let registered = heap_of(m).types.get(ty)?;
    let bytes = registered.description.size().saturating_mul(n);
    if bytes <= MOST_IN_ARENA
        && let Description::Short(element) = registered.description
    {
        match element.layout() {
            Layout::NoPointers => return Ok(Storage::Data(bytes)),
            _ if n == 0 => return Ok(Storage::Data(0)),
            Layout::Mask(mask) => {
                if let Some((of, count)) = run(ty, element.size(), &mask, n)
                    && count <= MOST_IN_ARENA / of.1.bytes()
                {
                    return Ok(Storage::Masked(of, count));
                }
            }
            Layout::Conservative | Layout::Trace(_) => {}
        }
    }
    Ok(Storage::External(match n {
        1 => registered.object,
        _ => array_type(m, &registered.description, n)?,
    }))
}

/// Data of `n` bytes.
fn data(m: &Mutator, arena: &ArenaHeader, n: usize) -> Result<NonNull<u8>, Error> {
    let n = n.max(1);
    if n > MOST_IN_ARENA {
        // SAFETY: the arena is one of the mutator's heap, which is there.
        return Ok(unsafe {
            m.arenas().allocate_external(arena, || m.allocate(ObjectType::no_pointers(n)))
        }?);
    }
    // The next is then at a multiple of 16, too, as the inline function relies on.
    // SAFETY: as above.
    let at = unsafe { m.arenas().take_data(arena, n.next_multiple_of(GRANULE), GRANULE) }?;
    // SAFETY: no page lies at address 0.
    Ok(unsafe { NonNull::new_unchecked(at as *mut u8) })
}

fn values(m: &Mutator, arena: &ArenaHeader, ty: TypeNumber, n: usize) -> Result<NonNull<u8>, Error> {
    match storage(m, ty, n)? {
        Storage::Data(bytes) => data(m, arena, bytes),
        Storage::Masked(of, count) => {
            let bytes = count * of.1.bytes();
            let at = match arena.peek(of.0, bytes) {
                Some(at) => at,
                // SAFETY: the arena is one of the mutator's heap, which is there.
                None => unsafe { m.arenas().reserve(arena, of, count) }?,
            };
            // The arena returns zeroed values.
            arena.commit(at, bytes);
            // SAFETY: no page lies at address 0.
            Ok(unsafe { NonNull::new_unchecked(at as *mut u8) })
        }
        // SAFETY: as above.
        Storage::External(ty) => Ok(unsafe { m.arenas().allocate_external(arena, || m.allocate(ty)) }?),
    }
}

/// Calls `f` with the arena of a handle and its mutator, which is the calling thread's.
fn with<R>(
    arena: *const ArenaHeader,
    f: impl FnOnce(&Mutator, &ArenaHeader) -> Result<R, Error>,
) -> Result<R, Status> {
    let handle = arena as usize;
    match Mutator::here_at(handle) {
        Some(m) => {
            // SAFETY: the mutator is this thread's, and stays attached during the call.
            let m = unsafe { m.as_ref() };
            m.arenas()
                .find(handle)
                .map_err(Error::from)
                .and_then(|arena| f(m, arena))
                .map_err(|e| refuse(m, e))
        }
        None => {
            let error = if handle == 0 { Error::Null("arena") } else { arena_handle_error(handle).into() };
            // No mutator is known to be meant.
            Mutator::for_each_here(|m| {
                refuse(m, error);
            });
            Err(error.status())
        }
    }
}

fn done(result: Result<(), Status>) -> Status {
    result.err().unwrap_or(Status::OK)
}

fn value_or_null(result: Result<NonNull<u8>, Status>) -> *mut u8 {
    result.map_or(null_mut(), NonNull::as_ptr)
}

/// Opens an arena.
///
/// # Safety
/// 1. `m` is NULL or attached, and belongs to the calling thread; `out` is NULL or may be written.
/// 2. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_arena_new(m: Option<&Mutator>, flags: u32, out: *mut *mut ArenaHeader) -> Status {
    let Some(m) = m else { return Status::EINVAL };
    let open = || {
        if out.is_null() {
            return Err(Error::Null("out"));
        }
        let kind = match flags {
            0 => ArenaKind::Escaping,
            RECYCLE => ArenaKind::Promised,
            _ => return Err(Error::ArenaFlags(flags)),
        };
        let arena = m.arenas().open(kind, true)?;
        if m.heap().config().verify {
            // SAFETY: it was opened just now, by this thread.
            unsafe { arena.as_ref() }.take_one_by_one();
        }
        // SAFETY: contract 1.
        unsafe { out.write(arena.as_ptr()) };
        Ok(())
    };
    open().map_or_else(|error| refuse(m, error), |()| Status::OK)
}

/// The slow half of `hw_arena_alloc`.
///
/// # Safety
/// 1. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_arena_alloc_slow(arena: *mut ArenaHeader, ty: TypeNumber, n: usize) -> *mut u8 {
    value_or_null(with(arena, |m, arena| values(m, arena, ty, n)))
}

/// The slow half of `hw_arena_alloc_bytes`.
///
/// # Safety
/// 1. Every object that is used later is reachable from a root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_arena_alloc_bytes_slow(arena: *mut ArenaHeader, n: usize) -> *mut u8 {
    value_or_null(with(arena, |m, arena| data(m, arena, n)))
}

/// Frees an arena's values, and keeps its memory.
///
/// # Safety
/// 1. They are not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_arena_reset(arena: *mut ArenaHeader) -> Status {
    // SAFETY: contract 1; the arena is one of the mutator's heap. The thread that has promised too much harms values only.
    done(with(arena, |m, arena| Ok(unsafe { m.arenas().empty(arena) }?)))
}

/// Frees an arena. Does nothing for NULL.
///
/// # Safety
/// 1. Its values are not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_arena_free(arena: *mut ArenaHeader) -> Status {
    if arena.is_null() {
        return Status::OK;
    }
    // SAFETY: as for hw_arena_reset.
    done(with(arena, |m, arena| Ok(unsafe { m.arenas().close(arena) }?)))
}

/// Leaves an arena to the collector.
#[unsafe(no_mangle)]
pub extern "C" fn hw_arena_leave(arena: *mut ArenaHeader) -> Status {
    // SAFETY: the arena is one of the mutator's heap, which is there.
    done(with(arena, |m, arena| Ok(unsafe { m.arenas().leave(arena) }?)))
}

/// The bytes of an open arena's pages. 0 if it is no arena of the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn hw_arena_bytes(arena: *const ArenaHeader) -> usize {
    of_handle(arena).map_or(0, ArenaHeader::bytes)
}

/// An arena's number. 0 if there is no such arena.
#[unsafe(no_mangle)]
pub extern "C" fn hw_arena_number(arena: *const ArenaHeader) -> u64 {
    of_handle(arena).map_or(0, ArenaHeader::number)
}

/// The arena of a handle, open or not, in a heap that the calling thread is attached to.
fn of_handle<'a>(arena: *const ArenaHeader) -> Option<&'a ArenaHeader> {
    let m = Mutator::here_at(arena as usize)?;
    // SAFETY: it is this thread's, and stays attached while what is returned is used, in the functions above.
    unsafe { m.as_ref() }.heap().objects().arena_header(arena as usize)
}

/// The number of the arena that an address lies in; 0 if there is none.
///
/// # Safety
/// 1. `heap` is NULL or exists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_arena_of(heap: Option<&HeapHandle>, address: usize) -> u64 {
    heap.and_then(|heap| heap.heap.objects().arena_at(address)).unwrap_or(0)
}
