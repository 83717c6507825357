//! Fibers of a client that says only where the stack ends that its thread is on, in a word that it writes before each switch
//! (Crystal does so with libgc). The client names the stacks that no thread is on.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::settings::options::Generational;
use heapwood_gc::{AllocError, ClientRoots, CollectionPhases, Config, Heap, Misuse, Mutator, ObjectType};
use heapwood_gc_testing::*;
use std::cell::UnsafeCell;
use std::hint::black_box;

const STACK: usize = 64 << 10;
const FIBERS: usize = 6;
/// The fiber that is the thread's own stack.
const OWN: usize = FIBERS;

struct Fiber {
    context: UnsafeCell<libc::ucontext_t>,
    low: usize,
    bottom: AtomicUsize,
    /// The lowest word in use as long as no thread is on it; 0 while one is.
    left_at: AtomicUsize,
}

/// A thread's fibers, the word, and what the thread works with.
struct Switcher {
    fibers: [Fiber; FIBERS + 1],
    bottom: AtomicUsize,
    current: AtomicUsize,
    mutator: *const Mutator,
    node: ObjectType,
    turns: AtomicUsize,
    /// What a fiber does between the store and the switch.
    waits: usize,
    steps: &'static AtomicUsize,
}

// SAFETY: others read its atomics, and stacks in a stop.
unsafe impl Sync for Switcher {}

// SAFETY: it allocates nothing and has no lock.
unsafe impl CollectionPhases for Switcher {
    fn roots(&self, roots: &mut ClientRoots<'_>) {
        for fiber in &self.fibers {
            let left_at = fiber.left_at.load(Ordering::Relaxed);
            if left_at != 0 {
                // SAFETY: the stack is mapped, and in use from there on.
                unsafe { roots.words(left_at..fiber.bottom.load(Ordering::Relaxed)) };
                let context = fiber.context.get() as usize;
                // SAFETY: the context is there as long as the fiber.
                unsafe { roots.words(context..context + size_of::<libc::ucontext_t>()) };
            }
        }
    }
}

thread_local! {
    static HERE: AtomicUsize = const { AtomicUsize::new(0) };
}

fn here() -> &'static Switcher {
    // SAFETY: the thread's switcher, which is never freed.
    HERE.with(|here| unsafe { &*(here.load(Ordering::Relaxed) as *const Switcher) })
}

impl Switcher {
    /// For this mutator's thread, whose own stack ends there.
    fn new(
        mutator: &Mutator,
        node: ObjectType,
        (end, waits): (usize, usize),
        steps: &'static AtomicUsize,
    ) -> &'static Self {
        // SAFETY: zeros are a context that was not made; the others have guards below.
        let fibers = core::array::from_fn(|i| unsafe {
            let low = if i == OWN {
                0
            } else {
                let protection = libc::PROT_READ | libc::PROT_WRITE;
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                let low = libc::mmap(core::ptr::null_mut(), STACK, protection, flags, -1, 0);
                assert_eq!(libc::mprotect(low, 4096, libc::PROT_NONE), 0);
                low as usize
            };
            let bottom = if i == OWN { end } else { low + STACK };
            Fiber {
                context: UnsafeCell::new(core::mem::zeroed()),
                low,
                bottom: bottom.into(),
                left_at: 0.into(),
            }
        });
        let switcher: &'static Switcher = Box::leak(Box::new(Switcher {
            fibers,
            bottom: end.into(),
            current: OWN.into(),
            mutator,
            node,
            turns: 0.into(),
            waits,
            steps,
        }));
        for fiber in &switcher.fibers[..FIBERS] {
            // SAFETY: the stack is the fiber's, and mapped.
            unsafe {
                assert_eq!(libc::getcontext(fiber.context.get()), 0);
                (*fiber.context.get()).uc_stack.ss_sp = fiber.low as *mut _;
                (*fiber.context.get()).uc_stack.ss_size = STACK;
                libc::makecontext(fiber.context.get(), run_fiber, 0);
            }
        }
        HERE.with(|here| here.store(core::ptr::from_ref(switcher) as usize, Ordering::Relaxed));
        switcher
    }

    fn mutator(&self) -> &Mutator {
        // SAFETY: attached as long as the thread switches.
        unsafe { &*self.mutator }
    }

    /// Switches to a fiber; returns when somebody switches back.
    #[inline(never)]
    fn switch(&self, to: usize) {
        let from = self.current.swap(to, Ordering::Relaxed);
        let (from, to) = (&self.fibers[from], &self.fibers[to]);
        let sp = black_box(0usize);
        // From here to the next store the client names neither this stack's words, nor does the word tell where it ends.
        self.bottom.store(to.bottom.load(Ordering::Relaxed), Ordering::Relaxed);
        for i in 0..self.waits {
            black_box(i);
        }
        if self.waits % 2 == 1 {
            // The word is another stack's already.
            put(new(self.mutator(), self.node), 2, usize::MAX);
        }
        // What is called from here lies lower, and holds nothing that is not here as well, or in the context.
        from.left_at.store((&raw const sp as usize) - 1024, Ordering::Relaxed);
        // SAFETY: both contexts are whole, and no thread is on the other's stack.
        assert_eq!(unsafe { libc::swapcontext(from.context.get(), to.context.get()) }, 0);
        from.left_at.store(0, Ordering::Relaxed);
    }

    /// Makes a list that this stack alone leads to, and finds it whole after others have run.
    #[inline(never)]
    fn work(&self, seed: usize) {
        let (m, node) = (self.mutator(), self.node);
        let mut head = black_box(0);
        extend_list(m, node, 20, seed, |new| {
            if let Some(new) = new {
                head = new;
            }
            head
        });
        let next = seed.wrapping_mul(0x9E37_79B9) >> 7;
        let me = self.current.load(Ordering::Relaxed);
        self.switch((me + 1 + next % FIBERS) % (FIBERS + 1));
        for _ in 0..10 {
            put(new(m, node), 2, usize::MAX);
        }
        check_list(black_box(head), 20, seed);
        self.steps.fetch_add(1, Ordering::Relaxed);
    }
}

