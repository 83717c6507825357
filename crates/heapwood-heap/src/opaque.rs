//! A value of which the compiler knows nothing: it costs no instruction. For the few loops and fast paths in which the optimiser's
//! own idea is slower than the code as it stands (each caller says what it does otherwise, and golden code or a count of
//! instructions shows the gain). Unlike `core::hint::black_box` it leaves the value in its register.

/// `pointer`, from a place that the compiler cannot see through.
#[cfg_attr(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    expect(clippy::pointers_in_nomem_asm_block, reason = "the block reads and writes nothing")
)]
#[inline(always)]
pub fn opaque<T>(mut pointer: *mut T) -> *mut T {
    // SAFETY: it is a comment, and no instruction.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe {
        core::arch::asm!("# {0}", inlateout(reg) pointer, options(pure, nomem, nostack, preserves_flags))
    };
    // SAFETY: as above.
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    unsafe {
        core::arch::asm!("// {0}", inlateout(reg) pointer, options(pure, nomem, nostack, preserves_flags))
    };
    pointer
}

#[cfg(test)]
mod tests {
    use super::opaque;

    #[test]
    fn it_is_the_same_pointer() {
        let mut number = 7;
        let pointer = opaque(&raw mut number);
        // SAFETY: it points to the number.
        unsafe { *pointer += 1 };
        assert_eq!(number, 8);
    }
}
