//! The bounds of a thread's stack, and its registers as words on the stack. A conservative scan needs both: the words
//! from the stack pointer to the end of the stack, and the callee-saved registers, which are pushed below the reported
//! stack pointer.
//!
//! The C library knows the bounds of the threads that it started. For the first thread it parses /proc/self/maps,
//! which takes milliseconds in a process with thousands of mappings, so the result is cached. Without /proc the bounds follow
//! from the words that the kernel has put at the stack's top. Invariant: the cached bounds belong to the thread whose pointer is
//! cached with them, and only that thread reads and writes them. A child that another thread forked has another pointer.

use crate::memory::page::{page_size, round_up};
use core::arch::{asm, naked_asm};
use core::sync::atomic::{AtomicUsize, Ordering};

/// The address range of a thread's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackBounds {
    /// The lowest address. It falls for the first thread when `ulimit -s` is raised.
    pub low: usize,
    /// One past the highest address.
    pub high: usize,
}

/// The first thread's pointer (0 if it is not known yet) and its bounds.
struct FirstThread {
    thread: AtomicUsize,
    low: AtomicUsize,
    high: AtomicUsize,
}

static FIRST_THREAD: FirstThread =
    FirstThread { thread: AtomicUsize::new(0), low: AtomicUsize::new(0), high: AtomicUsize::new(0) };

impl StackBounds {
    /// The bounds of the calling thread's stack, or `None` if the system does not report them.
    pub fn current() -> Option<StackBounds> {
        if FIRST_THREAD.thread.load(Ordering::Relaxed) == thread_pointer() {
            return Some(StackBounds {
                low: FIRST_THREAD.low.load(Ordering::Relaxed),
                high: FIRST_THREAD.high.load(Ordering::Relaxed),
            });
        }
        Self::read()
    }

    /// Whether `sp` lies on this stack, which is the calling thread's. If not, the bounds are read again: the stack
    /// may have grown.
    #[inline]
    pub fn contains(&mut self, sp: usize) -> bool {
        self.low <= sp && sp < self.high || sp < self.low && self.contains_now(sp)
    }

    #[cold]
    fn contains_now(&mut self, sp: usize) -> bool {
        match Self::read() {
            Some(now) if now.high == self.high => {
                *self = now;
                now.low <= sp
            }
            _ => false,
        }
    }

    /// Asks the C library, and caches the first thread's bounds.
    #[cold]
    fn read() -> Option<StackBounds> {
        let bounds = Self::ask().or_else(Self::of_first)?;
        // SAFETY: both calls take no arguments and cannot fail.
        if unsafe { libc::gettid() == libc::getpid() } {
            FIRST_THREAD.low.store(bounds.low, Ordering::Relaxed);
            FIRST_THREAD.high.store(bounds.high, Ordering::Relaxed);
            FIRST_THREAD.thread.store(thread_pointer(), Ordering::Relaxed);
        }
        Some(bounds)
    }

    /// The bounds of the first thread's stack, without the C library. The kernel puts 16 random bytes near its top, above all words of
    /// the program, and tells their address in the auxiliary vector. `None` if the calling thread is on another stack.
    fn of_first() -> Option<StackBounds> {
        let (here, mut limit) = (0u8, libc::rlimit { rlim_cur: 0, rlim_max: 0 });
        let here = &raw const here as usize;
        // SAFETY: the first call takes a number; the second writes the structure.
        let (top, known) = unsafe {
            (libc::getauxval(libc::AT_RANDOM) as usize, libc::getrlimit(libc::RLIMIT_STACK, &mut limit))
        };
        let bytes = usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX).min(MOST_OF_FIRST);
        let high = round_up(top, page_size())?;
        let bounds = StackBounds { low: high.saturating_sub(bytes), high };
        (top != 0 && known == 0 && (bounds.low..top).contains(&here)).then_some(bounds)
    }

    fn ask() -> Option<StackBounds> {
        // SAFETY: pthread_getattr_np initialises the attribute object before it is read; it is destroyed once.
        unsafe {
            let mut attr: libc::pthread_attr_t = core::mem::zeroed();
            if libc::pthread_getattr_np(libc::pthread_self(), &mut attr) != 0 {
                return None;
            }
            let mut low = core::ptr::null_mut();
            let mut size = 0;
            let r = libc::pthread_attr_getstack(&attr, &mut low, &mut size);
            libc::pthread_attr_destroy(&mut attr);
            (r == 0).then_some(StackBounds { low: low as usize, high: low as usize + size })
        }
    }
}

