//! Threads of the library, started by pthread_create alone. Threads of std allocate: that ends the process when memory
//! is short, and recurses where this library is the program's malloc. The library's threads must not take the
//! program's signals: a thread that takes one deprives a sigwait of it, or runs a handler where the program does not
//! expect it. So they block all signals except those that the processor raises in the thread itself (SIGSEGV, SIGBUS,
//! SIGFPE, SIGILL, SIGTRAP), that of a bad system call (SIGSYS), and the profiler's (SIGPROF), as libgc's threads do.
//! The mask is set before the start, so a new thread never runs without it.
//!
//! Invariants: only the process that started a thread joins it; a forked child has no such thread. Starting a thread
//! takes no lock of the dynamic loader if [`know_thread_locals`] was called before. A process may be forked while
//! another thread holds that lock, and the child could never take it.

use crate::error::OsError;
use crate::memory::page::{page_size, round_up};
use crate::memory::request::Request;
use crate::threads::cancellation::uncancelled;
use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The function that a thread runs.
pub type StartRoutine = unsafe extern "C" fn(argument: *mut c_void) -> *mut c_void;

/// The longest thread name that the kernel keeps, in bytes.
const LONGEST_NAME: usize = 15;

/// Signals that the library's threads do not block.
const UNBLOCKED: [c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGPROF];

/// A started thread that must be joined.
#[derive(Debug)]
#[must_use = "a thread that is not joined keeps its stack"]
pub struct Thread {
    thread: libc::pthread_t,
    process: libc::pid_t,
}

/// Starts a thread that runs `run(argument)` with at least `stack` bytes of stack. The kernel shows at most 15 bytes
/// of its name.
///
/// # Errors
/// The kernel starts no thread, or has no memory for its stack.
///
/// # Safety
/// 1. `run` may be called with `argument` on another thread, until it has been joined.
/// 2. It does not unwind.
pub unsafe fn start(
    name: &CStr,
    stack: usize,
    run: StartRoutine,
    argument: *mut c_void,
) -> Result<Thread, OsError> {
    debug_assert!(name.count_bytes() <= LONGEST_NAME, "{name:?}");
    let mut thread = 0;
    let attributes = Attributes::with_stack(stack)?;
    let before = block_signals();
    // SAFETY: contract 1 allows the call; the attributes are initialised. The two function pointer types have the same
    // ABI.
    let errno = unsafe {
        let run = core::mem::transmute::<StartRoutine, extern "C" fn(*mut c_void) -> *mut c_void>(run);
        libc::pthread_create(&mut thread, &attributes.0, run, argument)
    };
    restore_signals(&before);
    if errno != 0 {
        return Err(OsError::new(Request::Thread, stack, errno));
    }
    // Best effort: without /proc the thread keeps the program's name. SAFETY: the thread may have ended, but has not
    // been joined, so its id is valid.
    unsafe { libc::pthread_setname_np(thread, name.as_ptr()) };
    // SAFETY: getpid takes no arguments and cannot fail.
    Ok(Thread { thread, process: unsafe { libc::getpid() } })
}

impl Thread {
    /// Whether the thread belongs to this process. It does not in a child that was forked after the start.
    pub fn is_here(&self) -> bool {
        // SAFETY: getpid takes no arguments and cannot fail.
        unsafe { libc::getpid() == self.process }
    }

    /// Waits until the thread has ended. In a forked child there is no such thread, and this does nothing.
    pub fn join(self) {
        // SAFETY: getpid takes no arguments; the thread belongs to this process, and is joined once since `self` is
        // consumed.
        unsafe {
            if libc::getpid() == self.process {
                uncancelled(|| libc::pthread_join(self.thread, core::ptr::null_mut()));
            }
        }
    }
}

/// The attributes of a new thread.
struct Attributes(libc::pthread_attr_t);

