//! Streams of frees from a heap with every page in use. Invariant: after a pass all pages are in use again, and a new
//! cycle has begun, so that in every pass the first free of a chunk writes the scavenger's index.

use super::fresh::MOST;
use super::record::{Access, Operation, PASS, Record, State, Stream};
use super::states::{Allocator, CHUNK, ONE, Pages};
use crate::draw::Draw;
use crate::timing::Clock;
use heapwood_os::LEAST_KERNEL_PAGE;
use heapwood_pages::{PageCount, PageIndex};
use heapwood_report::CommandError;

/// The runs freed under one acquisition of the lock.
pub(super) const BATCH: usize = 64;

/// The pages of the chunks whose entries of the scavenger's index lie in one page of memory.
const INDEX_PAGES: usize = LEAST_KERNEL_PAGE / size_of::<u32>() * CHUNK;

/// The pages to free, in order.
pub(super) struct Orders {
    ascending: Vec<Pages>,
    random: Vec<Pages>,
    every_other: Vec<Pages>,
}

impl Orders {
    pub(super) fn new(size: PageCount) -> Orders {
        let ascending = (0..size.0).take(MOST);
        let every_other = (0..size.0).step_by(2).take(MOST);
        let list =
            |pages: &mut dyn Iterator<Item = usize>| pages.map(|page| (PageIndex(page), ONE)).collect();
        Orders {
            ascending: list(&mut { ascending }),
            random: list(&mut all_over(size, MOST.min(size.0)).into_iter()),
            every_other: list(&mut { every_other }),
        }
    }
}

/// Distinct pages from all parts of the heap: one of each part, in random order.
fn all_over(size: PageCount, count: usize) -> Vec<usize> {
    let mut draw = Draw::new();
    let begin = |k: usize| (k as u128 * size.0 as u128 / count as u128) as usize;
    let mut pages: Vec<usize> = (0..count).map(|k| begin(k) + draw.below(begin(k + 1) - begin(k))).collect();
    for k in (1..pages.len()).rev() {
        pages.swap(k, draw.below(k + 1));
    }
    pages
}

/// All streams of frees.
pub(super) fn round<A: Allocator>(
    full: &mut A,
    PageCount(full_size): PageCount,
    orders: &Orders,
    how: Access,
    clock: &Clock,
    record: &mut Record,
) -> Result<(), CommandError> {
    // Before anything is timed, all of the scavenger's index is made resident.
    let mut pages = (0..full_size).step_by(INDEX_PAGES);
    pages.try_for_each(|page| full.give(PageIndex(page), ONE)).map_err(CommandError::run)?;
    while full.take(ONE).is_ok() {}
    for (what, order) in [
        (Operation::FreeAscending, &orders.ascending),
        (Operation::FreeRandom, &orders.random),
        (Operation::FreeEveryOther, &orders.every_other),
    ] {
        stream(full, (what, how), order, clock, record, |full| {
            order.iter().take_while(|&&(first, count)| full.give(first, count).is_ok()).count()
        })?;
    }
    let order = &orders.every_other;
    stream(full, (Operation::FreeEveryOtherInBatches, how), order, clock, record, |full| {
        let freed = order.chunks(BATCH).take_while(|batch| full.give_batch(batch).is_ok());
        freed.map(<[Pages]>::len).sum()
    })
}

fn stream<A: Allocator>(
    full: &mut A,
    (what, how): (Operation, Access),
    order: &[Pages],
    clock: &Clock,
    record: &mut Record,
    work: impl FnMut(&mut A) -> usize,
) -> Result<(), CommandError> {
    let pass = clock.pass(PASS, full, order.len(), work, |full| {
        while full.take(ONE).is_ok() {}
        full.new_cycle();
        Ok(())
    })?;
    record.timed(Stream { state: State::Full, what, pages: 1, how }, pass);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_pages_are_distinct_and_from_all_parts() {
        for (size, count) in [(512, 512), (1 << 30, 1 << 10)] {
            let mut pages = all_over(PageCount(size), count);
            assert_ne!(pages, { (0..count).collect::<Vec<_>>() });
            pages.sort_unstable();
            pages.dedup();
            assert_eq!(pages.len(), count);
            assert!(pages[0] < size / count && pages[count - 1] >= size - size / count);
        }
    }
}
