//! Why a thread does not answer a signal, as far as the kernel says: for a stop by signals that waits for it. From
//! /proc/self/task, into fixed buffers, as `task` does. Invariant: what is said is what the kernel said a moment ago, which
//! may have changed since; so it is a likely cause, and no more.

use crate::diagnose::task::{self, Path};
use crate::process::file;
use core::ffi::c_int;
use core::fmt::{self, Write};

/// The system calls that make a process. While one that shares its memory begins (vfork, posix_spawn), the kernel lets the
/// thread that made it take no signal.
#[cfg(target_arch = "x86_64")]
const STARTING: [libc::c_long; 3] = [libc::SYS_clone, libc::SYS_clone3, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const STARTING: [libc::c_long; 2] = [libc::SYS_clone, libc::SYS_clone3];

/// A cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlowCause {
    Stopped,
    Starts,
    Blocks(c_int),
}

impl SlowCause {
    /// Of a thread in this state, in this system call if it is in one, with these signals blocked, that does not answer one.
    fn of(state: Option<u8>, call: Option<u32>, blocked: u64, signal: c_int) -> Option<SlowCause> {
        let starts = call.is_some_and(|call| STARTING.contains(&call.into()));
        let blocks = (1..=64).contains(&signal) && blocked >> (signal - 1) & 1 != 0;
        match state {
            Some(b'T' | b't') => Some(SlowCause::Stopped),
            // The C library blocks all signals while it starts a process, which is not the cause.
            _ if starts => Some(SlowCause::Starts),
            _ if blocks => Some(SlowCause::Blocks(signal)),
            _ => None,
        }
    }
}

impl fmt::Display for SlowCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SlowCause::Stopped => write!(f, "it is stopped by a debugger or a signal"),
            SlowCause::Starts => write!(f, "it starts a process and answers when that has called exec"),
            SlowCause::Blocks(signal) => write!(f, "it blocks signal {signal}"),
        }
    }
}

/// Writes the likely cause why thread `number` does not answer `signal`, as part of a sentence, or nothing.
pub fn why_slow(number: u32, signal: c_int, f: &mut impl Write) -> fmt::Result {
    let (state, call) = (task::state_of(number), task::call_of(number));
    match SlowCause::of(state, call, blocked_by(number), signal) {
        Some(cause) => write!(f, "{cause}"),
        None => Ok(()),
    }
}

/// The signals that a thread blocks, a bit each; none if the kernel does not say.
fn blocked_by(number: u32) -> u64 {
    let mut blocked = 0;
    // Lines that do not fit are of processors and groups.
    let look = |line: &[u8]| {
        let digits = line.strip_prefix(b"SigBlk:").map(<[u8]>::trim_ascii);
        let mask = digits.and_then(|digits| u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        blocked = mask.unwrap_or(0);
        digits.is_none()
    };
    if let Some(path) = Path::of_task(number, "status") {
        file::for_each_line(path.as_c_str(), &mut [0; 256], look);
    }
    blocked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::stack::thread_id;
    use core::ffi::c_void;
    use core::sync::atomic::{AtomicU32, Ordering};

    const SIGNAL: c_int = libc::SIGURG;

    fn why(number: u32) -> String {
        let mut text = String::new();
        why_slow(number, SIGNAL, &mut text).unwrap();
        text
    }

    /// Runs `look` with the number of a thread that has run `prepare` and waits.
    fn beside(prepare: impl FnOnce() + Send, look: impl FnOnce(u32)) {
        let (number, leave) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                prepare();
                number.store(thread_id(), Ordering::Release);
                crate::threads::futex::wake(&number, 1);
                while leave.load(Ordering::Acquire) == 0 {
                    crate::threads::futex::wait(&leave, 0);
                }
            });
            while number.load(Ordering::Acquire) == 0 {
                crate::threads::futex::wait(&number, 0);
            }
            look(number.load(Ordering::Acquire));
            leave.store(1, Ordering::Release);
            crate::threads::futex::wake(&leave, 1);
        });
    }

    fn block(signal: c_int) {
        // SAFETY: the set is the calls' own to write; the signal exists, and is blocked in this thread alone.
        unsafe {
            let mut set = core::mem::zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, signal);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, core::ptr::null_mut());
        }
    }

    #[test]
    fn a_thread_that_blocks_the_signal() {
        beside(|| block(SIGNAL), |number| assert_eq!(why(number), format!("it blocks signal {SIGNAL}")));
        beside(|| block(libc::SIGUSR1), |number| assert_eq!(why(number), ""));
        beside(|| (), |number| assert_eq!(why(number), ""));
        assert_eq!(why(u32::MAX), "", "there is no such thread");
    }

    /// What a process made by CLONE_VFORK does: it waits for a byte, and ends.
    extern "C" fn read_and_end(pipe: *mut c_void) -> c_int {
        let mut byte = 0u8;
        // SAFETY: the pipe's end is open, and there is room for a byte; _exit ends this process alone.
        unsafe {
            libc::read(pipe as usize as c_int, (&raw mut byte).cast(), 1);
            libc::_exit(0)
        }
    }

    #[test]
    fn a_thread_that_starts_a_process() {
        let mut pipe = [0; 2];
        // SAFETY: there is room for two descriptors.
        assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
        let number = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut stack = vec![0u128; 4096];
                number.store(thread_id(), Ordering::Release);
                // SAFETY: the function runs on a stack of its own, while this thread waits, and makes two system calls.
                let child = unsafe {
                    let top = stack.as_mut_ptr().add(stack.len());
                    let flags = libc::CLONE_VFORK | libc::CLONE_VM | libc::SIGCHLD;
                    libc::clone(read_and_end, top.cast(), flags, pipe[0] as usize as *mut c_void)
                };
                // SAFETY: waits for the process just made, wanting no status.
                assert_eq!(unsafe { libc::waitpid(child, core::ptr::null_mut(), 0) }, child);
            });
            // It takes a moment to come so far; what is said before is nothing.
            let said = loop {
                let said = match number.load(Ordering::Acquire) {
                    0 => String::new(),
                    number => why(number),
                };
                if !said.is_empty() {
                    break said;
                }
                std::thread::yield_now();
            };
            assert_eq!(said, "it starts a process and answers when that has called exec");
            // SAFETY: writes one byte to the pipe's open end.
            assert_eq!(unsafe { libc::write(pipe[1], b"x".as_ptr().cast(), 1) }, 1);
        });
        for end in pipe {
            // SAFETY: opened above, and used no more.
            unsafe { libc::close(end) };
        }
    }

    #[test]
    fn the_likeliest_cause_of_several() {
        let (bit, clone) = (1 << (SIGNAL - 1), libc::SYS_clone3 as u32);
        let of = |state: u8, call, blocked| SlowCause::of(Some(state), call, blocked, SIGNAL);
        assert_eq!(of(b't', Some(clone), bit), Some(SlowCause::Stopped));
        assert_eq!(SlowCause::Stopped.to_string(), "it is stopped by a debugger or a signal");
        assert_eq!(of(b'T', None, 0), Some(SlowCause::Stopped));
        assert_eq!(of(b'D', Some(clone), bit), Some(SlowCause::Starts));
        assert_eq!(of(b'S', Some(libc::SYS_futex as u32), bit), Some(SlowCause::Blocks(SIGNAL)));
        assert_eq!(of(b'S', None, !bit), None);
        assert_eq!(SlowCause::of(None, None, u64::MAX, 0), None);
    }
}
