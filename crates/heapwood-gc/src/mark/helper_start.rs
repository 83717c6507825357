//! The start of helpers, which a collecting thread leaves to the heap's own thread. It must not start them itself: it may
//! collect in a callback of `dl_iterate_phdr`, with a lock of the loader's for which `dlopen` waits in another thread, which
//! has the one that `pthread_create` takes. So it asks, and waits for a while. Helpers that come later help with a later marking.
//!
//! Invariants: one thread asks at a time, the one that has the markings borrowed; the request and the helpers are its own
//! while nothing was asked, and once they are ready, else the heap's thread's; that serves in a slice without a fork, so a
//! forked child finds no start half done. A heap without a thread of its own starts helpers where it collects.

use super::stack::MarkStacks;
use super::workers::Workers;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use core::time::Duration;
use heapwood_os::process::clock::monotonic_ns;
use heapwood_os::threads::futex::{wait_for, wake};
use heapwood_os::threads::stack::thread_pointer;
use heapwood_os::{KernelRef, OsError};

/// A collection waits for its helpers no longer: only a thread that is kept by the loader takes as long.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Nothing was asked.
const IDLE: u32 = 0;
/// The heap's thread has not seen the request.
const ASKED: u32 = 1;
/// It starts helpers.
const STARTING: u32 = 2;
/// They, or the kernel's refusal, wait for the asker.
const READY: u32 = 3;

/// The heap's thread, which is no address: it is being started, and has not run yet.
const EXPECTED: usize = 1;

/// Which helpers are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct HelperRequest {
    pub(super) helpers: usize,
    /// The configured capacity of each mark stack, if any.
    pub(super) edges: Option<usize>,
    /// The bytes of the heap that each may have to mark.
    pub(super) reservation: usize,
}

impl HelperRequest {
    /// Starts them on this thread.
    pub(super) fn start(self, kernel: KernelRef) -> Result<Workers, OsError> {
        Workers::start(kernel, self.helpers, || MarkStacks::sized(kernel, self.edges, self.reservation))
    }
}

/// The outcome of a start: the helpers, unless the kernel has refused them.
pub(super) type Started = Option<Workers>;

/// Requests for helpers in one heap.
pub(crate) struct HelperStart {
    kernel: KernelRef,
    /// Changes with each step of a request; the asker sleeps on it.
    stage: AtomicU32,
    /// The thread pointer of the heap's thread while that serves, [`EXPECTED`] from before it is started, else 0.
    server: AtomicUsize,
    request: UnsafeCell<Option<HelperRequest>>,
    started: UnsafeCell<Started>,
}

// SAFETY: the stage says whose the cells are.
unsafe impl Sync for HelperStart {}

impl HelperStart {
    pub(crate) fn new(kernel: KernelRef) -> Self {
        let (request, started) = (UnsafeCell::new(None), UnsafeCell::new(None));
        HelperStart { kernel, stage: AtomicU32::new(IDLE), server: AtomicUsize::new(0), request, started }
    }

    /// Helpers as requested: started by the heap's thread, which `wake_server` wakes, or here if there is none. `None` if they are
    /// not ready after a while. The caller has the heap's markings borrowed.
    pub(super) fn ask(&self, request: HelperRequest, wake_server: impl FnOnce()) -> Option<Started> {
        if !self.is_served_elsewhere() {
            return Some(request.start(self.kernel).ok());
        }
        if self.stage.load(Ordering::Acquire) == IDLE {
            // SAFETY: nothing was asked, so the cell is the caller's.
            unsafe { *self.request.get() = Some(request) };
            self.stage.store(ASKED, Ordering::Release);
            wake_server();
            self.await_helpers();
        }
        self.take(request)
    }

    /// Whether a thread serves or will, and it is not the calling one.
    pub(crate) fn is_served_elsewhere(&self) -> bool {
        let server = self.server.load(Ordering::Relaxed);
        server != 0 && server != thread_pointer()
    }

    fn await_helpers(&self) {
        let until = monotonic_ns() + LONGEST_WAIT.as_nanos() as u64;
        loop {
            let stage = self.stage.load(Ordering::Acquire);
            let left = until.saturating_sub(monotonic_ns());
            if stage == READY || left == 0 {
                return;
            }
            wait_for(&self.stage, stage, Duration::from_nanos(left));
        }
    }

    /// What has been started, if it is ready. Helpers of another request end.
    fn take(&self, request: HelperRequest) -> Option<Started> {
        if self.stage.load(Ordering::Acquire) != READY {
            return None;
        }
        // SAFETY: both are ready, and so the caller's.
        let (asked, started) = unsafe { ((*self.request.get()).take(), (*self.started.get()).take()) };
        self.stage.store(IDLE, Ordering::Relaxed);
        (asked == Some(request)).then_some(started)
    }

