//! `heapwood exec` learns from the library itself that a process has loaded it: when the heap is made, the library connects to the
//! socket that the variable HEAPWOOD_EXEC names, and waits until the command has looked at the process's mappings. At the process's
//! end it sends what its collections have cost. Nothing goes to standard error, which the command compares. Invariant: without the
//! variable nothing is opened, and at the end nothing is written to a descriptor that the program has opened since.

use crate::process::made;
use crate::report::log::Text;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use heapwood_os::threads::cancellation::uncancelled;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, IntoRawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The variable with the path of the command's socket.
const VARIABLE: &str = "HEAPWOOD_EXEC";

/// The connection's descriptor, the number of its socket, and the process that has opened it.
static FILE: AtomicI32 = AtomicI32::new(-1);
static SOCKET: AtomicU64 = AtomicU64::new(0);
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// The number of the file behind a descriptor.
fn number_of(file: i32) -> Option<u64> {
    // SAFETY: all zeros is a value of the structure, which the call fills.
    unsafe {
        let mut stat: libc::stat = core::mem::zeroed();
        (libc::fstat(file, &mut stat) == 0).then_some(stat.st_ino)
    }
}

/// The heap was made.
pub(crate) fn begin() {
    uncancelled(connect);
}

fn connect() {
    let Some(path) = std::env::var_os(VARIABLE) else { return };
    let Ok(mut stream) = UnixStream::connect(path) else { return };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    // SAFETY: it has no arguments.
    let process = unsafe { libc::getpid() };
    if stream.write_all(format!("{process}\n").as_bytes()).is_err() || stream.read_exact(&mut [0]).is_err() {
        return;
    }
    // A number that programs do not expect is left alone by most.
    // SAFETY: both are descriptors of this library.
    let file = unsafe {
        let low = stream.into_raw_fd();
        match libc::fcntl(low, libc::F_DUPFD_CLOEXEC, 500) {
            -1 => low,
            high => {
                libc::close(low);
                high
            }
        }
    };
    PROCESS.store(process, Relaxed);
    SOCKET.store(number_of(file).unwrap_or(0), Relaxed);
    FILE.store(file, Relaxed);
    heapwood_os::process::exit::at_exit(at_exit);
}

extern "C" fn at_exit() {
    let file = FILE.swap(-1, Relaxed);
    // SAFETY: it has no arguments.
    let is_ours = unsafe { libc::getpid() } == PROCESS.load(Relaxed);
    let (true, Some(heap)) = (is_ours && number_of(file) == Some(SOCKET.load(Relaxed)), made()) else {
        return;
    };
    let stats = heap.inspect().stats();
    let text = Text::of(format_args!(
        "collections {}\npause_max_ns {}\npause_p50_ns {}\npause_total_ns {}\nallocated_bytes \
         {}\nlive_bytes {}\ncommitted_bytes {}\nthreads {}\n",
        stats.collections,
        stats.pause_max_ns,
        stats.pause_p50_ns,
        stats.pause_total_ns,
        stats.allocated_bytes,
        stats.live_bytes,
        stats.committed_bytes,
        stats.threads,
    ));
    // SAFETY: the descriptor is this library's.
    let mut stream = unsafe { UnixStream::from_raw_fd(file) };
    let _ = uncancelled(|| stream.write_all(text.as_bytes()));
}