/// The most bytes that [`StackBounds::of_first`] takes the first thread's stack to have, whatever its limit. Of a larger one only
/// the switch to another stack that lies further below is not recognised.
const MOST_OF_FIRST: usize = 1 << 30;

/// One past the highest address of the calling thread's stack, or `None` if the system does not report it.
pub fn stack_end() -> Option<usize> {
    StackBounds::current().map(|bounds| bounds.high)
}

/// The calling thread's pointer to its thread-local storage, read by one instruction. No other living thread has the
/// same.
#[inline(always)]
pub fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the word at fs:0 is its own address by the ABI of thread-local variables.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("mov {}, fs:0", out(reg) pointer, options(pure, readonly, nostack, preserves_flags));
    }
    // SAFETY: every program may read the register, which changes nothing.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("mrs {}, tpidr_el0", out(reg) pointer, options(pure, nomem, nostack, preserves_flags));
    }
    pointer
}

/// An identifier of the calling thread that no other living thread has.
pub fn thread_id() -> u32 {
    // SAFETY: gettid takes no arguments and cannot fail.
    unsafe { libc::gettid() as u32 }
}

/// The function that [`with_registers`] calls, with the address of the lowest pushed register and the argument.
pub type WithRegisters = unsafe extern "C-unwind" fn(lowest: usize, arg: *mut u8);

/// Pushes the callee-saved registers and calls `f(lowest, arg)`. The words from `lowest` to the stack's end then hold
/// every value that the caller and its callers may still use.
///
/// # Safety
/// 1. `f` may be called with `arg`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn with_registers(f: WithRegisters, arg: *mut u8) {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        "push rbx",
        ".cfi_adjust_cfa_offset 8",
        "push r12",
        ".cfi_adjust_cfa_offset 8",
        "push r13",
        ".cfi_adjust_cfa_offset 8",
        "push r14",
        ".cfi_adjust_cfa_offset 8",
        "push r15",
        ".cfi_adjust_cfa_offset 8",
        // The call needs a stack aligned to 16: six pushes and the return address leave it 8 short.
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "mov rax, rdi",
        "lea rdi, [rsp + 8]",
        "call rax",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop r15",
        ".cfi_adjust_cfa_offset -8",
        "pop r14",
        ".cfi_adjust_cfa_offset -8",
        "pop r13",
        ".cfi_adjust_cfa_offset -8",
        "pop r12",
        ".cfi_adjust_cfa_offset -8",
        "pop rbx",
        ".cfi_adjust_cfa_offset -8",
        "pop rbp",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_endproc",
    )
}

