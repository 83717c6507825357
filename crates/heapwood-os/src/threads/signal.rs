//! Signals to single threads, and the facts that a handler needs: who sent the signal, where the interrupted thread's
//! stack was, and how the program handled the signal before. This module keeps no state: the caller that installs a
//! handler keeps the action it replaced. All functions except [`install`], [`current`] and [`number`] may be called in
//! a handler.
//!
//! Invariant: a handler can tell a signal sent by [`send`] from all others by its value, as long as the kernel has
//! memory for the value. Without memory the kernel delivers the signal without it.

use crate::error::OsError;
use crate::memory::request::Request;
use core::ffi::{c_int, c_void};
use core::ops::Range;

/// The outcome of sending a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The signal is delivered, or pending until the thread unblocks it.
    Yes,
    /// The thread does not exist, or exists no more.
    NoThread,
    /// The kernel refused, with this errno.
    Refused(i32),
}

/// A handler as the kernel calls it.
pub type Handler = extern "C" fn(c_int, *mut Info, *mut c_void);

/// The kernel's description of a signal.
pub use libc::siginfo_t as Info;

/// The disposition of a signal.
pub type Action = libc::sigaction;

/// Signals by name. Real-time signals have numbers only.
const NAMES: [(&str, c_int); 29] = [
    ("SIGHUP", libc::SIGHUP),
    ("SIGINT", libc::SIGINT),
    ("SIGQUIT", libc::SIGQUIT),
    ("SIGILL", libc::SIGILL),
    ("SIGTRAP", libc::SIGTRAP),
    ("SIGABRT", libc::SIGABRT),
    ("SIGBUS", libc::SIGBUS),
    ("SIGFPE", libc::SIGFPE),
    ("SIGKILL", libc::SIGKILL),
    ("SIGUSR1", libc::SIGUSR1),
    ("SIGSEGV", libc::SIGSEGV),
    ("SIGUSR2", libc::SIGUSR2),
    ("SIGPIPE", libc::SIGPIPE),
    ("SIGALRM", libc::SIGALRM),
    ("SIGTERM", libc::SIGTERM),
    ("SIGCHLD", libc::SIGCHLD),
    ("SIGCONT", libc::SIGCONT),
    ("SIGSTOP", libc::SIGSTOP),
    ("SIGTSTP", libc::SIGTSTP),
    ("SIGTTIN", libc::SIGTTIN),
    ("SIGTTOU", libc::SIGTTOU),
    ("SIGURG", libc::SIGURG),
    ("SIGXCPU", libc::SIGXCPU),
    ("SIGXFSZ", libc::SIGXFSZ),
    ("SIGVTALRM", libc::SIGVTALRM),
    ("SIGPROF", libc::SIGPROF),
    ("SIGWINCH", libc::SIGWINCH),
    ("SIGIO", libc::SIGIO),
    ("SIGPWR", libc::SIGPWR),
];

/// The default signal. An unexpected one does no harm: the default action is to ignore it, few programs use it, and
/// debuggers pass it on. Go preempts threads with it for these reasons (proposal 24543).
pub const USUAL: c_int = libc::SIGURG;

/// The greatest signal number.
pub const LAST: c_int = 64;
/// Signals that the C library reserves for thread cancellation and changes of user.
const C_LIBRARY_SIGNALS: Range<c_int> = 32..34;

/// Signals that an instruction raises in its own thread, and those that cannot be handled.
const UNAVAILABLE: [c_int; 9] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
    libc::SIGKILL,
    libc::SIGSTOP,
];

/// The number of a signal by its name, with or without SIG.
pub fn number(name: &str) -> Option<c_int> {
    NAMES
        .iter()
        .find(|&&(known, _)| known == name || known.strip_prefix("SIG") == Some(name))
        .map(|&(_, n)| n)
}

/// The name of a signal, if it has one.
pub fn name(signal: c_int) -> Option<&'static str> {
    NAMES.iter().find(|&&(_, number)| number == signal).map(|&(name, _)| name)
}

