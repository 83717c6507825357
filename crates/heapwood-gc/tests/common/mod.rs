//! What several tests share: root slots with a guard, plain lists of nodes, and running one
//! test of this binary in a process of its own.
#![allow(dead_code, reason = "each test program uses a part")]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::settings::options::{Generational, Stop};
use heapwood_gc::{
    Attached, Config, Frame, Handle, HandleError, Heap, HeapBox, Mutator, ObjectType, RootError, RootToken,
};
use heapwood_heap::{Address, ObjectRef};
use heapwood_layout::TypeDescriptor;
use heapwood_os::SYSTEM;
use std::process::{Command, Output, abort};
use std::time::Duration;

pub(crate) use heapwood_layout::WORD;

/// Only precise roots, and a small address range.
pub(crate) const PRECISE: Config =
    Config::DEFAULT.conservative_stacks(false).huge_pages(false).address_space(2 << 30).min_heap(1 << 20);

/// The same, and every collection looks at everything: for tests of when those come, and of what they do.
pub(crate) const FULL: Config = PRECISE.generational(Generational::Off);

/// Threads are stopped by signals, wherever they are; so stacks are scanned.
pub(crate) const BY_SIGNALS: Config = FULL.conservative_stacks(true).stop(Stop::Signals);

pub(crate) fn heap(config: Config) -> HeapBox {
    Heap::create(&SYSTEM, config).unwrap()
}

pub(crate) fn attach(heap: &Heap) -> Attached<'_> {
    Mutator::attach(heap, None).unwrap()
}

/// Registered precise roots.
pub(crate) struct Slots<'h> {
    words: Box<[usize]>,
    token: RootToken,
    heap: &'h Heap,
}

impl<'h> Slots<'h> {
    pub(crate) fn new(heap: &'h Heap, n: usize) -> Self {
        Self::try_new(heap, n).unwrap()
    }

    pub(crate) fn try_new(heap: &'h Heap, n: usize) -> Result<Self, RootError> {
        let words = vec![0; n].into_boxed_slice();
        // SAFETY: the words live in a box of their own until the root is removed in `drop`.
        let token = unsafe { heap.add_root_slots(words.as_ptr(), n) }?;
        Ok(Slots { words, token, heap })
    }

    pub(crate) fn set(&mut self, i: usize, object: usize) {
        // SAFETY: a word of the box; volatile, since the collector reads it.
        unsafe { (&raw mut self.words[i]).write_volatile(object) };
    }

    pub(crate) fn get(&self, i: usize) -> usize {
        self.words[i]
    }
}

impl Drop for Slots<'_> {
    fn drop(&mut self) {
        assert!(self.heap.remove_root(self.token));
    }
}

/// A frame of the shadow stack with `N` slots, popped when dropped.
pub(crate) struct Framed<'m, const N: usize> {
    mutator: &'m Mutator,
    frame: Box<Frame>,
    slots: Box<[usize; N]>,
}

impl<'m, const N: usize> Framed<'m, N> {
    pub(crate) fn new(mutator: &'m Mutator) -> Self {
        let mut slots = Box::new([0; N]);
        let mut frame = Box::new(Frame { prev: core::ptr::null_mut(), count: N, slots: slots.as_mut_ptr() });
        // SAFETY: both boxes live until the frame is popped in `drop`; guards are dropped in reverse order.
        unsafe { mutator.push_frame(NonNull::from(&mut *frame)) };
        Framed { mutator, frame, slots }
    }

    pub(crate) fn set(&mut self, i: usize, object: usize) {
        assert!(i < self.slots.len());
        // SAFETY: a slot of this frame.
        unsafe { self.frame.slots.add(i).write_volatile(object) };
    }

    pub(crate) fn get(&self, i: usize) -> usize {
        assert!(i < self.slots.len());
        // SAFETY: a slot of this frame.
        unsafe { self.frame.slots.add(i).read_volatile() }
    }
}

impl<const N: usize> Drop for Framed<'_, N> {
    fn drop(&mut self) {
        // SAFETY: pushed in `new`, and the topmost.
        unsafe { self.mutator.pop_frame() };
    }
}

/// A type of `words` words with pointers at `slots`.
pub(crate) fn masked(heap: &Heap, words: usize, slots: &[usize]) -> ObjectType {
    let mut mask = vec![0u64; words.div_ceil(64)];
    slots.iter().for_each(|&s| mask[s / 64] |= 1 << (s % 64));
    heap.register(&TypeDescriptor::masked(words * WORD, &mask).unwrap()).unwrap()
}

/// Two pointers and two words of data.
pub(crate) fn node_type(heap: &Heap) -> ObjectType {
    masked(heap, 4, &[0, 1])
}

pub(crate) fn pointer_free(heap: &Heap, bytes: usize) -> ObjectType {
    heap.register(&TypeDescriptor::no_pointers(bytes).unwrap()).unwrap()
}

pub(crate) fn new(mutator: &Mutator, ty: ObjectType) -> usize {
    mutator.allocate(ty).unwrap().as_ptr() as usize
}

/// A list of a GiB, which nothing refers to any more.
pub(crate) fn a_dropped_gibibyte(heap: &Heap, mutator: &Mutator) {
    let node = masked(heap, 8, &[0]);
    let mut roots = Slots::new(heap, 1);
    for _ in 0..(1 << 30) / 64 {
        let object = new(mutator, node);
        put(object, 0, roots.get(0));
        roots.set(0, object);
    }
}

