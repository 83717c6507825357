//! Planted errors, and the programs that catch them.

use crate::heap;
use heapwood_gc::inject::Fault;
use heapwood_gc::{Config, Heap};

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

/// Plays so many seeds on each heap but those in verify mode, which ends the process, until a program panics that has an error planted.
pub fn first_caught_on(
    configs: &[Config],
    seeds: u64,
    (fault, every): (Fault, u64),
    play: impl Fn(&Heap, u64),
) -> Option<String> {
    let heaps = configs.iter().enumerate().filter(|(_, config)| !config.verify);
    let all = heaps.flat_map(|heap| (0..seeds).map(move |seed| (heap, seed)));
    first_caught(all, |((i, config), seed)| {
        let heap = heap(*config);
        heap.pace_by_bytes();
        // In some of them young collections keep all they have not marked.
        heap.set_young_time((seed % 3 == 1).then_some(core::time::Duration::ZERO));
        heap.faults().inject(fault, every);
        let outcome = said(|| play(&heap, 1 + seed + 100 * i as u64));
        (heap.faults().injected(), outcome)
    })
}

/// What a test's program says that panics.
fn said(play: impl FnOnce()) -> Result<(), String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(play)).map_err(|what| {
        let text = what.downcast_ref::<String>().cloned();
        text.or_else(|| what.downcast_ref::<&str>().map(|&text| text.into()))
            .unwrap_or_else(|| "a panic".into())
    })
}