/// Pushes the callee-saved registers and calls `f(lowest, arg)`. The words from `lowest` to the stack's end then hold
/// every value that the caller and its callers may still use.
///
/// # Safety
/// 1. `f` may be called with `arg`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn with_registers(f: WithRegisters, arg: *mut u8) {
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-160]!",
        ".cfi_def_cfa_offset 160",
        ".cfi_offset x29, -160",
        ".cfi_offset x30, -152",
        "stp x19, x20, [sp, #16]",
        "stp x21, x22, [sp, #32]",
        "stp x23, x24, [sp, #48]",
        "stp x25, x26, [sp, #64]",
        "stp x27, x28, [sp, #80]",
        // The low halves of v8 to v15 are callee-saved, too, and compilers keep pointers in them. The callee preserves
        // them, so they need not be reloaded.
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mov x9, x0",
        "mov x0, sp",
        "blr x9",
        "ldp x19, x20, [sp, #16]",
        "ldp x21, x22, [sp, #32]",
        "ldp x23, x24, [sp, #48]",
        "ldp x25, x26, [sp, #64]",
        "ldp x27, x28, [sp, #80]",
        "ldp x29, x30, [sp], #160",
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_endproc",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a child the thread that forks is the first, on a stack of its own or on the one that the kernel has made.
    #[test]
    fn the_first_threads_bounds_are_known_without_proc() {
        let without = StackBounds::of_first();
        // SAFETY: neither takes arguments.
        if unsafe { libc::gettid() == libc::getpid() } {
            let with = StackBounds::ask().unwrap();
            let without = without.unwrap();
            assert!(
                without.high <= with.high && with.high - without.high < 1 << 20,
                "{without:x?} {with:x?}"
            );
            assert!(without.low < with.high);
        } else {
            assert_eq!(without, None, "another thread has another stack");
        }
    }

    unsafe extern "C-unwind" fn note(lowest: usize, arg: *mut u8) {
        // SAFETY: the test passes a pointer to its own usize.
        unsafe { *(arg as *mut usize) = lowest };
    }

    #[test]
    fn registers_are_pushed_below_the_callers_frame() {
        let mut lowest = 0usize;
        // SAFETY: note writes through the pointer to `lowest`.
        unsafe { with_registers(note, &raw mut lowest as *mut u8) };
        assert!(lowest != 0 && lowest < &raw const lowest as usize);
        assert_eq!(lowest % 8, 0);
    }

    /// The words to search for above `lowest`, stored inverted so that no other word has these values.
    #[cfg(target_arch = "aarch64")]
    struct Search {
        inverted: usize,
        found: usize,
    }

    #[cfg(target_arch = "aarch64")]
    unsafe extern "C-unwind" fn search(lowest: usize, arg: *mut u8) {
        // SAFETY: the test passes its Search.
        let search = unsafe { &mut *arg.cast::<Search>() };
        for at in (lowest..stack_end().unwrap()).step_by(8) {
            // SAFETY: the stack is mapped from here to its end.
            let word = unsafe { (at as *const usize).read_volatile() };
            search.found += (0..8).any(|n| word == !search.inverted + n) as usize;
        }
    }

    /// Calls `with_registers(search, arg)` while d8 to d15 hold `!inverted` and the seven numbers that follow.
    #[cfg(target_arch = "aarch64")]
    #[unsafe(naked)]
    unsafe extern "C-unwind" fn with_pointers_in_d8_to_d15(arg: *mut u8, inverted: usize) {
        naked_asm!(
            "stp x29, x30, [sp, #-80]!",
            "stp d8, d9, [sp, #16]",
            "stp d10, d11, [sp, #32]",
            "stp d12, d13, [sp, #48]",
            "stp d14, d15, [sp, #64]",
            "mvn x2, x1",
            "fmov d8, x2",
            "add x2, x2, #1",
            "fmov d9, x2",
            "add x2, x2, #1",
            "fmov d10, x2",
            "add x2, x2, #1",
            "fmov d11, x2",
            "add x2, x2, #1",
            "fmov d12, x2",
            "add x2, x2, #1",
            "fmov d13, x2",
            "add x2, x2, #1",
            "fmov d14, x2",
            "add x2, x2, #1",
            "fmov d15, x2",
            "mov x2, xzr",
            "mov x1, x0",
            "adrp x0, {search}",
            "add x0, x0, :lo12:{search}",
            "bl {with_registers}",
            "ldp d8, d9, [sp, #16]",
            "ldp d10, d11, [sp, #32]",
            "ldp d12, d13, [sp, #48]",
            "ldp d14, d15, [sp, #64]",
            "ldp x29, x30, [sp], #80",
            "ret",
            search = sym search,
            with_registers = sym with_registers,
        )
    }

    #[cfg(target_arch = "aarch64")]
    #[test]
    fn pointers_in_floating_point_registers_are_found() {
        let mut wanted = Search { inverted: !0x1234_5678_9abc_def0, found: 0 };
        // SAFETY: `search` takes the address of a Search.
        unsafe { with_pointers_in_d8_to_d15((&raw mut wanted).cast(), wanted.inverted) };
        assert_eq!(wanted.found, 8);
    }

    unsafe extern "C-unwind" fn fail(_: usize, _: *mut u8) {
        std::panic::panic_any("through the frame");
    }

    #[test]
    fn a_panic_passes_through() {
        // SAFETY: `fail` ignores its argument.
        let r = std::panic::catch_unwind(|| unsafe { with_registers(fail, core::ptr::null_mut()) });
        assert!(r.is_err());
    }
}
