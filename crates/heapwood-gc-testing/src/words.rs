//! Words of objects as programs write them: whole, while a marker beside the program may read them. A program in C does that
//! with plain stores, as the guide allows; here each is a relaxed atomic, which is the same instruction, so that
//! ThreadSanitizer is told that both sides mean it. Invariant: tests write memory of objects through this module or a barrier.
//! They may read it plainly, since a marker writes none, but for trace functions, which the marker calls.

use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// Reads a word that its thread may be writing: for trace functions.
///
/// # Safety
/// 1. It is an aligned word of an object that exists.
pub unsafe fn load(at: *const usize) -> usize {
    // SAFETY: contract 1.
    unsafe { AtomicUsize::from_ptr(at.cast_mut()) }.load(Ordering::Relaxed)
}

/// Writes a word without a barrier: data, and stores that initialise.
///
/// # Safety
/// 1. It is an aligned word of an object that the calling thread uses, and no other thread writes it.
pub unsafe fn store(at: *mut usize, value: usize) {
    // SAFETY: contract 1.
    unsafe { AtomicUsize::from_ptr(at) }.store(value, Ordering::Relaxed);
}

/// The same for so many bytes that fill no word.
///
/// # Safety
/// 1. They are an object's that the calling thread uses, and no other thread writes them.
pub unsafe fn store_bytes(at: *mut u8, bytes: &[u8]) {
    for (i, &byte) in bytes.iter().enumerate() {
        // SAFETY: contract 1.
        unsafe { AtomicU8::from_ptr(at.add(i)) }.store(byte, Ordering::Relaxed);
    }
}