    /// The heap's own thread is about to be started. The first collection may come before it runs.
    pub(crate) fn expect_server(&self) {
        self.server.store(EXPECTED, Ordering::Relaxed);
    }

    /// The calling thread, the heap's own, serves requests from now on.
    pub(crate) fn begin_serving(&self) {
        self.server.store(thread_pointer(), Ordering::Relaxed);
    }

    /// It serves no more, or could not be started.
    pub(crate) fn end_serving(&self) {
        self.server.store(0, Ordering::Relaxed);
    }

    /// Starts what was asked for. On the heap's thread, in a slice without a fork.
    pub(crate) fn serve(&self) {
        if self.stage.load(Ordering::Acquire) != ASKED {
            return;
        }
        self.stage.store(STARTING, Ordering::Relaxed);
        // SAFETY: the request is this thread's until it is ready.
        let request = unsafe { *self.request.get() };
        let started = request.and_then(|request| request.start(self.kernel).ok());
        // SAFETY: as above.
        unsafe { *self.started.get() = started };
        self.stage.store(READY, Ordering::Release);
        wake(&self.stage, 1);
    }

    /// In a forked child: no thread serves, and what was ready is the parent's.
    pub(crate) fn forget(&self) {
        self.end_serving();
        // SAFETY: the process has one thread, and no start is half done.
        unsafe { (*self.request.get(), *self.started.get()) = (None, None) };
        self.stage.store(IDLE, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use heapwood_os::SYSTEM;
    use std::sync::atomic::AtomicBool;

    const TWO: HelperRequest = HelperRequest { helpers: 2, edges: Some(64), reservation: 1 << 20 };

    fn has_helpers(started: Option<Started>) -> bool {
        started.flatten().is_some_and(|workers| workers.are_here())
    }

    #[test]
    fn without_a_server_the_asker_starts_them() {
        let starts = HelperStart::new(&SYSTEM);
        assert!(has_helpers(starts.ask(TWO, || unreachable!("nobody is to be woken"))));
        // Nor does the server ask itself.
        starts.begin_serving();
        assert!(has_helpers(starts.ask(TWO, || unreachable!("nobody is to be woken"))));
    }

    #[test]
    fn the_asker_starts_none_while_the_server_is_being_started() {
        let starts = HelperStart::new(&SYSTEM);
        starts.expect_server();
        assert!(starts.ask(TWO, || ()).is_none());
        starts.begin_serving();
        starts.serve();
        starts.expect_server();
        assert!(has_helpers(starts.ask(TWO, || unreachable!("they are here"))));
        // The kernel has refused it.
        starts.end_serving();
        assert!(has_helpers(starts.ask(TWO, || unreachable!("nobody is to be woken"))));
    }

    #[test]
    fn helpers_that_come_late_are_there_at_the_next_request() {
        let starts = HelperStart::new(&SYSTEM);
        let late = |request| {
            std::thread::scope(|scope| scope.spawn(|| starts.begin_serving()).join().unwrap());
            assert!(starts.ask(request, || ()).is_none(), "nobody has started any");
            assert!(starts.ask(request, || unreachable!("it was asked before")).is_none());
            starts.serve();
            assert_eq!(starts.stage.load(Ordering::Relaxed), READY);
        };
        late(TWO);
        assert!(has_helpers(starts.ask(TWO, || unreachable!("they are here"))));
        // Others are wanted now: those end, and the next request is new.
        late(TWO);
        let one = HelperRequest { helpers: 1, ..TWO };
        assert!(starts.ask(one, || unreachable!()).is_none());
        late(one);
        // A child begins anew, where it collects.
        starts.forget();
        assert!(has_helpers(starts.ask(one, || unreachable!())));
    }

    #[test]
    fn the_server_starts_what_is_asked_for() {
        let starts = &HelperStart::new(&SYSTEM);
        let (here, end, woken) = (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                starts.begin_serving();
                here.store(true, Ordering::Release);
                while !end.load(Ordering::Relaxed) {
                    starts.serve();
                    std::thread::yield_now();
                }
            });
            while !here.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let mut started = starts.ask(TWO, || woken.store(true, Ordering::Relaxed));
            // On a machine that is busy they may come late.
            while started.is_none() {
                std::thread::yield_now();
                started = starts.ask(TWO, || ());
            }
            assert!(has_helpers(started) && woken.load(Ordering::Relaxed));
            end.store(true, Ordering::Relaxed);
        });
    }
}
