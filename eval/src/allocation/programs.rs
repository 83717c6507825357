//! The document's programs, and a run of one of them with one lock: a heap and a lock are made, each of so many threads does
//! the whole program, and the time is that from when all may begin until the last has ended. Invariant: all threads find the
//! same.

use super::locks::Lock;
use heapwood::{Buffer, Config, Gc, Heap, Mutator, Stats, Trace};
use heapwood_os::process::usage::usage;
use heapwood_report::CommandError;
use heapwood_workloads::allocator::Allocator;
use heapwood_workloads::{rand, tree1};
use std::fmt;
use std::sync::RwLock;
use std::time::Instant;

/// A program and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    RandLarge(u64),
    RandSmall(u64),
    Tree1(u32),
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Program::RandLarge(n) => write!(f, "rand-large {n}"),
            Program::RandSmall(n) => write!(f, "rand-small {n}"),
            Program::Tree1(depth) => write!(f, "tree1 {depth}"),
        }
    }
}

impl Program {
    /// All programs in all sizes.
    pub(super) fn all(iterations: &[u64], depths: &[u32]) -> Vec<Program> {
        let large = iterations.iter().map(|&n| Program::RandLarge(n));
        let small = iterations.iter().map(|&n| Program::RandSmall(n));
        large.chain(small).chain(depths.iter().map(|&depth| Program::Tree1(depth))).collect()
    }

    /// The same so small that it only warms up.
    pub(super) fn tiny(self) -> Program {
        match self {
            Program::RandLarge(_) => Program::RandLarge(1),
            Program::RandSmall(_) => Program::RandSmall(1),
            Program::Tree1(_) => Program::Tree1(6),
        }
    }

    /// How many objects each thread allocates, the table not counted.
    pub(super) fn allocations(self) -> u64 {
        match self {
            Program::RandLarge(n) => n * 1024,
            Program::RandSmall(n) => n * 4096,
            Program::Tree1(depth) => {
                let (max, nodes) = (tree1::max_depth(depth), |depth: u32| (2u64 << depth) - 1);
                let pairs = (4..=max).step_by(2).map(|depth| (2 * nodes(depth)) << (max - depth + 4));
                nodes(max + 1) + nodes(max) + pairs.sum::<u64>()
            }
        }
    }

    /// Does the work; what is returned tells whether it was the same.
    fn run<A: Allocator>(self, a: &A) -> u64 {
        match self {
            Program::RandLarge(n) => rand::LARGE.run(a, n).checksum,
            Program::RandSmall(n) => rand::SMALL.run(a, n).checksum,
            Program::Tree1(depth) => {
                let mut sum = 0u64;
                tree1::run(a, depth, |line| sum = sum.wrapping_mul(31).wrapping_add(line.check as u64));
                sum
            }
        }
    }
}

/// A mutator whose every allocation takes a lock.
struct Guarded<'a, L> {
    m: &'a Mutator,
    lock: &'a L,
}

impl<L: Lock> Allocator for Guarded<'_, L> {
    #[inline(always)]
    fn mutator(&self) -> &Mutator {
        self.m
    }

    #[inline(always)]
    fn alloc<T: Trace>(&self, value: T) -> Gc<T> {
        self.lock.with(self.m, || self.m.alloc(value))
    }

    #[inline(always)]
    fn alloc_buffer(&self, bytes: usize) -> Gc<Buffer> {
        self.lock.with(self.m, || self.m.alloc_buffer(bytes))
    }
}

/// What a run came to.
pub(super) struct Outcome {
    pub(super) wall_s: f64,
    pub(super) cpu_s: f64,
    pub(super) check: u64,
    pub(super) stats: Stats,
}

/// Runs a program on so many threads with a lock around every allocation.
pub(super) fn run_with<L: Lock>(program: Program, threads: usize) -> Result<Outcome, CommandError> {
    // SAFETY: the programs keep their pointers on the stacks of their threads and in objects.
    let heap = unsafe { Heap::new(Config::DEFAULT) }.map_err(CommandError::run)?;
    let (lock, gate) = (L::default(), RwLock::new(()));
    let mut start = (Instant::now(), cpu_s());
    let checks = std::thread::scope(|scope| {
        let closed = gate.write();
        let spawned: Result<Vec<_>, std::io::Error> = (0..threads)
            .map(|_| {
                std::thread::Builder::new().spawn_scoped(scope, || {
                    drop(gate.read());
                    let m = heap.attach().map_err(CommandError::run)?;
                    Ok(program.run(&Guarded { m: &m, lock: &lock }))
                })
            })
            .collect();
        start = (Instant::now(), cpu_s());
        drop(closed);
        let spawned = spawned
            .map_err(|e| CommandError::run(format!("{threads} threads cannot be started: {e}; use fewer")))?;
        let joined = spawned.into_iter().map(|thread| thread.join().expect("programs do not panic"));
        joined.collect::<Result<Vec<u64>, CommandError>>()
    })?;
    let (wall_s, cpu_s) = (start.0.elapsed().as_secs_f64(), cpu_s() - start.1);
    if checks.iter().any(|check| *check != checks[0]) {
        return Err(CommandError::run(format!(
            "{program}: the threads did not find the same with {}: objects were lost or mixed up",
            L::NAME
        )));
    }
    Ok(Outcome { wall_s, cpu_s, check: checks[0], stats: heap.stats() })
}

fn cpu_s() -> f64 {
    let used = usage();
    used.user_s + used.sys_s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allocations_are_counted() {
        for program in [Program::RandLarge(2), Program::RandSmall(2), Program::Tree1(7)] {
            // SAFETY: as above.
            let heap = unsafe { Heap::new(Config::DEFAULT.huge_pages(false)) }.unwrap();
            let m = heap.attach().unwrap();
            let counted = std::cell::Cell::new(0);
            struct Counting<'a>(&'a Mutator, &'a std::cell::Cell<u64>);
            impl Allocator for Counting<'_> {
                fn mutator(&self) -> &Mutator {
                    self.0
                }
                fn alloc<T: Trace>(&self, value: T) -> Gc<T> {
                    self.1.set(self.1.get() + 1);
                    self.0.alloc(value)
                }
                fn alloc_buffer(&self, bytes: usize) -> Gc<Buffer> {
                    self.1.set(self.1.get() + 1);
                    self.0.alloc_buffer(bytes)
                }
            }
            program.run(&Counting(&m, &counted));
            assert_eq!(counted.get(), program.allocations(), "{program}");
        }
    }
}