impl Attributes {
    fn with_stack(stack: usize) -> Result<Self, OsError> {
        let refused = |errno| OsError::new(Request::Thread, stack, errno);
        let bytes = stack.saturating_add(know_thread_locals()).max(least_stack());
        let bytes = round_up(bytes, page_size()).ok_or_else(|| refused(libc::ENOMEM))?;
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the first call initialises the object before the second uses it.
        unsafe {
            let errno = libc::pthread_attr_init(attributes.as_mut_ptr());
            if errno != 0 {
                return Err(refused(errno));
            }
            let mut made = Attributes(attributes.assume_init());
            match libc::pthread_attr_setstacksize(&mut made.0, bytes) {
                0 => Ok(made),
                errno => Err(refused(errno)),
            }
        }
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised by the constructor, and destroyed once.
        unsafe { libc::pthread_attr_destroy(&mut self.0) };
    }
}

/// The smallest stack that the C library accepts.
fn least_stack() -> usize {
    // SAFETY: sysconf takes a number and returns one; -1 if it is unknown.
    unsafe { libc::sysconf(libc::_SC_THREAD_STACK_MIN) }.max(0) as usize
}

/// The bytes of a thread's stack that thread-local variables take. glibc takes the space of libraries that the program
/// was started with from the stack, and a small stack may be too small for them; libraries loaded later do not count.
/// So one lookup is enough. It must happen before the process forks.
pub fn know_thread_locals() -> usize {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            let sum = thread_locals().max(1);
            KNOWN.store(sum, Ordering::Relaxed);
            sum
        }
        sum => sum,
    }
}

/// The bytes of the thread-local variables of all libraries in this process.
fn thread_locals() -> usize {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, sum: *mut c_void) -> c_int {
        // SAFETY: the C library passes one library's headers, and the pointer given to it.
        let (info, sum) = unsafe { (&*info, &mut *sum.cast::<usize>()) };
        for i in 0..info.dlpi_phnum as usize {
            // SAFETY: `dlpi_phnum` is the number of headers.
            let header = unsafe { &*info.dlpi_phdr.add(i) };
            if header.p_type == libc::PT_TLS {
                *sum = sum.saturating_add((header.p_memsz as usize).saturating_add(header.p_align as usize));
            }
        }
        0
    }
    let mut sum = 0usize;
    // SAFETY: the callback expects the address of a usize, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut sum).cast()) };
    sum
}

