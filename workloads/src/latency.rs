//! Latency: a cache whose entries are replaced at random, at a chosen size, for a chosen time, whose threads note the gaps
//! between their own operations. It has no N, so it is not among [`ALL`](crate::ALL); `heapwood bench latency` runs it.
//!
//! An entry is three nodes of 64 bytes: a root and two children. One step in four replaces an entry, one in four swaps a
//! child of two entries, the others read one. So every node has one owner at any time, and a program without a collector
//! can free it. Each thread has a cache of its own. Every program first takes [`CHECKED`] steps whose checksum tells whether
//! it does the same work; only then the clock starts. A thread may run beneath many frames, each with a node of its own.
//!
//! | module | content |
//! |---|---|
//! | [`gaps`] | the gaps of a thread, in a histogram |
//! | [`record`] | the result of a run, as programs print it |

pub mod gaps;
pub mod record;

use crate::latency::gaps::{Gaps, Noted};
use crate::latency::record::Record;
use crate::random::Random;
use crate::threads_error::ThreadsError;
use heapwood::{Gc, GcCell, Heap, Mutator, Slice, Trace};
use heapwood_os::process::clock::{monotonic_ns, process_cpu_ns};
use std::hint::black_box;
use std::sync::{Barrier, RwLock};
use std::thread::Builder;

/// Bytes of the three nodes of an entry.
pub const ENTRY_BYTES: u64 = 3 * size_of::<Node>() as u64;
/// Steps between two readings of the clock.
pub const SAMPLE: u64 = 4;
/// Steps before the measurement, whose checksum is compared.
pub const CHECKED: u64 = 200_000;

/// Stack of a thread, without its frames.
const STACK_BYTES: usize = 4 << 20;
/// More than a frame takes, in a build without optimisation, too.
const FRAME_BYTES: usize = 512;

type Edge = GcCell<Option<Gc<Node>>>;

#[derive(Trace)]
struct Node {
    left: Edge,
    right: Edge,
    key: u64,
    rest: [u64; 5],
}

const _: () = assert!(size_of::<Node>() == 64);

/// The size of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Bytes of all threads' nodes.
    pub live_bytes: u64,
    /// The measured time, in milliseconds.
    pub ms: u64,
    /// The threads; at least one.
    pub threads: u32,
    /// The frames beneath which each thread runs.
    pub depth: u64,
}

impl Setup {
    /// The entries of a thread's cache.
    pub fn entries(&self) -> u64 {
        (self.live_bytes / u64::from(self.threads) / ENTRY_BYTES).max(1)
    }

    /// The minimum of bytes alive at once: the nodes, the tables, and the nodes of the frames.
    pub fn least_bytes(&self) -> u128 {
        let (threads, entry) = (u128::from(self.threads), u128::from(ENTRY_BYTES) + 8);
        threads * (u128::from(self.entries()) * entry + 64 * u128::from(self.depth))
    }
}

/// Runs the program on threads of its own.
///
/// # Errors
/// A thread could not be started or attached.
pub fn run(heap: &Heap, setup: Setup) -> Result<Record, ThreadsError> {
    let all = setup.threads as usize + 1;
    let (gate, start, end) = (RwLock::new(true), Barrier::new(all), Barrier::new(all));
    let stack = STACK_BYTES + FRAME_BYTES.saturating_mul(setup.depth as usize);
    let work = |thread: u32| {
        if !gate.read().is_ok_and(|may_begin| *may_begin) {
            return None;
        }
        let m = match heap.attach() {
            Ok(m) => m,
            Err(why) => {
                // The others wait for it.
                start.wait();
                end.wait();
                return Some(Err(ThreadsError::Attach { thread: thread + 1, why }));
            }
        };
        let mut noted = None;
        beneath(&m, setup.depth, &mut || {
            let mut cache = Cache::new(&m, setup.entries(), thread);
            let check = cache.check();
            m.blocking(|| start.wait());
            let before = process_cpu_ns();
            let gaps = cache.measure(setup.ms);
            noted = Some(Measured { check, cpu: (before, process_cpu_ns()), gaps });
            m.blocking(|| end.wait());
        });
        noted.map(Ok)
    };
    let work = &work;
    std::thread::scope(|scope| {
        let mut closed = gate.write().expect("no other thread has the gate yet");
        let mut started = Vec::new();
        for thread in 0..setup.threads {
            let builder = Builder::new().stack_size(stack);
            match builder.spawn_scoped(scope, move || work(thread)) {
                Ok(handle) => started.push(handle),
                Err(why) => {
                    // The threads that were started end without beginning.
                    *closed = false;
                    return Err(ThreadsError::Spawn { thread: thread + 1, threads: setup.threads, why });
                }
            }
        }
        drop(closed);
        start.wait();
        end.wait();
        let joined = started.into_iter().map(|thread| thread.join().expect("no thread has panicked"));
        let each: Vec<Measured> = joined.flatten().collect::<Result<_, ThreadsError>>()?;
        Ok(Record {
            entries: setup.entries(),
            check: each.iter().fold(0, |sum, thread| sum.wrapping_add(thread.check)),
            cpu_ns: cpu_ns(&each),
            pss_bytes: None,
            collector: None,
            threads: each.into_iter().map(|thread| thread.gaps).collect(),
        })
    })
}