extern "C" fn run_fiber() {
    let switcher = here();
    // The one that switched here is left; this one was not yet.
    switcher.fibers[switcher.current.load(Ordering::Relaxed)].left_at.store(0, Ordering::Relaxed);
    loop {
        let turn = switcher.turns.fetch_add(1, Ordering::Relaxed);
        switcher.work(turn);
        if turn.is_multiple_of(16) {
            switcher.mutator().collect().unwrap();
        }
    }
}

/// The end of the thread's own stack, as far as it holds anything of the test's.
fn play(heap: &Heap, (waits, turns): (usize, usize), steps: &'static AtomicUsize, alternate: bool) {
    let end = black_box([0usize; 4]);
    let mutator = attach(heap);
    let mut memory = vec![0u8; 64 << 10];
    if alternate {
        let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: memory.len() };
        // SAFETY: the memory lives until the thread uses another.
        assert_eq!(unsafe { libc::sigaltstack(&stack, core::ptr::null_mut()) }, 0);
    }
    let end = end.as_ptr() as usize + size_of_val(&end);
    let switcher = Switcher::new(&mutator, node_type(heap), (end, waits), steps);
    // SAFETY: the word is never freed.
    unsafe { mutator.stacks().follow_bottom(Some(&switcher.bottom)) }.unwrap();
    heap.set_phases(Some(switcher)).unwrap();
    while switcher.turns.load(Ordering::Relaxed) < turns {
        let turn = switcher.turns.fetch_add(1, Ordering::Relaxed);
        switcher.work(turn);
    }
    heap.set_phases(None).unwrap();
    // SAFETY: nothing is set.
    unsafe { mutator.stacks().follow_bottom(None) }.unwrap();
    if alternate {
        let none = libc::stack_t { ss_sp: core::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        // SAFETY: disables what was set above.
        assert_eq!(unsafe { libc::sigaltstack(&none, core::ptr::null_mut()) }, 0);
    }
}

/// One thread's fibers, while another collects all the time.
fn fibers(config: Config, waits: usize, turns: usize, alternate: bool) {
    let steps: &'static AtomicUsize = Box::leak(Box::default());
    let heap = heap(config);
    let end = AtomicBool::new(false);
    watched(steps, || {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !end.load(Ordering::Relaxed) {
                    heap.collect().unwrap();
                }
            });
            scope
                .spawn(|| play(&heap, (waits, turns), steps, alternate))
                .join()
                .unwrap_or_else(|_| std::process::abort());
            end.store(true, Ordering::Relaxed);
        });
    });
    assert_eq!(heap.mutators(), 0);
    assert_swept_and_valid(&heap);
}

#[test]
fn what_a_fibers_stack_alone_leads_to_lives_wherever_a_signal_stops_it() {
    for (waits, alternate) in [(0, false), (3000, false), (3001, false), (301, true)] {
        fibers(BY_SIGNALS, waits, 3000, alternate);
    }
    fibers(BY_SIGNALS.verify(true), 2000, 500, false);
}

#[test]
fn fibers_allocate_under_stress_and_between_polls() {
    fibers(BY_SIGNALS.stress(true), 101, 60, false);
    let polls = FULL.conservative_stacks(true);
    fibers(polls, 101, 2000, false);
    fibers(polls.stress(true), 100, 60, false);
    fibers(polls.generational(Generational::Always), 101, 2000, true);
}

/// Without the word, a thread on a stack that is none of its heap's is refused a collection, as ever.
#[test]
fn without_a_word_a_foreign_stack_is_refused() {
    let heap = heap(FULL.conservative_stacks(true).stress(true));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    extern "C" fn tries() {
        let switcher = here();
        let refused = switcher.mutator().allocate(switcher.node).err();
        assert_eq!(refused, Some(AllocError::Misuse(Misuse::OtherStack)));
        switcher.steps.store(7, Ordering::Relaxed);
        // SAFETY: the context is whole, and its stack's thread is here.
        unsafe { libc::setcontext(switcher.fibers[OWN].context.get()) };
    }
    let steps: &'static AtomicUsize = Box::leak(Box::default());
    let switcher = Switcher::new(&mutator, node, (0, 0), steps);
    let context = switcher.fibers[0].context.get();
    // SAFETY: the context was made, and begins with a function that goes back to this one.
    unsafe {
        libc::makecontext(context, tries, 0);
        assert_eq!(libc::swapcontext(switcher.fibers[OWN].context.get(), context), 0);
    }
    assert_eq!(steps.load(Ordering::Relaxed), 7);
}
