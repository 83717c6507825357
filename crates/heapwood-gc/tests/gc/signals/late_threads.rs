//! Threads that no signal can stop for a while: a collection waits for them, says on stderr for whom, and goes on when they can be
//! stopped again. Each is a process of its own, which is told to go on when it has said so.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_gc::{Heap, Mutator};
use heapwood_gc_testing::*;
use std::io::{BufRead, BufReader, Read, Write};

/// Runs `body` in a process of its own until that says that a collection waits for its late thread, tells it to go on, and waits until
/// it has ended; the line.
#[track_caller]
fn waits_and_goes_on(body: impl FnOnce()) -> String {
    let mut child = Child::new().start(body);
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line = stderr.find(|line| line.starts_with("heapwood: a collection waits for thread "));
    // One that has ended without a word has an end that tells more.
    let _ = child.stdin.take().unwrap().write_all(b"go on\n");
    let rest: Vec<_> = stderr.collect();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success(), "the child ended with {status}: {out}\n{rest:?}");
    let line = line.unwrap_or_else(|| panic!("it has not said for whom it waits: {out}\n{rest:?}"));
    let number = out.split_once("late thread ").unwrap().1.split_once('.').unwrap().0;
    assert!(line.contains(&format!("thread {number} (")), "{line}, and the late thread is {number}");
    line
}

/// Starts a thread of this name that is attached and makes itself late: `late` calls what it is given when it is. Another collects
/// meanwhile, and `go_on` is called when the process is told to go on.
fn collect_while_late(
    name: &str,
    late: impl FnOnce(&Mutator, &dyn Fn()) + Send,
    go_on: impl FnOnce() + Send,
) {
    let heap: &Heap = &heap(BY_SIGNALS);
    let (is_late, collected) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (is_late, collected) = (&is_late, &collected);
        let body = move || {
            let mutator = attach(heap);
            let held = new(&mutator, node_type(heap));
            put(held, 2, 99);
            println!("late thread {}.", mutator.thread());
            late(&mutator, &|| is_late.store(true, Ordering::SeqCst));
            // Nothing but a signal stops it here.
            while !collected.load(Ordering::SeqCst) {
                core::hint::spin_loop();
            }
            assert_eq!(get(std::hint::black_box(held), 2), 99);
        };
        std::thread::Builder::new().name(name.into()).spawn_scoped(scope, body).unwrap();
        scope.spawn(move || {
            std::io::stdin().lock().read_line(&mut String::new()).unwrap();
            go_on();
        });
        wait_for(is_late);
        let mutator = attach(heap);
        mutator.collect().unwrap();
        collected.store(true, Ordering::SeqCst);
        (0..1000).for_each(|_| put(new(&mutator, node_type(heap)), 2, 1));
        mutator.collect().unwrap();
    });
}

#[test]
fn a_collection_waits_for_a_thread_that_blocks_all_signals() {
    let line = waits_and_goes_on(|| {
        let go_on = AtomicBool::new(false);
        let late = |_: &Mutator, is_late: &dyn Fn()| {
            // SAFETY: the sets live through the calls.
            unsafe {
                let (mut all, mut before) = (core::mem::zeroed(), core::mem::zeroed());
                libc::sigfillset(&mut all);
                assert_eq!(libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before), 0);
                is_late();
                wait_for(&go_on);
                assert_eq!(libc::pthread_sigmask(libc::SIG_SETMASK, &before, core::ptr::null_mut()), 0);
            }
        };
        collect_while_late("blocks-all", late, || go_on.store(true, Ordering::SeqCst));
    });
    assert!(line.contains(" (blocks-all)") && line.contains("SIGURG (23)"), "{line}");
}

/// A program may block all signals before it makes a heap, and its threads inherit that.
#[test]
fn a_thread_that_attaches_takes_the_signal_that_it_had_blocked() {
    let heap: &Heap = &heap(BY_SIGNALS);
    let (is_there, collected) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: the set lives through the calls.
            unsafe {
                let mut all = core::mem::zeroed();
                libc::sigfillset(&mut all);
                assert_eq!(libc::pthread_sigmask(libc::SIG_SETMASK, &all, core::ptr::null_mut()), 0);
            }
            let mutator = attach(heap);
            let held = new(&mutator, node_type(heap));
            put(held, 2, 99);
            is_there.store(true, Ordering::SeqCst);
            // Nothing but a signal stops it here.
            while !collected.load(Ordering::SeqCst) {
                core::hint::spin_loop();
            }
            assert_eq!(get(std::hint::black_box(held), 2), 99);
        });
        wait_for(&is_there);
        attach(heap).collect().unwrap();
        collected.store(true, Ordering::SeqCst);
    });
}

/// A child that shares the memory and keeps the thread waiting until it ends or becomes another program, as vfork's and
/// posix_spawn's do.
#[test]
fn a_collection_waits_for_a_thread_whose_child_borrows_its_memory() {
    let line = waits_and_goes_on(|| {
        let mut pipe = [0; 2];
        // SAFETY: the array is the call's to write.
        assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
        let late = |_: &Mutator, is_late: &dyn Fn()| {
            let mut stack = vec![0usize; 8192];
            let end = stack.as_mut_ptr_range().end.cast();
            is_late();
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            let mut status = -1;
            // SAFETY: the stack lives until the child has ended, and what that calls is a system call.
            unsafe {
                let child = libc::clone(read_a_byte, end, flags, pipe[0] as *mut c_void);
                assert!(child > 0, "{}", std::io::Error::last_os_error());
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
            }
            assert_eq!(status, 0);
        };
        // SAFETY: the byte lives through the call.
        let write = move || assert_eq!(unsafe { libc::write(pipe[1], [0u8].as_ptr().cast(), 1) }, 1);
        collect_while_late("starts-another", late, write);
    });
    assert!(line.contains(" (starts-another)"), "{line}");
}

extern "C" fn read_a_byte(pipe: *mut c_void) -> c_int {
    let mut byte = 0u8;
    // SAFETY: the byte is the call's to write.
    (unsafe { libc::read(pipe as c_int, (&raw mut byte).cast(), 1) } != 1) as c_int
}

#[test]
fn a_collection_waits_where_the_program_has_replaced_the_handler() {
    let line = waits_and_goes_on(|| {
        let (go_on, before) = (AtomicBool::new(false), std::sync::Mutex::new(None));
        let late = |_: &Mutator, is_late: &dyn Fn()| {
            // SAFETY: actions of zeros are valid, and SIG_DFL ignores this signal.
            unsafe {
                let (none, mut ours): (libc::sigaction, libc::sigaction) = core::mem::zeroed();
                assert_eq!(libc::sigaction(libc::SIGURG, &none, &mut ours), 0);
                *before.lock().unwrap() = Some(ours);
            }
            is_late();
            while !go_on.load(Ordering::SeqCst) {
                core::hint::spin_loop();
            }
        };
        let put_back = || {
            let ours = before.lock().unwrap().take().unwrap();
            // SAFETY: what was there before.
            assert_eq!(unsafe { libc::sigaction(libc::SIGURG, &ours, core::ptr::null_mut()) }, 0);
            go_on.store(true, Ordering::SeqCst);
        };
        collect_while_late("computes", late, put_back);
    });
    assert!(line.contains(" (computes)") && line.contains("has another handler now"), "{line}");
}
