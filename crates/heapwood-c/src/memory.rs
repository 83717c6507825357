//! Where the memory of a heap is. Invariant: a struct of C is written as far as its caller knows it.

use crate::error::Error;
use crate::handle::HeapHandle;
use crate::options::copy_out;
use crate::status::Status;
use crate::threads::tell;
use core::ffi::c_void;
use core::ptr::null_mut;
use heapwood_gc::{ClassParts, MEMORY_PARTS};

/// The header's `hw_memory`: its size, and the parts of the collector's list, in its order.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Memory {
    size: usize,
    values: [u64; MEMORY_PARTS.len()],
}

/// The header's `hw_memory_row`: takes the memory of a size class, and the caller's word.
pub type TakeRow = unsafe extern "C" fn(*const ClassParts, *mut c_void);

/// Writes where the heap's memory is, and calls `row` for each size class.
///
/// # Safety
/// 1. `heap` is NULL or exists.
/// 2. `memory` is NULL or may be written for as many bytes as its first field says.
/// 3. `row` is NULL or may be called with a class, and with `argument`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_memory_get(
    heap: Option<&HeapHandle>,
    memory: *mut Memory,
    row: Option<TakeRow>,
    argument: *mut c_void,
) -> Status {
    let Some(handle) = heap else { return Status::EINVAL };
    if memory.is_null() {
        return Status::EINVAL;
    }
    // SAFETY: contract 2, which includes the first field.
    let size = unsafe { memory.cast::<usize>().read() };
    if !(size_of::<usize>()..=1 << 16).contains(&size) {
        return Status::EINVAL;
    }
    let account = match handle.heap.memory_account_with(&handle.mappings()) {
        Ok(account) => account,
        // SAFETY: contract 1.
        Err(misuse) => return unsafe { tell(heap, Err(Error::from(misuse)), null_mut()) },
    };
    // SAFETY: contract 2.
    unsafe { copy_out(&Memory { size, values: account.parts.values() }, memory, size) };
    if let Some(row) = row {
        // SAFETY: contract 3.
        account.classes().for_each(|class| unsafe { row(class, argument) });
    }
    Status::OK
}