/// Whether a program may use a signal for its own purposes.
pub fn is_free(signal: c_int) -> bool {
    (1..=LAST).contains(&signal) && !C_LIBRARY_SIGNALS.contains(&signal) && !UNAVAILABLE.contains(&signal)
}

/// Whether the default action ignores the signal.
fn is_ignored_by_default(signal: c_int) -> bool {
    [libc::SIGURG, libc::SIGCHLD, libc::SIGWINCH, libc::SIGCONT].contains(&signal)
}

/// Whether the default action stops the process until it is continued.
fn stops_by_default(signal: c_int) -> bool {
    [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].contains(&signal)
}

/// The kernel's siginfo_t for a queued signal, as far as it is used here. The libc crate does not expose all of it.
#[repr(C)]
struct SignalInfo {
    signal: c_int,
    errno: c_int,
    code: c_int,
    /// The union that follows is aligned to pointers.
    pad: c_int,
    process: libc::pid_t,
    user: libc::uid_t,
    value: usize,
    rest: [usize; 12],
}

const _: () = assert!(size_of::<SignalInfo>() == size_of::<libc::siginfo_t>());

/// Sends a signal with a value to a thread of this process.
pub fn send(thread: u32, signal: c_int, value: usize) -> Sent {
    // SAFETY: both take no arguments and cannot fail.
    let (process, user) = unsafe { (libc::getpid(), libc::getuid()) };
    let info =
        SignalInfo { signal, errno: 0, code: libc::SI_QUEUE, pad: 0, process, user, value, rest: [0; 12] };
    // SAFETY: the kernel reads the info, which lives through the call.
    let sent = unsafe {
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread as libc::pid_t, signal, &raw const info)
    };
    match sent {
        0 => Sent::Yes,
        // SAFETY: __errno_location returns this thread's valid errno slot.
        _ => match unsafe { *libc::__errno_location() } {
            libc::ESRCH => Sent::NoThread,
            errno => Sent::Refused(errno),
        },
    }
}

/// Whether the handler runs for a signal that [`send`] sent with this value.
///
/// # Safety
/// 1. `info` is what the kernel passed to the handler.
pub unsafe fn is_sent_with(info: *const Info, value: usize) -> bool {
    // SAFETY: contract 1; the layout is the kernel's.
    let info = unsafe { &*info.cast::<SignalInfo>() };
    info.code == libc::SI_QUEUE && info.value == value
}

/// Installs `handler` for a signal and returns the previous action. All signals are blocked while the handler runs,
/// except those that an instruction of it raises. Interrupted system calls are restarted where the kernel can do that.
/// The handler runs on the alternate stack if the previous one did.
///
/// # Errors
/// The signal cannot be handled.
///
/// # Safety
/// 1. The handler may be called on any thread, between any two of its instructions, as long as the process lives.
pub unsafe fn install(signal: c_int, handler: Handler) -> Result<Action, OsError> {
    let before = current(signal)?;
    // SAFETY: an all-zero action is valid, this function owns its mask, and the handler takes three arguments.
    unsafe {
        let mut action: Action = core::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | before.sa_flags & libc::SA_ONSTACK;
        libc::sigfillset(&mut action.sa_mask);
        for unavailable in UNAVAILABLE {
            libc::sigdelset(&mut action.sa_mask, unavailable);
        }
        match libc::sigaction(signal, &action, core::ptr::null_mut()) {
            0 => Ok(before),
            _ => Err(refused(signal)),
        }
    }
}

/// Restores the previous action of a signal.
pub fn restore(signal: c_int, before: &Action) {
    // SAFETY: the kernel returned this action.
    unsafe { libc::sigaction(signal, before, core::ptr::null_mut()) };
}

/// Lets the calling thread take a signal that it may have blocked.
pub fn unblock(signal: c_int) {
    // SAFETY: the set is initialised before it is used, and lives through the calls.
    unsafe {
        let mut set = core::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, core::ptr::null_mut());
    }
}

