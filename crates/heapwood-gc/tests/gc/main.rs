//! The tests of the collector, in one program, at the collector's own interface. A newcomer finds them by folder:
//!
//! | folder | what it tests |
//! |---|---|
//! | [`oracle`] | random programs of one thread against a model of the object graph, on heaps of every sort, some beside a marking in steps |
//! | [`threads_oracle`] | the same on 1 to 16 threads, which exchange what they make |
//! | [`stepped`] | the log of what barriers shade, in markings that a test drives in steps |
//! | [`inject`] | that errors planted in the collector are caught by the two oracles, and by verify mode |
//! | [`roots`] | what keeps objects alive: stacks, ranges, libraries; and what does not |
//! | [`marking`] | a deep graph with a small mark stack; markers that the kernel refuses; trace functions |
//! | [`young`] | when there are young collections |
//! | [`arenas`] | arenas: what they keep, what ends them, what reads them afterwards |
//! | [`verify`] | verify and stress mode, misuse, explicit frees |
//! | [`limits`] | limits, kernels that refuse, kernels with large pages |
//! | [`memory`] | memory that goes back to the kernel, and where memory is |
//! | [`threads`] | threads that come, go, block, fork, sleep, publish, and use several heaps |
//! | [`signals`] | threads that signals stop |
//! | [`single_step`] | a thread that is stopped at every instruction |
//! | [`concurrent`] | full markings beside the program |
//! | [`finalizers`] | data of dead objects, on a queue |
//! | [`weak`] | ephemerons and weak references |
//! | [`hooks`] | functions of the program that are called in each pause |
//! | [`statistics`] | what a heap tells of itself |
//!
//! A test that needs its process for itself runs its body in a child (`heapwood_gc_testing::process`). What programs without `unsafe`
//! cannot say is tested beside this (`tests/ui.rs`). The variables that make tests longer, or play a seed again, are in docs/testing.md.

mod arenas;
mod concurrent;
mod finalizers;
mod hooks;
#[cfg(heapwood_inject)]
mod inject;
mod limits;
mod marking;
mod memory;
mod oracle;
mod roots;
mod signals;
// It uses the trap flag of this processor.
#[cfg(target_arch = "x86_64")]
mod single_step;
mod statistics;
mod stepped;
mod threads;
mod threads_oracle;
mod verify;
mod weak;
mod young;
