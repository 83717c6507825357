//! The state of one thread of this process, in a few words, for the report of a slow stop. It comes from
//! /proc/self/task, read into fixed buffers: the reporting thread may have stopped a thread that holds malloc's lock.
//! Invariant: nothing here allocates.

use crate::process::file;
use core::ffi::CStr;
use core::fmt::{self, Write};

/// Writes the name of thread `number` (see [`crate::threads::stack::thread_id`]) and its state, as far as the kernel
/// reports it: `thread 1234 (worker), asleep in system call 202 (futex_wait_queue)`.
pub fn describe_task(number: u32, f: &mut impl Write) -> fmt::Result {
    describe_name(number, f)?;
    let Some(state) = state_of(number) else {
        // Without /proc it is unknown whether the thread exists.
        return match read(std::process::id(), "stat", &mut [0; 1]) {
            Some(_) => f.write_str(", which has ended"),
            None => Ok(()),
        };
    };
    f.write_str(", ")?;
    f.write_str(match state {
        b'R' => "running",
        b'S' => "asleep",
        b'D' => "in an uninterruptible wait",
        b'T' | b't' => "stopped by a signal or a debugger",
        b'Z' | b'X' => "ended",
        b'I' => "idle",
        _ => "in an unknown state",
    })?;
    if let Some(call) = call_of(number) {
        write!(f, " in system call {call}")?;
    }
    let mut text = [0; 64];
    // The kernel reports "0" for a thread that does not wait.
    if let Some(place) = read(number, "wchan", &mut text).filter(|&place| !place.is_empty() && place != b"0")
    {
        f.write_str(" (")?;
        write_plain(place, f)?;
        f.write_char(')')?;
    }
    Ok(())
}

/// Writes the number of a thread, and its name if it exists: `thread 1234 (worker)`.
pub fn describe_name(number: u32, f: &mut impl Write) -> fmt::Result {
    write!(f, "thread {number}")?;
    let mut text = [0; 64];
    if let Some(name) = read(number, "comm", &mut text) {
        f.write_str(" (")?;
        write_plain(name, f)?;
        f.write_char(')')?;
    }
    Ok(())
}

/// Whether a thread of this process has a number.
pub fn exists(number: u32) -> bool {
    state_of(number).is_some()
}

/// The letter of a thread's state, if the thread exists.
pub(crate) fn state_of(number: u32) -> Option<u8> {
    state(read(number, "stat", &mut [0; 256])?)
}

/// The number of the system call that a thread waits in.
pub(crate) fn call_of(number: u32) -> Option<u32> {
    leading_number(read(number, "syscall", &mut [0; 128])?)
}

/// The first line of a file about a thread.
fn read<'b>(number: u32, name: &str, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let text = file::read(Path::of_task(number, name)?.as_c_str(), buffer)?;
    text.split(|&byte| byte == b'\n').next()
}

/// A path, and its zero byte.
pub(crate) struct Path {
    bytes: [u8; 64],
    len: usize,
}

impl Path {
    /// The path of a file about a thread.
    pub(crate) fn of_task(number: u32, name: &str) -> Option<Path> {
        let mut path = Path { bytes: [0; 64], len: 0 };
        write!(path, "/proc/self/task/{number}/{name}").ok()?;
        Some(path)
    }

    pub(crate) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).expect("one byte stays zero")
    }
}

impl Write for Path {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        // The last byte stays zero.
        if s.len() >= room.len() {
            return Err(fmt::Error);
        }
        room[..s.len()].copy_from_slice(s.as_bytes());
        self.len += s.len();
        Ok(())
    }
}

/// The letter in `1234 (name) S 1 ...`. The name may contain any character.
fn state(stat: &[u8]) -> Option<u8> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    stat.get(end + 2).copied()
}

/// The number in `202 0x7f.. ..`. Neither `running` nor -1, which means no system call, is one.
fn leading_number(text: &[u8]) -> Option<u32> {
    let word = text.split(|&byte| byte == b' ').next()?;
    core::str::from_utf8(word).ok()?.parse().ok()
}

/// A program may give its threads any name, so control characters are replaced.
fn write_plain(text: &[u8], f: &mut impl Write) -> fmt::Result {
    text.iter().try_for_each(|&byte| {
        let plain = byte.is_ascii_graphic() || byte == b' ';
        f.write_char(if plain { byte as char } else { '?' })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    fn described(number: u32) -> String {
        let mut text = String::new();
        describe_task(number, &mut text).unwrap();
        text
    }

    #[test]
    fn a_thread_that_waits() {
        let (number, leave) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            let wait = || {
                number.store(crate::threads::stack::thread_id(), Ordering::Release);
                while leave.load(Ordering::Acquire) == 0 {
                    crate::threads::futex::wait_for(&leave, 0, Duration::from_secs(1000));
                }
            };
            std::thread::Builder::new().name("napper\x1b[1m".into()).spawn_scoped(scope, wait).unwrap();
            let text = loop {
                let text = described(number.load(Ordering::Acquire));
                // The thread needs a moment to fall asleep.
                if text.contains("asleep") && text.contains(&libc::SYS_futex.to_string()) {
                    break text;
                }
                std::thread::yield_now();
            };
            let thread = number.load(Ordering::Acquire);
            let begin = format!("thread {thread} (napper?[1m), asleep in system call {}", libc::SYS_futex);
            assert!(text.starts_with(&begin), "{text}");
            leave.store(1, Ordering::Release);
            crate::threads::futex::wake(&leave, 1);
        });
    }

    #[test]
    fn this_thread_and_none() {
        let text = described(crate::threads::stack::thread_id());
        assert!(text.starts_with(&format!("thread {} (", crate::threads::stack::thread_id())), "{text}");
        assert!(text.contains("), running"), "{text}");
        assert_eq!(described(u32::MAX), format!("thread {}, which has ended", u32::MAX));
        assert!(exists(crate::threads::stack::thread_id()) && !exists(u32::MAX));
    }

    #[test]
    fn odd_texts() {
        assert_eq!(state(b"12 (a) b) c) S 1 2"), Some(b'S'));
        for odd in [&b""[..], b"12", b"12 (x", b"12 (x)", b"12 (x) "] {
            assert_eq!(state(odd), None);
        }
        assert_eq!(leading_number(b"202 0x7f 0x1"), Some(202));
        for odd in [&b"running"[..], b"-1 0x7f 0x1", b"", b"\xff"] {
            assert_eq!(leading_number(odd), None);
        }
    }

    #[test]
    fn a_writer_that_refuses_is_heard() {
        struct Full;
        impl Write for Full {
            fn write_str(&mut self, _: &str) -> fmt::Result {
                Err(fmt::Error)
            }
        }
        assert!(describe_task(crate::threads::stack::thread_id(), &mut Full).is_err());
    }
}