/// The heap's tables, lists and bits agree. The calling thread is the only one that uses the heap.
pub(crate) fn assert_valid(heap: &Heap) {
    // SAFETY: the tests call this when other threads have been joined.
    unsafe { heap.is_valid() }.unwrap();
}

/// Makes a handle for an object, or for none.
pub(crate) fn handle(heap: &Heap, object: usize) -> Result<Handle, HandleError> {
    // SAFETY: the tests pass 0 and addresses of objects that exist.
    unsafe { heap.new_handle(Address::new(object)) }
}

/// Reads a word of an object.
pub(crate) fn get(object: usize, word: usize) -> usize {
    assert!(object != 0);
    // SAFETY: the tests read words that the object's type has.
    unsafe { (object as *const usize).add(word).read() }
}

/// Writes a word without the barrier: data, and stores that initialise.
pub(crate) fn put(object: usize, word: usize, value: usize) {
    // SAFETY: as above.
    unsafe { (object as *mut usize).add(word).write(value) };
}

/// Writes a pointer through the barrier.
pub(crate) fn link(mutator: &Mutator, object: usize, word: usize, to: usize) {
    // SAFETY: the tests name slots of objects that exist, and store addresses of objects.
    unsafe { mutator.write(ObjectRef::new(object), (object as *mut usize).add(word), Address::new(to)) };
}

/// Puts `n` nodes in front of the list whose head `keep` holds; node `i` holds `seed + i`. Word 0 leads on.
pub(crate) fn extend_list(
    mutator: &Mutator,
    node: ObjectType,
    n: usize,
    seed: usize,
    mut head: impl FnMut(Option<usize>) -> usize,
) {
    for i in 0..n {
        let object = new(mutator, node);
        // The head is read after the allocation, which may have collected: nothing moves, but it has to be kept.
        put(object, 0, head(None));
        put(object, 2, seed + i);
        head(Some(object));
    }
}

/// Checks a list made by [`extend_list`].
pub(crate) fn check_list(mut at: usize, n: usize, seed: usize) {
    for i in (0..n).rev() {
        assert_ne!(at, 0, "the list ends {} nodes early", i + 1);
        assert_eq!(get(at, 2), seed + i, "node {i} of {n}");
        at = get(at, 0);
    }
    assert_eq!(at, 0, "the list goes on");
}

/// Builds lists and checks them, polling and collecting on the way.
pub(crate) fn build_and_check(heap: &Heap, seed: usize, rounds: usize, collect_every: usize) {
    let mutator = attach(heap);
    let node = node_type(heap);
    let wide = masked(heap, 90, &[0, 70]);
    let data = pointer_free(heap, 40 + seed % 100);
    let mut frame = Framed::<2>::new(&mutator);
    for round in 0..rounds {
        frame.set(0, 0);
        let n = 200 + (seed * 31 + round * 17) % 300;
        extend_list(&mutator, if round % 4 == 0 { wide } else { node }, n, seed << 32 | round, |h| {
            if let Some(h) = h {
                frame.set(0, h);
            }
            frame.get(0)
        });
        new(&mutator, data);
        mutator.safepoint();
        if round % collect_every == 0 {
            mutator.collect().unwrap();
        }
        // The list before stays for one round more, reached from the other slot.
        check_list(frame.get(0), n, seed << 32 | round);
        frame.set(1, frame.get(0));
        assert_eq!(heap.find(0), None);
    }
}

pub(crate) const CHILD: &str = "HEAPWOOD_TEST_CHILD";

/// Whether this process was started by [`run_alone`].
pub(crate) fn alone() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs the ignored test `name` of this binary in a process of its own.
pub(crate) fn run_alone(name: &str) -> Output {
    run_alone_with(name, None)
}

/// The same, with this variable `HEAPWOOD`.
pub(crate) fn run_alone_with(name: &str, variable: Option<&str>) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--ignored", "--nocapture", "--test-threads", "1"]).env(CHILD, "1");
    match variable {
        Some(text) => command.env("HEAPWOOD", text),
        None => command.env_remove("HEAPWOOD"),
    };
    command.output().unwrap()
}

/// Asserts that the process ended with SIGABRT after a message about corruption that contains `text`.
pub(crate) fn assert_corrupt(output: &Output, text: &str) {
    use std::os::unix::process::ExitStatusExt;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(6), "{:?}\n{stderr}", output.status);
    let line = stderr.lines().find(|l| l.starts_with("heapwood: heap corruption: "));
    let line = line.unwrap_or_else(|| panic!("no message about corruption in:\n{stderr}"));
    assert!(line.contains(text), "{line}");
}

/// Ends the process if what is counted does not change for a minute: threads that wait for each other never fail a test.
pub(crate) fn watched<R>(steps: &AtomicUsize, f: impl FnOnce() -> R) -> R {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watchdog = scope.spawn(|| {
            let (mut seen, mut since) = (0, 0);
            while !done.load(Ordering::Relaxed) {
                std::thread::park_timeout(Duration::from_millis(100));
                let now = steps.load(Ordering::Relaxed);
                since = if now == seen { since + 1 } else { 0 };
                seen = now;
                if since == 600 {
                    eprintln!("no thread has gone on for a minute, after {now} steps");
                    abort();
                }
            }
        });
        let result = f();
        done.store(true, Ordering::Relaxed);
        watchdog.thread().unpark();
        result
    })
}
