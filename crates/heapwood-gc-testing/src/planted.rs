//! Planted errors: what plays with one, and how often it was caught.

use heapwood_gc::Heap;
use heapwood_gc::inject::Fault;

/// An error that strikes at every so-manyth occasion; none is planted for comparison.
pub type Planted = Option<(Fault, u64)>;

/// Plants it in a heap.
pub fn plant(heap: &Heap, planted: Planted) {
    if let Some((fault, every)) = planted {
        heap.faults().inject(fault, every);
    }
}

/// In how many runs an error has struck, and in how many of those it was noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caught {
    pub struck: usize,
    pub caught: usize,
}

impl Caught {
    /// Adds a run.
    pub fn add(&mut self, heap: &Heap, outcome: Result<(), String>) {
        self.struck += (heap.faults().injected() > 0) as usize;
        self.caught += outcome.is_err() as usize;
        if let Err(what) = outcome {
            println!("caught: {what}");
        }
    }

    /// Asserts that it has struck so often at least, and was noticed in so many of a hundred of these runs.
    pub fn at_least(self, struck: usize, percent: usize) {
        println!("{self:?}");
        assert!(self.struck >= struck && self.caught * 100 >= self.struck * percent, "{self:?}");
    }
}
