//! Resource usage of the process, and the resources of process and machine. Nothing is allocated: a heap reads these
//! numbers while it is created, perhaps when memory is short. Invariant: a number that cannot be read sets no limit.

use crate::memory::page::page_size;
use crate::process::cgroup::{self, MachineMemory};
use crate::process::file;

/// The operating system's resource usage of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU seconds in user mode.
    pub user_s: f64,
    /// CPU seconds in the kernel.
    pub sys_s: f64,
    /// The largest resident set so far, in bytes.
    pub max_rss_bytes: u64,
    /// Page faults served without reading a disk.
    pub minor_faults: u64,
}

/// The usage of this process so far.
pub fn usage() -> Usage {
    // SAFETY: getrusage fills the zeroed structure.
    let r = unsafe {
        let mut r: libc::rusage = core::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut r);
        r
    };
    Usage::from(&r)
}

impl From<&libc::rusage> for Usage {
    fn from(r: &libc::rusage) -> Self {
        let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
        Usage {
            user_s: seconds(r.ru_utime),
            sys_s: seconds(r.ru_stime),
            max_rss_bytes: r.ru_maxrss as u64 * 1024,
            minor_faults: r.ru_minflt as u64,
        }
    }
}

/// The machine's memory in bytes.
pub fn physical_memory() -> u64 {
    // SAFETY: sysconf takes a number and returns one.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    pages.max(0) as u64 * size.max(0) as u64
}

/// The machine's swap space in bytes.
fn swap_space() -> u64 {
    // SAFETY: sysinfo fills the zeroed structure.
    unsafe {
        let mut info: libc::sysinfo = core::mem::zeroed();
        libc::sysinfo(&mut info);
        info.totalswap * info.mem_unit as u64
    }
}

/// The bytes of memory and swap that the control groups of this process allow; the kernel kills a process that exceeds
/// them. `None` if they allow all of the machine's memory, or cannot be read.
pub fn memory_limit() -> Option<u64> {
    let machine = MachineMemory { memory: physical_memory(), swap: swap_space() };
    cgroup::memory_limit(c"/proc/self/cgroup", c"/proc/self/mountinfo", machine)
}

/// The resident memory of the process, in bytes; `None` without /proc.
pub fn resident_memory() -> Option<u64> {
    let mut buffer = [0; 64];
    let text = core::str::from_utf8(file::read(c"/proc/self/statm", &mut buffer)?).ok()?;
    // The second number.
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_size() as u64)
}

/// The bytes of address space the process may have, if limited (`ulimit -v`).
pub fn address_space_limit() -> Option<u64> {
    // SAFETY: getrlimit writes the structure.
    limit(|to| unsafe { libc::getrlimit(libc::RLIMIT_AS, to) })
}

/// The bytes of writable memory that the process may have, if limited (`ulimit -d`). Reservations do not count.
pub fn data_limit() -> Option<u64> {
    // SAFETY: getrlimit writes the structure.
    limit(|to| unsafe { libc::getrlimit(libc::RLIMIT_DATA, to) })
}

fn limit(get: impl FnOnce(&mut libc::rlimit) -> i32) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let r = get(&mut limit);
    (r == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