/// Blocks the signals that the library's threads must not take, and returns the previous mask.
fn block_signals() -> libc::sigset_t {
    // SAFETY: both sets are locals; the signals exist.
    unsafe {
        let (mut blocked, mut before) = (core::mem::zeroed(), core::mem::zeroed());
        libc::sigfillset(&mut blocked);
        for signal in UNBLOCKED {
            libc::sigdelset(&mut blocked, signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &blocked, &mut before);
        before
    }
}

fn restore_signals(before: &libc::sigset_t) {
    // SAFETY: pthread_sigmask filled the set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, core::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicU32, Ordering};

    /// State that a thread and its test share.
    #[derive(Default)]
    struct Shared {
        /// The thread's number, once it runs.
        number: AtomicU32,
        leave: AtomicU32,
    }

    unsafe extern "C" fn stay(shared: *mut c_void) -> *mut c_void {
        // SAFETY: the tests pass a `Shared` that outlives the thread.
        let shared = unsafe { &*shared.cast::<Shared>() };
        shared.number.store(crate::threads::stack::thread_id(), Ordering::Release);
        crate::threads::futex::wake(&shared.number, 1);
        while shared.leave.load(Ordering::Acquire) == 0 {
            crate::threads::futex::wait(&shared.leave, 0);
        }
        core::ptr::null_mut()
    }

    fn run<R>(stack: usize, look: impl FnOnce(u32) -> R) -> R {
        let shared = Shared::default();
        // SAFETY: `stay` takes the pointer passed here, which is valid until the thread is joined; it does not unwind.
        let thread =
            unsafe { start(c"fifteen letters", stack, stay, (&raw const shared).cast_mut().cast()) }.unwrap();
        while shared.number.load(Ordering::Acquire) == 0 {
            crate::threads::futex::wait(&shared.number, 0);
        }
        let result = look(shared.number.load(Ordering::Acquire));
        shared.leave.store(1, Ordering::Release);
        crate::threads::futex::wake(&shared.leave, 1);
        thread.join();
        result
    }

    fn status(number: u32, field: &str) -> String {
        let text = std::fs::read_to_string(format!("/proc/self/task/{number}/status")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        line.unwrap_or_else(|| panic!("no {field} in {text}")).trim().to_owned()
    }

    fn mask_of(number: u32) -> u64 {
        u64::from_str_radix(&status(number, "SigBlk:"), 16).unwrap()
    }

    #[test]
    fn a_thread_takes_no_signals_of_the_program() {
        let mine = mask_of(crate::threads::stack::thread_id());
        run(64 << 10, |number| {
            assert_eq!(status(number, "Name:"), "fifteen letters");
            let blocked = mask_of(number);
            for signal in 1..32 {
                let open = UNBLOCKED.contains(&signal) || [libc::SIGKILL, libc::SIGSTOP].contains(&signal);
                assert_eq!(blocked >> (signal - 1) & 1, !open as u64, "signal {signal} of {blocked:#x}");
            }
        });
        assert_eq!(mask_of(crate::threads::stack::thread_id()), mine, "the caller's mask is as before");
    }

    #[test]
    fn a_stack_that_cannot_be_had_is_an_error() {
        for stack in [1 << 60, usize::MAX] {
            // SAFETY: no thread is started.
            let e = unsafe { start(c"none", stack, stay, core::ptr::null_mut()) }.unwrap_err();
            assert_eq!((e.request, e.bytes), (Request::Thread, stack));
        }
    }

    /// Holds the dynamic loader's lock until the test ends it.
    unsafe extern "C" fn stay_with_the_loader(
        _: *mut libc::dl_phdr_info,
        _: usize,
        shared: *mut c_void,
    ) -> c_int {
        // SAFETY: the shared value outlives the call.
        unsafe { stay(shared) };
        1
    }

    #[test]
    fn a_forked_child_starts_a_thread_though_the_loaders_lock_is_never_released() {
        know_thread_locals();
        let shared = Shared::default();
        let there = (&raw const shared).expose_provenance();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // SAFETY: the callback is one for `Shared`, which outlives the scope.
                unsafe {
                    libc::dl_iterate_phdr(
                        Some(stay_with_the_loader),
                        core::ptr::with_exposed_provenance_mut(there),
                    )
                };
            });
            while shared.number.load(Ordering::Acquire) == 0 {
                crate::threads::futex::wait(&shared.number, 0);
            }
            // SAFETY: the child calls only async-signal-safe functions, and ends; the alarm ends it if it hangs.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // SAFETY: as above.
                unsafe { libc::alarm(60) };
                run(64 << 10, |_| ());
                // SAFETY: as above.
                unsafe { libc::_exit(7) };
            }
            let mut ended = 0;
            // SAFETY: waits for the child forked above.
            assert_eq!(unsafe { libc::waitpid(child, &mut ended, 0) }, child);
            shared.leave.store(1, Ordering::Release);
            crate::threads::futex::wake(&shared.leave, 1);
            assert!(libc::WIFEXITED(ended) && libc::WEXITSTATUS(ended) == 7, "{ended:#x}");
        });
    }

    #[test]
    fn a_forked_child_forgets_the_thread() {
        let shared = Shared::default();
        // SAFETY: as in `run`.
        let thread =
            unsafe { start(c"forked", 64 << 10, stay, (&raw const shared).cast_mut().cast()) }.unwrap();
        // SAFETY: the child calls only async-signal-safe functions, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // If it joined the thread, this would wait forever.
            thread.join();
            // SAFETY: ends the child without running the test harness in it.
            unsafe { libc::_exit(7) };
        }
        let mut ended = 0;
        // SAFETY: waits for the child forked above.
        assert_eq!(unsafe { libc::waitpid(child, &mut ended, 0) }, child);
        assert!(libc::WIFEXITED(ended) && libc::WEXITSTATUS(ended) == 7, "{ended:#x}");
        shared.leave.store(1, Ordering::Release);
        crate::threads::futex::wake(&shared.leave, 1);
        thread.join();
    }
}