/// The signals of invalid memory accesses. On x86-64 the second is that of an access by rbp or rsp to what no address can be.
pub const FAULTS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The address whose access raised one of [`FAULTS`]; 0 if that is none.
///
/// # Safety
/// 1. `info` is what the kernel passed to the handler of that signal.
pub unsafe fn fault_address(info: *const Info) -> usize {
    // SAFETY: contract 1.
    unsafe { (*info).si_addr() as usize }
}

/// The general registers of a thread that a signal has interrupted.
///
/// # Safety
/// 1. `context` is what the kernel passed to a handler that has not returned.
pub unsafe fn registers<'c>(context: *const c_void) -> impl Iterator<Item = usize> + 'c {
    // SAFETY: contract 1.
    let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    let general = &machine.gregs[..libc::REG_RIP as usize];
    #[cfg(target_arch = "aarch64")]
    let general = &machine.regs;
    general.iter().map(|&register| register as usize)
}

/// The current action of a signal.
///
/// # Errors
/// The signal does not exist, or the C library reserves it.
pub fn current(signal: c_int) -> Result<Action, OsError> {
    // SAFETY: an all-zero action is valid, and this function owns it.
    unsafe {
        let mut action: Action = core::mem::zeroed();
        match libc::sigaction(signal, core::ptr::null(), &mut action) {
            0 => Ok(action),
            _ => Err(refused(signal)),
        }
    }
}

fn refused(signal: c_int) -> OsError {
    // SAFETY: __errno_location returns this thread's valid errno slot.
    OsError::new(Request::Signal, signal.max(0) as usize, unsafe { *libc::__errno_location() })
}

/// Whether an action calls `handler`.
pub fn calls(action: &Action, handler: Handler) -> bool {
    action.sa_sigaction == handler as usize
}

/// Performs the previous action of a signal, from within the handler that has replaced it.
///
/// # Safety
/// 1. The arguments are those that the kernel passed to the handler, and [`install`] returned the action.
pub unsafe fn pass_on(action: &Action, signal: c_int, info: *mut Info, context: *mut c_void) {
    match action.sa_sigaction {
        libc::SIG_IGN => {}
        libc::SIG_DFL if is_ignored_by_default(signal) => {}
        // SAFETY: takes a number. The handler stays installed, so it works again when the process is continued.
        libc::SIG_DFL if stops_by_default(signal) => unsafe {
            libc::raise(libc::SIGSTOP);
        },
        // SAFETY: restores the default action and raises the signal, which takes effect when this handler returns and
        // the signal is unblocked: the process ends.
        libc::SIG_DFL => unsafe {
            libc::sigaction(signal, action, core::ptr::null_mut());
            libc::raise(signal);
        },
        // SAFETY: the program installed this function for this signal, with one argument or with three.
        handler if action.sa_flags & libc::SA_SIGINFO != 0 => unsafe {
            let handler = core::mem::transmute::<usize, Handler>(handler);
            handler(signal, info, context);
        },
        // SAFETY: as above.
        handler => unsafe {
            let handler = core::mem::transmute::<usize, extern "C" fn(c_int)>(handler);
            handler(signal);
        },
    }
}

/// Runs a handler's work, and restores errno for the interrupted code.
pub fn with_errno_kept<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: __errno_location returns this thread's valid errno slot.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let result = f();
    // SAFETY: as above.
    unsafe { *errno = before };
    result
}

/// The state of a thread that a handler interrupted.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted {
    /// Its stack pointer.
    pub stack_pointer: usize,
    /// The instruction that it would have executed next.
    pub instruction: usize,
    /// The thread's alternate signal stack: its lowest address and one past its highest. Both are equal if there is
    /// none.
    pub alternate: (usize, usize),
}

