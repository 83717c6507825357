//! Planted errors, and the programs that catch them.

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

/// Plays programs with an error planted, the one after the other, until the error is noticed, and returns what was said. Each program
/// returns its heap's count of how often the error struck, and its outcome.
pub fn first_caught<P>(
    programs: impl IntoIterator<Item = P>,
    mut play: impl FnMut(P) -> (u64, Result<(), String>),
) -> Option<String> {
    let (mut played, mut struck) = (0, 0);
    for program in programs {
        let (strikes, outcome) = play(program);
        (played, struck) = (played + 1, struck + usize::from(strikes > 0));
        if let Err(what) = outcome {
            println!("caught by program {played}, where the error struck {strikes} times: {what}");
            return Some(what);
        }
    }
    println!("not caught: the error struck in {struck} of {played} programs");
    None
}
