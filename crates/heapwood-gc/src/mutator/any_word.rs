//! Loads of words that may be uninitialised: the padding of a value that a barrier stores word by word. To Rust such a word has no value, and
//! a typed read of it is undefined behaviour; to the processor it has one like any other.

/// Loads a word, which is any if nothing was written there: by an instruction that the compiler does not look into.
///
/// # Safety
/// 1. The word is readable.
#[inline(always)]
pub(super) unsafe fn any_word(at: *const usize) -> usize {
    let word;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: contract 1.
    unsafe {
        core::arch::asm!("mov {}, qword ptr [{}]", lateout(reg) word, in(reg) at, options(nostack, readonly, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: contract 1.
    unsafe {
        core::arch::asm!("ldr {}, [{}]", lateout(reg) word, in(reg) at, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        // SAFETY: contract 1.
        word = unsafe { at.read_volatile() };
    }
    word
}
