//! The stack of a process's first thread, on which the test harness runs no tests: its bounds are read once, follow
//! `ulimit -s` when it is raised, and are not those of a child that another thread forks.

use heapwood_os::threads::stack::{StackBounds, stack_end, thread_pointer};
use std::hint::black_box;

fn limit(resource: libc::__rlimit_resource_t, bytes: libc::rlim_t) -> libc::rlim_t {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit writes the structure, and setrlimit reads it.
    unsafe {
        assert_eq!(libc::getrlimit(resource, &mut limit), 0);
        let before = std::mem::replace(&mut limit.rlim_cur, bytes);
        assert_eq!(libc::setrlimit(resource, &limit), 0);
        before
    }
}

fn here() -> usize {
    let local = 0u8;
    black_box(&raw const local) as usize
}

/// The stack pointer below so many frames of a KiB.
#[inline(never)]
fn deep(frames: usize) -> usize {
    let frame = black_box([0u8; 1024]);
    if frames == 0 { here() } else { deep(frames - 1) + black_box(frame[0] as usize) }
}

/// Runs `child` in a forked child, and tells whether it returned true.
fn forked(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child looks at its own stack and ends.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            libc::_exit(if child() { 7 } else { 1 });
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7
    }
}

fn surrounds(bounds: StackBounds) -> bool {
    bounds.low < here() && here() < bounds.high
}

fn main() {
    const SMALL: usize = 512 << 10;
    let usual = limit(libc::RLIMIT_STACK, SMALL as libc::rlim_t);
    let first = StackBounds::current().unwrap();
    assert!(surrounds(first) && first.high - first.low <= SMALL + (64 << 10), "{first:x?}");
    assert_eq!(stack_end(), Some(first.high));

    // No file can be opened now, so it is not read again.
    let files = limit(libc::RLIMIT_NOFILE, 0);
    assert_eq!(StackBounds::current(), Some(first));
    assert!(forked(|| StackBounds::current() == Some(first)), "the child's stack is a copy");
    limit(libc::RLIMIT_NOFILE, files);

    // Raised to where it was, which the kernel has left room for.
    limit(libc::RLIMIT_STACK, usual);
    let mut bounds = first;
    let low = deep(1024);
    assert!(low < first.low && first.high - low > 1 << 20);
    assert!(bounds.contains(low), "{low:x} is on the stack now");
    assert!(bounds.low <= low && bounds.high == first.high);
    assert_eq!(StackBounds::current(), Some(bounds), "what was found is remembered");
    let heap = Box::new(0u8);
    assert!(!bounds.contains(&raw const *heap as usize));

    let pointer = thread_pointer();
    std::thread::spawn(move || {
        assert_ne!(thread_pointer(), pointer);
        let mine = StackBounds::current().unwrap();
        assert!(surrounds(mine) && !surrounds(bounds));
        // The child has one thread, of the process's number, on this thread's stack.
        assert!(forked(|| surrounds(StackBounds::current().unwrap())), "the child is on this stack");
    })
    .join()
    .unwrap();
    assert_eq!(StackBounds::current(), Some(bounds));
}