/// The result of a thread.
struct Measured {
    check: u64,
    /// The CPU time of the process when the thread began to measure and when it ended.
    cpu: (u64, u64),
    gaps: Noted,
}

/// From the first thread's beginning to the last one's end. The thread that waits for them may wake much later.
fn cpu_ns(each: &[Measured]) -> u64 {
    let first = each.iter().map(|thread| thread.cpu.0).min();
    each.iter().map(|thread| thread.cpu.1).max().zip(first).map_or(0, |(last, first)| last - first)
}

/// Does the work beneath so many frames, each of which keeps a node. Returns a number that needs all of them.
#[inline(never)]
fn beneath(m: &Mutator, frames: u64, work: &mut dyn FnMut()) -> u64 {
    if frames == 0 {
        work();
        return 0;
    }
    let kept = m.alloc(Node::leaf(frames));
    let below = beneath(m, frames - 1, work);
    black_box(kept).key + below
}

impl Node {
    fn leaf(key: u64) -> Node {
        Node { left: GcCell::new(None), right: GcCell::new(None), key, rest: [key; 5] }
    }
}

/// An entry for a random number.
fn entry(m: &Mutator, r: u64) -> Gc<Node> {
    let left = m.alloc(Node::leaf(r.wrapping_add(1)));
    let right = m.alloc(Node::leaf(r.wrapping_add(2)));
    m.alloc(Node { left: GcCell::new(Some(left)), right: GcCell::new(Some(right)), key: r, rest: [r; 5] })
}

/// A thread's cache.
struct Cache<'m> {
    m: &'m Mutator,
    table: Gc<Slice<Edge>>,
    random: Random,
    sum: u64,
}

impl<'m> Cache<'m> {
    fn new(m: &'m Mutator, entries: u64, thread: u32) -> Cache<'m> {
        let mut random = Random::new();
        // Each thread takes other numbers.
        for _ in 0..thread {
            random = random.following();
        }
        let table: Gc<Slice<Edge>> = m.alloc_slice(entries as usize, |_| GcCell::new(None));
        for slot in table.iter() {
            slot.set(m, Some(entry(m, random.next_u64())));
        }
        Cache { m, table, random, sum: 0 }
    }

    fn slot(&self, r: u64) -> &Edge {
        &self.table[(((r >> 32) * self.table.len() as u64) >> 32) as usize]
    }

    #[inline]
    fn step(&mut self) {
        let r = self.random.next_u64();
        match r & 3 {
            0 => self.slot(r).set(self.m, Some(entry(self.m, r))),
            1 => {
                let other = self.random.next_u64();
                if let (Some(a), Some(b)) = (self.slot(r).get(), self.slot(other).get()) {
                    let (of_a, of_b) = (a.left.get(), b.left.get());
                    a.left.set(self.m, of_b);
                    b.left.set(self.m, of_a);
                }
            }
            _ => {
                let key = |node: Option<Gc<Node>>| node.map_or(0, |node| node.key);
                if let Some(root) = self.slot(r).get() {
                    let (left, right) = (key(root.left.get()), key(root.right.get()));
                    let sum = self.sum.wrapping_mul(31).wrapping_add(root.key);
                    self.sum = sum.wrapping_add(left).wrapping_add(right);
                }
            }
        }
    }

    fn check(&mut self) -> u64 {
        (0..CHECKED).for_each(|_| self.step());
        self.sum
    }

    fn measure(&mut self, ms: u64) -> Noted {
        let mut gaps = Gaps::start(monotonic_ns(), ms * 1_000_000);
        loop {
            for _ in 0..SAMPLE {
                self.step();
            }
            if !gaps.sample(monotonic_ns(), SAMPLE) {
                black_box(self.sum);
                return gaps.end();
            }
        }
    }
}
