//! Pauses that do not grow with the heap: the most words that a pause looked at which started or ended a marking, of the same
//! program with more and more alive. The counts are exact on any machine; how far the program gets between two pauses is not,
//! so they are bounded, not compared.

use super::*;

const MIB: usize = 1 << 20;
/// Bytes of an object, and of a large one.
const SMALL: usize = 1 << 10;
const LARGE: usize = 1 << 20;

/// The most words of a pause: a MiB of young objects, all of which survive while the program builds its table, and some more. A look at
/// each span of 4 GiB would be 460,000.
const MOST: u64 = (1 << 20) / WORD as u64 + (16 << 10);

/// A heap with so many bytes alive, of which some are replaced at random until N markings have ended beside the program.
fn play(generational: Generational, live: usize, markings: u64) -> Stats {
    let heap = heap(BESIDE.generational(generational).address_space(4 * live.max(1 << 29)));
    let mutator = attach(&heap);
    let element = TypeDescriptor::masked(SMALL, &[1]).unwrap();
    let small = mutator.types().type_for(SMALL, slice_scan(&element, 0).unwrap()).unwrap();
    let word = TypeDescriptor::masked(WORD, &[1]).unwrap();
    let large = mutator.types().type_for(LARGE, slice_scan(&word, 0).unwrap()).unwrap();
    let count = live / 2 / SMALL;
    let table = mutator.types().type_for(count * WORD, slice_scan(&word, 0).unwrap()).unwrap();
    let mut roots = Slots::new(&heap, 2);
    roots.set(0, new(&mutator, table));
    (0..count).for_each(|i| link(&mutator, roots.get(0), i, new(&mutator, small)));
    // A chain of large objects.
    for _ in 0..live / 2 / LARGE {
        let next = new(&mutator, large);
        link(&mutator, next, 0, roots.get(1));
        roots.set(1, next);
    }
    let mut rng = Rng::new(7);
    let wanted = |stats: &Stats| stats.concurrent_markings - stats.concurrent_degenerated < markings;
    for step in 0usize.. {
        if step.is_multiple_of(256) && !wanted(&stats(&heap)) {
            break;
        }
        assert!(step < 1 << 30, "no marking ends");
        let garbage = new(&mutator, small);
        if step.is_multiple_of(64) {
            link(&mutator, roots.get(0), rng.below(count), garbage);
        }
        if step.is_multiple_of(4096) {
            mutator.blocking(std::thread::yield_now).unwrap();
        }
    }
    stats(&heap)
}

#[test]
fn starts_and_ends_look_at_no_more_words_of_a_larger_heap() {
    let sizes: &[usize] = match (is_long(), is_thorough()) {
        (true, _) => &[64, 512, 4096],
        (false, true) => &[64, 512],
        (false, false) => &[64],
    };
    for generational in [Generational::Auto, Generational::Off] {
        for live in sizes {
            let stats = play(generational, live * MIB, 2);
            let Stats { mark_start_max_words: start, mark_end_max_words: end, .. } = stats;
            // Where a marker is kept from its start for long, more is young in the pause.
            let are_bounded = !is_thorough() || start.max(end) < MOST;
            assert!(start > 0 && are_bounded, "{generational:?}, {live} MiB: {start} and {end}");
        }
    }
}
