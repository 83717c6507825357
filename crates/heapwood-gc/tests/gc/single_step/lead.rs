//! A thread is led through a window of operations one instruction at a time, by the trap flag, and a collector asks it to stop before
//! each of them.
//!
//! After each instruction the kernel raises SIGTRAP. Its handler asks the collector, another thread, for a collection, and waits until
//! the signal that is to stop the thread is pending (the handler has it blocked), or the collection has ended without one, or the
//! collector sleeps: then it waits for the thread, which is in a no-preempt region or holds a lock. So when the handler returns, the kernel
//! delivers the pending signal at exactly the instruction that is next, before that or any other.

use super::report::Report;
use core::arch::asm;
use core::cell::{Cell, UnsafeCell};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use heapwood_gc::{Heap, Interruption};

/// Steps that a window may have, and lines about signals.
const MOST: usize = 1 << 21;

/// At an instruction that repeats itself the collector is asked once in so many times.
const SELDOM: usize = 1021;

/// After a collection that had to wait for the thread nobody asks for some steps, and for so many more each time, until it has been
/// stopped: else the thread, on its way out of where it waited, would be asked again before it is out, for ever.
const PATIENCE: usize = 13;

/// While a collection waits for the thread, it is looked at closely only once in so many steps.
const LOOKS: usize = 16;

/// What a step began with, before its instruction: where it was, and how far the signals had come.
#[derive(Clone, Copy, Default)]
pub(crate) struct Step {
    pub(crate) at: usize,
    /// Lines about signals, before the handler of this trap returned.
    pub(crate) noted: u32,
    pub(crate) began_with: Began,
}

/// How things stood as the handler returned.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Began {
    /// Nobody was asked for a collection.
    #[default]
    Quiet,
    /// A signal was pending.
    Pending,
    /// The collection had ended, without a signal that was still to come.
    Collected,
    /// The collector slept, waiting for this thread.
    Waiting,
}

/// One window, as its thread's handler and the collector share it.
struct Window {
    signal: c_int,
    /// One in so many steps asks.
    every: usize,
    asked: AtomicU64,
    begun: AtomicU64,
    done: AtomicU64,
    over: AtomicBool,
    /// /proc's line about the collector's thread; -1 until it is open.
    collector: AtomicI32,
    steps: UnsafeCell<Vec<Step>>,
    len: AtomicUsize,
    /// The last address, and how often it came in a row.
    last: Cell<(usize, usize)>,
    /// The collection under way waits for the thread; how many have.
    waits: Cell<bool>,
    waited: Cell<usize>,
    /// One was asked for, when there were so many lines.
    asks: Cell<Option<usize>>,
    /// Steps until the next may be asked for, and how many that will be after the next that waits.
    pause: Cell<usize>,
    next_pause: Cell<usize>,
    heap: *const Heap,
    ring: &'static [AtomicUsize],
}

// SAFETY: the steps and the last of them are the stepped thread's until it has been joined; the heap is shared by nature.
unsafe impl Sync for Window {}

thread_local! {
    /// The window that this thread is stepped through, for its handler.
    static HERE: Cell<*const Window> = const { Cell::new(core::ptr::null()) };
}

/// Runs `f` with the trap flag set.
#[inline(never)]
pub(crate) fn stepped<R>(f: impl FnOnce() -> R) -> R {
    struct Clear;
    impl Drop for Clear {
        #[inline(always)]
        fn drop(&mut self) {
            // SAFETY: the flag is cleared that was set below.
            unsafe { asm!("pushfq", "and qword ptr [rsp], -257", "popfq") };
        }
    }
    let _clear = Clear;
    // SAFETY: the handler of SIGTRAP is installed, and knows this thread's window.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 256", "popfq") };
    f()
}

