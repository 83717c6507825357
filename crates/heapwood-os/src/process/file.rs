//! Files without allocation: small ones of the kernel's are read into fixed buffers while a heap is created, and by errors when
//! memory is short; reports are written. Invariants: a line that does not fit into the buffer is left out; nothing here is a
//! cancellation point.

use crate::threads::cancellation::uncancelled;
use core::ffi::{CStr, c_int};

/// An open file, closed on drop.
#[derive(Debug)]
pub(crate) struct File(c_int);

impl File {
    /// Opens a file to be read; `None` if it cannot be.
    pub(crate) fn open(path: &CStr) -> Option<File> {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        // SAFETY: the path ends with a zero byte.
        let file = uncancelled(|| unsafe { libc::open(path.as_ptr(), flags) });
        (file >= 0).then_some(File(file))
    }

    /// Its descriptor.
    pub(crate) fn descriptor(&self) -> c_int {
        self.0
    }

    /// Reads the next bytes; returns their number, 0 at the end.
    fn read(&self, to: &mut [u8]) -> Option<usize> {
        loop {
            // SAFETY: the buffer has room for the requested bytes.
            let got = uncancelled(|| unsafe { libc::read(self.0, to.as_mut_ptr().cast(), to.len()) });
            if got >= 0 {
                return Some(got as usize);
            }
            if error() != libc::EINTR {
                return None;
            }
        }
    }

    /// Reads bytes from an offset on; returns their number.
    ///
    /// # Errors
    /// The kernel's error number.
    pub(crate) fn read_at(&self, to: &mut [u8], offset: libc::off_t) -> Result<usize, c_int> {
        // SAFETY: the buffer has room for the requested bytes.
        let got = uncancelled(|| unsafe { libc::pread(self.0, to.as_mut_ptr().cast(), to.len(), offset) });
        usize::try_from(got).map_err(|_| error())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        close(self.0);
    }
}

/// The error number of the calling thread's last call.
pub(crate) fn error() -> c_int {
    // SAFETY: __errno_location returns this thread's valid errno slot.
    unsafe { *libc::__errno_location() }
}

/// Opens a file to which what is written is added, and which is made if it is not there.
///
/// # Errors
/// The kernel's error number.
pub fn open_log(path: &CStr) -> Result<c_int, c_int> {
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero byte.
    let file = uncancelled(|| unsafe { libc::open(path.as_ptr(), flags, 0o666) });
    if file >= 0 { Ok(file) } else { Err(error()) }
}

/// Writes bytes to a descriptor, in one piece if the kernel takes it.
pub fn write(file: c_int, bytes: &[u8]) {
    // SAFETY: so many bytes can be read.
    uncancelled(|| unsafe { libc::write(file, bytes.as_ptr().cast(), bytes.len()) });
}

/// Closes a descriptor that nobody uses any more.
pub fn close(file: c_int) {
    // SAFETY: the call takes no pointer.
    uncancelled(|| unsafe { libc::close(file) });
}

/// The beginning of a file, as much as fits; `None` if it cannot be read.
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
    // The bytes read so far belong to one line, whose beginning may have been dropped.
    let (mut len, mut dropped) = (0, false);
    loop {
        let more = file.read(&mut buffer[len..])?;
        let mut begin = 0;
        // The bytes of earlier reads contain no line end.
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
    fn lines_are_the_files_for_any_buffer() {
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
            // A line needs room for its bytes and its end.
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
}