impl Interrupted {
    /// Reads the kernel's context, which holds the registers. Floating-point and vector registers lie after it on the
    /// handler's stack.
    ///
    /// # Safety
    /// 1. `context` is what the kernel passed to a handler that has not returned.
    pub unsafe fn from(context: *const c_void) -> Self {
        // SAFETY: contract 1.
        let context = unsafe { &*context.cast::<libc::ucontext_t>() };
        let stack = &context.uc_stack;
        let low = stack.ss_sp as usize;
        let alternate =
            if stack.ss_flags & libc::SS_DISABLE == 0 { (low, low + stack.ss_size) } else { (0, 0) };
        #[cfg(target_arch = "x86_64")]
        let (stack_pointer, instruction) = (
            context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize,
            context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize,
        );
        #[cfg(target_arch = "aarch64")]
        let (stack_pointer, instruction) = (context.uc_mcontext.sp as usize, context.uc_mcontext.pc as usize);
        Interrupted { stack_pointer, instruction, alternate }
    }

    /// The bytes below the stack pointer that a function may use: the ABI's red zone.
    pub const RED_ZONE: usize = if cfg!(target_arch = "x86_64") { 128 } else { 0 };
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn names_and_numbers() {
        assert_eq!(
            [number("SIGUSR1"), number("USR1"), number("usr1")],
            [Some(libc::SIGUSR1), Some(libc::SIGUSR1), None]
        );
        assert_eq!([name(libc::SIGURG), name(40)], [Some("SIGURG"), None]);
        let free: Vec<_> = (-1..70).filter(|&signal| is_free(signal)).collect();
        assert!(free.contains(&libc::SIGURG) && free.contains(&34) && free.contains(&64));
        for none in [-1, 0, libc::SIGKILL, libc::SIGSEGV, 32, 33, 65] {
            assert!(!free.contains(&none), "{none}");
        }
    }

    static OURS: AtomicUsize = AtomicUsize::new(0);
    static OTHERS: AtomicUsize = AtomicUsize::new(0);
    static PLACE: AtomicUsize = AtomicUsize::new(0);
    const VALUE: usize = 0x1234_5678_9abc;

    extern "C" fn handler(_: c_int, info: *mut Info, context: *mut c_void) {
        // SAFETY: the kernel passed these arguments.
        let (ours, at) = unsafe { (is_sent_with(info, VALUE), Interrupted::from(context)) };
        if ours { &OURS } else { &OTHERS }.fetch_add(1, Ordering::SeqCst);
        PLACE.store(at.stack_pointer, Ordering::SeqCst);
        with_errno_kept(|| {
            // SAFETY: the call fails and sets errno.
            unsafe { libc::close(-1) };
        });
    }

    extern "C" fn before(_: c_int) {
        OTHERS.fetch_add(100, Ordering::SeqCst);
    }

    #[test]
    fn a_signal_is_told_by_its_value_and_others_are_passed_on() {
        let signal = libc::SIGRTMIN() + 3;
        let here = crate::threads::stack::thread_id();
        // SAFETY: the handlers call only async-signal-safe functions.
        unsafe {
            let mut old: Action = core::mem::zeroed();
            old.sa_sigaction = before as *const () as usize;
            assert_eq!(libc::sigaction(signal, &old, core::ptr::null_mut()), 0);
            let was = install(signal, handler).unwrap();
            assert!(calls(&current(signal).unwrap(), handler) && !calls(&was, handler));
            *libc::__errno_location() = 7;
            assert_eq!(send(here, signal, VALUE), Sent::Yes);
            assert_eq!(*libc::__errno_location(), 7);
            assert_eq!(send(here, signal, VALUE + 1), Sent::Yes);
            libc::raise(signal);
            assert_eq!((OURS.load(Ordering::SeqCst), OTHERS.load(Ordering::SeqCst)), (1, 2));
            pass_on(&was, signal, core::ptr::null_mut(), core::ptr::null_mut());
            assert_eq!(OTHERS.load(Ordering::SeqCst), 102);
        }
        let local = 0u8;
        let bounds = crate::threads::stack::StackBounds::current().unwrap();
        let place = PLACE.load(Ordering::SeqCst);
        assert!(bounds.low < place && place < bounds.high && &raw const local as usize > bounds.low);
        assert_eq!(send(1 << 30, signal, VALUE), Sent::NoThread);
    }
}