/// Runs `thread` on a thread of its own, where it calls [`stepped`] for what is to be stepped, and collects meanwhile: one in so many
/// steps asks for a collection.
pub(crate) fn lead(heap: &Heap, every: usize, thread: impl FnOnce() + Send) -> Report {
    let ring: &'static [AtomicUsize] = Vec::leak((0..MOST).map(|_| AtomicUsize::new(0)).collect());
    heap.inspect().log_interruptions(ring);
    let window = Window {
        signal: heap.config().stop_signal.map_or(libc::SIGURG, |signal| signal as c_int),
        every,
        asked: AtomicU64::new(0),
        begun: AtomicU64::new(0),
        done: AtomicU64::new(0),
        over: AtomicBool::new(false),
        collector: AtomicI32::new(-1),
        steps: UnsafeCell::new(vec![Step::default(); MOST]),
        len: AtomicUsize::new(0),
        last: Cell::new((0, 0)),
        waits: Cell::new(false),
        waited: Cell::new(0),
        asks: Cell::new(None),
        pause: Cell::new(0),
        next_pause: Cell::new(0),
        heap,
        ring,
    };
    install();
    std::thread::scope(|scope| {
        scope.spawn(|| collect(heap, &window));
        let stepped = scope.spawn(|| {
            while window.collector.load(Ordering::Acquire) < 0 {
                std::thread::yield_now();
            }
            HERE.set(&window);
            thread();
            HERE.set(core::ptr::null());
        });
        let outcome = stepped.join();
        window.over.store(true, Ordering::Release);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    let len = window.len.load(Ordering::Relaxed);
    let steps = window.steps.into_inner();
    let noted = heap.inspect().interruptions();
    assert!(noted < MOST);
    let notes = ring[..noted].iter().map(|word| Interruption::of_word(word.load(Ordering::Relaxed)).unwrap());
    Report::new(&steps[..len], notes.collect(), window.done.load(Ordering::Relaxed))
}

/// Collects whenever it is asked.
fn collect(heap: &Heap, window: &Window) {
    // SAFETY: plain calls; the path is terminated.
    let fd = unsafe {
        let path = format!("/proc/self/task/{}/stat\0", libc::gettid());
        libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC)
    };
    assert!(fd >= 0);
    window.collector.store(fd, Ordering::Release);
    while !window.over.load(Ordering::Acquire) {
        let asked = window.asked.load(Ordering::Acquire);
        if asked == window.done.load(Ordering::Relaxed) {
            std::thread::yield_now();
            continue;
        }
        window.begun.store(asked, Ordering::Release);
        heap.collect().unwrap();
        window.done.store(asked, Ordering::Release);
    }
    // SAFETY: it was opened above.
    unsafe { libc::close(fd) };
}

fn install() {
    // SAFETY: the handler does what a handler may, for threads that are stepped.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = trapped as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigfillset(&mut action.sa_mask);
        assert_eq!(libc::sigaction(libc::SIGTRAP, &action, core::ptr::null_mut()), 0);
    }
}

extern "C" fn trapped(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: what the kernel gave; and errno is this thread's.
    unsafe {
        let window = HERE.get().as_ref().expect("only a stepped thread is trapped");
        // A virtual machine may lose the bit that says why a processor trapped: then the kernel takes it for a breakpoint.
        let code = (*info).si_code;
        assert!(code == libc::TRAP_TRACE || code == libc::TRAP_BRKPT, "trapped with code {code}");
        let errno = *libc::__errno_location();
        let context = &*context.cast::<libc::ucontext_t>();
        window.step(context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize);
        *libc::__errno_location() = errno;
    }
}

impl Window {
    /// Before the instruction at `at`.
    fn step(&self, at: usize) {
        let number = self.len.load(Ordering::Relaxed);
        let (last, times) = self.last.get();
        let times = if last == at { times + 1 } else { 0 };
        self.last.set((at, times));
        let repeats = times >= 2 && !times.is_multiple_of(SELDOM);
        let waits = self.waits.get() && (repeats || !number.is_multiple_of(LOOKS));
        let began_with = match waits && self.is_under_way() {
            true => Began::Waiting,
            false => self.ask(number.is_multiple_of(self.every) && !repeats),
        };
        assert!(number < MOST, "the window has more steps than can be remembered");
        let step = Step { at, noted: self.noted() as u32, began_with };
        // SAFETY: the steps are this thread's.
        unsafe { (&mut *self.steps.get())[number] = step };
        self.len.store(number + 1, Ordering::Relaxed);
    }

