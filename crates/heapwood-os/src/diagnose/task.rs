//! The name and the state of one thread of this process, for the report of a slow stop. They come from /proc/self/task,
//! read into fixed buffers: the reporting thread may have stopped a thread that holds malloc's lock. Invariant: nothing
//! here allocates.

use crate::process::file;
use core::ffi::CStr;
use core::fmt::{self, Write};

/// Writes thread `number` (see [`crate::threads::stack::thread_id`]) with its name and its state, if the kernel reports
/// them: `thread 1234 (worker), asleep`.
pub fn describe_task(number: u32, f: &mut impl Write) -> fmt::Result {
    write!(f, "thread {number}")?;
    let mut text = [0; 256];
    let Some((name, state)) = read(number, &mut text).and_then(name_and_state) else { return Ok(()) };
    f.write_str(" (")?;
    // A program may give its threads any name, so control characters are replaced.
    for &byte in name {
        f.write_char(if byte.is_ascii_graphic() || byte == b' ' { byte as char } else { '?' })?;
    }
    f.write_str("), ")?;
    f.write_str(match state {
        b'R' => "running",
        b'S' => "asleep",
        b'D' => "in an uninterruptible wait",
        b'T' | b't' => "stopped by a signal or a debugger",
        _ => "in an unknown state",
    })
}

/// The beginning of the kernel's line about a thread.
fn read(number: u32, buffer: &mut [u8]) -> Option<&[u8]> {
    let mut path = [0; 64];
    // The last byte stays zero.
    std::io::Write::write_fmt(&mut &mut path[..63], format_args!("/proc/self/task/{number}/stat")).ok()?;
    file::read(CStr::from_bytes_until_nul(&path).ok()?, buffer)
}

/// The name and the letter in `1234 (name) S 1 ..`. The name may contain any character.
fn name_and_state(stat: &[u8]) -> Option<(&[u8], u8)> {
    let begin = stat.iter().position(|&byte| byte == b'(')?;
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    Some((stat.get(begin + 1..end)?, *stat.get(end + 2)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::stack::thread_id;

    fn described(number: u32) -> String {
        let mut text = String::new();
        describe_task(number, &mut text).unwrap();
        text
    }

    #[test]
    fn a_thread_is_told_by_its_name_and_state() {
        let look = || {
            assert_eq!(described(thread_id()), format!("thread {} (worker?[1m), running", thread_id()));
        };
        let worker = std::thread::Builder::new().name("worker\x1b[1m".into());
        std::thread::scope(|scope| worker.spawn_scoped(scope, look).unwrap().join().unwrap());
        assert_eq!(described(u32::MAX), format!("thread {}", u32::MAX), "there is none");
    }

    #[test]
    fn odd_lines() {
        assert_eq!(name_and_state(b"12 (a) b) c) S 1 2"), Some((&b"a) b) c"[..], b'S')));
        for odd in [&b""[..], b"12", b"12 (x", b"12 (x)", b"12 (x) ", b")("] {
            assert_eq!(name_and_state(odd), None);
        }
    }
}
