//! Threads that signals stop, in programs that use signals themselves: handlers of the signal that stops threads, threads that end
//! without a word; and what is refused.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::settings::options::{Concurrent, Generational};
use heapwood_gc::{Config, Heap, HeapError};
use heapwood_gc_testing::*;
use std::os::unix::process::ExitStatusExt;
use std::sync::Barrier;

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// What is done at a signal from now on.
fn act(signal: c_int, handler: usize, flags: c_int) {
    // SAFETY: an action of zeros is valid; the handlers below do what a handler may.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        (action.sa_sigaction, action.sa_flags) = (handler, flags);
        assert_eq!(libc::sigaction(signal, &action, core::ptr::null_mut()), 0);
    }
}

fn handle_by(signal: c_int, handler: Handler, flags: c_int) {
    act(signal, handler as usize, flags | libc::SA_SIGINFO | libc::SA_RESTART);
}

// The program's own use of the signal that stops threads.

/// Threads that allocate, compute and collect, and `f` beside them, until it returns.
fn while_threads_stop(heap: &Heap, f: impl FnOnce()) {
    let (done, steps) = (AtomicBool::new(false), AtomicUsize::new(0));
    watched(&steps, || {
        std::thread::scope(|scope| {
            for t in 0..3 {
                let (done, steps) = (&done, &steps);
                scope.spawn(move || {
                    while !done.load(Ordering::Relaxed) {
                        build_and_check(heap, t, 2, 2);
                        steps.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            f();
            done.store(true, Ordering::Relaxed);
        });
    });
}

static RECEIVED: AtomicUsize = AtomicUsize::new(0);
static SUM: AtomicUsize = AtomicUsize::new(0);

extern "C" fn receive(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: what the kernel gave.
    let (info, value) = unsafe { (&*info, (*info).si_value().sival_ptr as usize) };
    assert!(signal == info.si_signo && info.si_code == libc::SI_QUEUE && !context.is_null());
    SUM.fetch_add(value, Ordering::SeqCst);
    RECEIVED.fetch_add(1, Ordering::SeqCst);
}

/// Its own signals, one after the other: the kernel keeps but one of a sort, unless they are real-time signals.
#[test]
fn a_program_gets_its_own_signals() {
    in_child(|| {
        for signal in [libc::SIGUSR2, libc::SIGRTMIN() + 5] {
            handle_by(signal, receive, 0);
            let heap = heap(BY_SIGNALS.stop_signal(signal as u32));
            RECEIVED.store(0, Ordering::SeqCst);
            SUM.store(0, Ordering::SeqCst);
            let mut sent = 0;
            while_threads_stop(&heap, || {
                let least = if is_thorough() { 500u64 } else { 100 };
                while (sent as u64) < least || heap.inspect().stats().collections < least {
                    sent += 1;
                    let value = libc::sigval { sival_ptr: sent as *mut c_void };
                    // SAFETY: takes no pointers that are followed.
                    assert_eq!(unsafe { libc::sigqueue(libc::getpid(), signal, value) }, 0);
                    while RECEIVED.load(Ordering::SeqCst) < sent {
                        std::thread::yield_now();
                    }
                }
            });
            assert_eq!(
                (RECEIVED.load(Ordering::SeqCst), SUM.load(Ordering::SeqCst)),
                (sent, sent * (sent + 1) / 2)
            );
        }
    });
}

/// A foreign signal ends a program that has done nothing about it.
#[test]
fn a_signal_that_ends_programs_ends_this() {
    let child = Child::new().run(|| {
        let heap = heap(BY_SIGNALS.stop_signal(libc::SIGUSR2 as u32));
        while_threads_stop(&heap, || {
            (0..50).for_each(|_| heap.collect().unwrap());
            println!("collected");
            // SAFETY: takes numbers.
            unsafe { libc::kill(libc::getpid(), libc::SIGUSR2) };
            std::thread::sleep(core::time::Duration::from_secs(60));
        });
    });
    assert_eq!(child.status.signal(), Some(libc::SIGUSR2), "{child}");
    assert!(child.out.contains("collected"), "{child}");
}

/// One that stops programs stops this, as often as it comes, and it goes on when it is told to, with the same handler.
#[test]
fn a_signal_that_stops_programs_stops_this() {
    use std::io::{BufRead, BufReader};
    let mut child = Child::new().start(|| {
        handle_by(libc::SIGCONT, go_on, 0);
        let heap = heap(BY_SIGNALS.stop_signal(libc::SIGTSTP as u32));
        while_threads_stop(&heap, || {
            for time in 0..2 {
                println!("collecting");
                while CONTINUED.load(Ordering::SeqCst) == time {
                    heap.collect().unwrap();
                }
                (0..50).for_each(|_| heap.collect().unwrap());
            }
        });
    });
    let (process, mut lines) = (child.id() as i32, BufReader::new(child.stdout.take().unwrap()).lines());
    for _ in 0..2 {
        let begun = lines.find(|line| line.as_ref().unwrap().contains("collecting"));
        assert!(begun.is_some(), "the child has ended");
        let mut status = 0;
        // SAFETY: the process is this one's child, and the word the call's to write.
        unsafe {
            assert_eq!(libc::kill(process, libc::SIGTSTP), 0);
            assert_eq!(libc::waitpid(process, &mut status, libc::WUNTRACED), process);
            assert!(libc::WIFSTOPPED(status), "{status:#x}");
            assert_eq!(libc::kill(process, libc::SIGCONT), 0);
        }
    }
    lines.for_each(|line| println!("{}", line.unwrap()));
    let status = child.wait().unwrap();
    assert!(status.success(), "the child ended with {status}");
}

static CONTINUED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn go_on(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    CONTINUED.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn a_signal_that_is_ignored_is_ignored() {
    in_child(|| {
        act(libc::SIGUSR2, libc::SIG_IGN, 0);
        let heap = heap(BY_SIGNALS.stop_signal(libc::SIGUSR2 as u32));
        while_threads_stop(&heap, || {
            for _ in 0..200 {
                // SAFETY: takes numbers.
                assert_eq!(unsafe { libc::kill(libc::getpid(), libc::SIGUSR2) }, 0);
                heap.collect().unwrap();
            }
        });
    });
}

/// A call that blocks, outside of any region, goes on over hundreds of stops.
#[test]
fn a_call_that_blocks_goes_on() {
    let heap = heap(BY_SIGNALS);
    let mut pipe = [0; 2];
    // SAFETY: the array is the call's to write.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    let ready = Barrier::new(2);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mutator = attach(&heap);
            let held = new(&mutator, node_type(&heap));
            put(held, 2, 77);
            ready.wait();
            let mut byte = 0u8;
            // SAFETY: the byte is the call's to write.
            let read = unsafe { libc::read(pipe[0], (&raw mut byte).cast(), 1) };
            assert_eq!((read, byte), (1, 5), "{}", std::io::Error::last_os_error());
            assert_eq!(get(std::hint::black_box(held), 2), 77);
        });
        ready.wait();
        let mutator = attach(&heap);
        for _ in 0..if is_thorough() { 500 } else { 100 } {
            mutator.collect().unwrap();
            new(&mutator, node_type(&heap));
        }
        // SAFETY: the byte lives through the call.
        assert_eq!(unsafe { libc::write(pipe[1], [5u8].as_ptr().cast(), 1) }, 1);
        reader.join().unwrap();
    });
    // SAFETY: they are this test's, and nobody's afterwards.
    unsafe { (libc::close(pipe[0]), libc::close(pipe[1])) };
}

// Threads that end without a word.

extern "C" fn vanish(heap: *mut c_void) -> *mut c_void {
    // SAFETY: the test's heap, which outlives the thread.
    let heap = unsafe { &*heap.cast::<Heap>() };
    let mutator = attach(heap);
    let node = node_type(heap);
    let mut frame = Framed::<1>::new(&mutator);
    for _ in 0..1000 {
        frame.set(0, new(&mutator, node));
    }
    // SAFETY: ends this thread, and nothing that it leaves is used. (Its frame's boxes are leaked.)
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    unreachable!("the thread has ended")
}

/// Nothing is run as such a thread ends: it is found missing when it is to be stopped, and is detached then. Its stack, its frames and
/// its record may be another's by then, and are not looked at.
#[test]
fn threads_that_vanish_are_detached() {
    in_child(|| {
        for verify in [false, true] {
            let heap = heap(BY_SIGNALS.verify(verify));
            for round in 0..20 {
                let mut thread = 0;
                let argument = (&raw const *heap).cast_mut().cast();
                // SAFETY: the function takes the heap, which outlives the thread.
                unsafe {
                    assert_eq!(libc::pthread_create(&mut thread, core::ptr::null(), vanish, argument), 0);
                    // The C library waits for the kernel's word, and then gives the stack to the next.
                    assert_eq!(libc::pthread_join(thread, core::ptr::null_mut()), 0);
                }
                if round % 3 != 0 {
                    build_and_check(&heap, round, 2, 1);
                    assert_eq!(heap.mutators(), 0, "the thread that vanished is detached");
                }
            }
            heap.collect().unwrap();
            assert_eq!((heap.mutators(), heap.inspect().stats().live_objects), (0, 0));
            assert_swept_and_valid(&heap);
        }
    });
}

// Between the steps of an allocation.

// What is refused.

fn refused(config: Config) -> String {
    match Heap::create(&heapwood_os::SYSTEM, config) {
        Ok(_) => panic!("not refused: {config:?}"),
        Err(HeapError::Kernel(e)) => panic!("refused by the kernel: {e}"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn what_signals_cannot_do_is_refused() {
    for config in [
        BY_SIGNALS,
        BY_SIGNALS.stop_signal(64),
        BY_SIGNALS.generational(Generational::Auto),
        BY_SIGNALS.concurrent(Concurrent::Auto),
    ] {
        let heap = heap(config);
        let mutator = attach(&heap);
        mutator.collect_young().unwrap();
        assert_eq!((heap.inspect().stats().collections, heap.inspect().stats().young_collections), (1, 0));
        assert_eq!(
            (mutator.incremental_marking().begin(), mutator.incremental_marking().step(1)),
            (Ok(false), Ok(false))
        );
        assert_eq!(mutator.incremental_marking().finish(), Ok(false));
    }
    let text = refused(BY_SIGNALS.generational(Generational::Always));
    assert!(text.contains("generational") && text.contains("signals") && text.contains("polls"), "{text}");
    let text = refused(BY_SIGNALS.concurrent(Concurrent::On).max_pause(0));
    assert!(text.contains("concurrent") && text.contains("signals") && text.contains("polls"), "{text}");
    let text = refused(BY_SIGNALS.conservative_stacks(false));
    assert!(text.contains("conservative_stacks") && text.contains("scan stacks"), "{text}");
    for signal in [libc::SIGSEGV, libc::SIGKILL, 32, 33] {
        let text = refused(BY_SIGNALS.stop_signal(signal as u32));
        assert!(text.contains(&format!("stop_signal is {signal}")) && text.contains("SIGURG"), "{text}");
        // Threads that poll need none.
        drop(heap(PRECISE.stop_signal(signal as u32)));
    }
    for signal in [0, 65] {
        let text = refused(BY_SIGNALS.stop_signal(signal));
        assert!(text.contains("stop_signal") && text.contains("64"), "{text}");
    }
}