    /// Asks for a collection, unless one is under way, and waits until it has done what it can without this thread.
    fn ask(&self, wants: bool) -> Began {
        if self.is_under_way() {
            // One for which this thread has stopped may have a little left to do.
            let began_with = self.wait();
            if began_with != Began::Collected {
                return began_with;
            }
        }
        if let Some(before) = self.asks.take() {
            let waited = self.waits.replace(false);
            match self.noted() > before {
                // A thread that the machine keeps waiting in the handler is sent another signal, which finds nobody who asks.
                true if !waited && self.stopped_since(before) => {
                    self.next_pause.set(self.waited.get() % PATIENCE);
                }
                false if !waited => {}
                _ => {
                    self.waited.set(self.waited.get() + 1);
                    self.pause.set(self.next_pause.get());
                    self.next_pause.set(self.next_pause.get() + PATIENCE);
                }
            }
        }
        if self.pause.get() > 0 {
            self.pause.set(self.pause.get() - 1);
            return Began::Quiet;
        }
        if !wants {
            return Began::Quiet;
        }
        if self.is_pending() {
            self.take_signal();
        }
        self.asked.fetch_add(1, Ordering::Release);
        self.asks.set(Some(self.noted()));
        self.wait()
    }

    /// How many lines there are about signals.
    fn noted(&self) -> usize {
        // SAFETY: the heap lives as long as the window.
        unsafe { (*self.heap).inspect().interruptions() }
    }

    /// Whether one of them stopped the thread, of those after the first `before`.
    fn stopped_since(&self, before: usize) -> bool {
        let notes = self.ring[before..self.noted()].iter().map(|word| word.load(Ordering::Relaxed));
        notes.filter_map(Interruption::of_word).any(|(_, what)| what == Interruption::Stopped)
    }

    fn is_under_way(&self) -> bool {
        self.done.load(Ordering::Acquire) != self.asked.load(Ordering::Relaxed)
    }

    /// Waits until the collection has ended, or waits for this thread.
    fn wait(&self) -> Began {
        for turn in 0usize.. {
            if self.is_pending() {
                return Began::Pending;
            }
            if !self.is_under_way() {
                return Began::Collected;
            }
            let begun = self.begun.load(Ordering::Acquire) == self.asked.load(Ordering::Relaxed);
            let looks = begun && (turn % 16 == 15 || self.waits.get());
            if looks && self.collector_sleeps() && !self.is_pending() {
                self.waits.set(true);
                return Began::Waiting;
            }
            // SAFETY: a plain call.
            unsafe { libc::sched_yield() };
        }
        unreachable!()
    }

    /// Whether the signal that stops this thread is pending.
    fn is_pending(&self) -> bool {
        // SAFETY: the set is the call's to write.
        unsafe {
            let mut set: libc::sigset_t = core::mem::zeroed();
            libc::sigpending(&mut set);
            libc::sigismember(&set, self.signal) == 1
        }
    }

    /// One that was sent again, and came too late for the last collection.
    fn take_signal(&self) {
        // SAFETY: the set is this call's, and no information is wanted.
        unsafe {
            let mut set: libc::sigset_t = core::mem::zeroed();
            libc::sigaddset(&mut set, self.signal);
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::sigtimedwait(&set, core::ptr::null_mut(), &now);
        }
    }

    /// Whether the collector's thread sleeps, for which it has no reason but this thread.
    fn collector_sleeps(&self) -> bool {
        let mut line = [0u8; 64];
        // SAFETY: reads into the array; the file is open until this thread has been joined.
        let n = unsafe {
            libc::pread(self.collector.load(Ordering::Relaxed), line.as_mut_ptr().cast(), line.len(), 0)
        };
        let line = &line[..n.max(0) as usize];
        // The state is the letter behind the name, which is in brackets.
        line.iter().rposition(|&c| c == b')').is_some_and(|end| line.get(end + 2) == Some(&b'S'))
    }
}
