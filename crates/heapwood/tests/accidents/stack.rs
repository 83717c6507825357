//! A stack that the program switches to by itself, as `stacker` and coroutines do. Invariant: nothing unwinds through it.

/// Calls `f` on a stack of its own.
pub(crate) fn on_stack(stack: &mut [u128], f: &mut dyn FnMut()) {
    extern "C" fn call(f: *mut &mut dyn FnMut()) {
        // SAFETY: the pointer is the argument below.
        unsafe { (*f)() }
    }
    // A backtrace of this stack finds zeros instead of callers, and ends.
    let (mut f, top) = (f, &raw mut stack[stack.len() - 1024]);
    // SAFETY: the stack is aligned and large enough, `call` does not unwind (the tests catch what is thrown), and the stack
    // pointer comes back in a register that a callee preserves.
    unsafe {
        core::arch::asm!(
            "mov r12, rsp",
            "mov rsp, {top}",
            "call {call}",
            "mov rsp, r12",
            top = in(reg) top,
            call = sym call,
            in("rdi") &raw mut f,
            out("r12") _,
            clobber_abi("C"),
        );
    }
}
