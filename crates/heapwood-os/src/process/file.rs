//! Small files that the kernel makes up, read into buffers of a fixed size: what a heap is made by, and what is said when
//! memory is short, must not need memory.

use core::ffi::{CStr, c_int};

/// A file that is closed when this is dropped.
struct File(c_int);

impl File {
    fn open(path: &CStr) -> Option<File> {
        // SAFETY: the path ends with a zero byte.
        let file = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        (file >= 0).then_some(File(file))
    }

    /// Reads what comes next; how many bytes, 0 at the end.
    fn read(&self, to: &mut [u8]) -> Option<usize> {
        loop {
            // SAFETY: the buffer has room for N bytes.
            let got = unsafe { libc::read(self.0, to.as_mut_ptr().cast(), to.len()) };
            if got >= 0 {
                return Some(got as usize);
            }
            if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                return None;
            }
        }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: opened by `open`, and closed once.
        unsafe { libc::close(self.0) };
    }
}

/// The beginning of a file, as far as it fits; `None` if it cannot be read.
pub(crate) fn read<'b>(path: &CStr, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let file = File::open(path)?;
    let mut len = 0;
    while len < buffer.len() {
        match file.read(&mut buffer[len..])? {
            0 => break,
            more => len += more,
        }
    }
    Some(&buffer[..len])
}

/// The number that a file begins with.
pub(crate) fn number(path: &CStr) -> Option<u64> {
    let mut buffer = [0; 32];
    let text = read(path, &mut buffer)?;
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    core::str::from_utf8(&text[..digits]).ok()?.parse().ok()
}

/// Calls `each` with every line of a file that fits into the buffer, until it returns false; `None` if the file cannot
/// be read.
pub(crate) fn for_each_line(
    path: &CStr,
    buffer: &mut [u8],
    mut each: impl FnMut(&[u8]) -> bool,
) -> Option<()> {
    let file = File::open(path)?;
    // The bytes that are there belong to one line, of which some may have been dropped.
    let (mut len, mut dropped) = (0, false);
    loop {
        let more = file.read(&mut buffer[len..])?;
        let mut begin = 0;
        // What was there before has no line's end.
        while let Some(end) = buffer[len.max(begin)..len + more].iter().position(|&byte| byte == b'\n') {
            let end = len.max(begin) + end;
            if !dropped && !each(&buffer[begin..end]) {
                return Some(());
            }
            (begin, dropped) = (end + 1, false);
        }
        len += more;
        if more == 0 {
            if len > 0 && !dropped {
                each(&buffer[..len]);
            }
            return Some(());
        }
        buffer.copy_within(begin..len, 0);
        len -= begin;
        if len == buffer.len() {
            (len, dropped) = (0, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;

    fn file(name: &str, text: &str) -> (PathBuf, CString) {
        let path = std::env::temp_dir().join(format!("heapwood-os-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        (path, name)
    }

    #[test]
    fn lines_are_the_files_whatever_the_buffer() {
        let text = "a\n\nbcd\nthis line is longer\nfour\nlast";
        let (path, name) = file("lines", text);
        for room in 1..40 {
            let mut seen = Vec::new();
            let mut buffer = vec![0; room];
            for_each_line(&name, &mut buffer, |line| {
                seen.push(String::from_utf8(line.to_vec()).unwrap());
                true
            })
            .unwrap();
            // A line needs room for itself and its end.
            let fits: Vec<_> = text.lines().filter(|line| line.len() < room).collect();
            assert_eq!(seen, fits, "{room}");
        }
        let mut first = 0;
        for_each_line(&name, &mut [0; 16], |_| {
            first += 1;
            false
        });
        assert_eq!(first, 1);
        std::fs::remove_file(path).unwrap();
        assert_eq!(for_each_line(&name, &mut [0; 16], |_| true), None);
    }

    #[test]
    fn numbers_and_beginnings() {
        for (text, value) in [
            ("7\n", Some(7)),
            ("12 34", Some(12)),
            ("max\n", None),
            ("", None),
            ("99999999999999999999999", None),
        ] {
            let (path, name) = file("number", text);
            assert_eq!(number(&name), value, "{text}");
            let mut buffer = [0; 2];
            assert_eq!(read(&name, &mut buffer).unwrap(), &text.as_bytes()[..text.len().min(2)]);
            std::fs::remove_file(path).unwrap();
            assert_eq!(number(&name), None);
        }
    }
}
