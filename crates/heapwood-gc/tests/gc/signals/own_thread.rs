//! The heap's own thread and the program's signals: it has all of them blocked but those that the processor, a system
//! call of its own or a profiler raises.

use heapwood_gc_testing::*;

#[test]
fn the_librarys_thread_takes_none_of_the_programs_signals() {
    in_child(|| {
        let heap = heap(PRECISE);
        // The C library starts threads with everything blocked; this one runs when it waits for the first collection.
        let found = loop {
            let found = threads_called("heapwood-");
            assert!(!found.is_empty(), "a heap has a thread of its own, named when it has been made");
            if found.iter().all(|status| status.contains("State:\tS")) {
                break found;
            }
            std::thread::yield_now();
        };
        for status in found {
            let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap().trim();
            let blocked = u64::from_str_radix(mask, 16).unwrap();
            // SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGCHLD, SIGCONT, SIGURG,
            // SIGXCPU, SIGVTALRM, SIGWINCH, SIGIO, SIGPWR.
            for signal in [1, 2, 3, 6, 10, 12, 13, 14, 15, 17, 18, 23, 24, 26, 28, 29, 30] {
                assert_ne!(blocked >> (signal - 1) & 1, 0, "signal {signal} is not blocked: {mask}");
            }
            // SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGPROF, SIGSYS.
            for signal in [4, 5, 7, 8, 11, 27, 31] {
                assert_eq!(blocked >> (signal - 1) & 1, 0, "signal {signal} is blocked: {mask}");
            }
        }
        drop(heap);
    });
}
