//! The walker: recomputes everything that an allocator stores from the bits alone, page by page, and reports the first
//! inconsistency. Invariant: it shares no counting with the code that it checks, so an error in a bit trick cannot
//! hide itself.

use crate::allocator::PageAllocator;
use crate::error::ValidationError;
use crate::geometry::{Geometry, MAX_LEVELS, TreeShape};
use crate::summary::Summary;
use crate::units::{ChunkIndex, PageIndex};

/// The free runs of the pages so far.
#[derive(Clone, Copy, Default)]
struct Runs {
    pages: u64,
    start: u64,
    max: u64,
    end: u64,
}

impl Runs {
    /// Appends the runs of the next pages, without use of the packed form.
    fn push(&mut self, next: Runs) {
        if self.start == self.pages {
            self.start += next.start;
        }
        self.max = self.max.max(next.max).max(self.end + next.start);
        self.end = if next.end == next.pages { self.end + next.pages } else { next.end };
        self.pages += next.pages;
    }

    fn page(free: bool) -> Runs {
        let n = free as u64;
        Runs { pages: 1, start: n, max: n, end: n }
    }

    fn packed(self) -> Summary {
        Summary::new(self.start, self.max, self.end)
    }
}

fn check(ok: bool, page: PageIndex, what: &'static str) -> Result<(), ValidationError> {
    if ok { Ok(()) } else { Err(ValidationError { what, page }) }
}

impl<G: Geometry> PageAllocator<G> {
    /// Recomputes every summary of every level, the counters and the hint from the bits. Takes time proportional to
    /// the committed tables.
    ///
    /// # Errors
    /// The first inconsistency: bits before the tree, leaves before the levels above.
    pub fn is_valid(&self) -> Result<(), ValidationError> {
        self.check_bits()?;
        for level in (self.tree.top()..G::LEVELS).rev() {
            for entry in self.tree.existing(level) {
                let computed = match level == TreeShape::<G>::LEAF {
                    true => self.leaf_from_bits(entry),
                    false => self.entry_from_children(level, entry),
                };
                let page = PageIndex(entry << TreeShape::<G>::LOG_PAGES[level]);
                check(self.tree.get(level, entry) == Some(computed), page, SUMMARY[level])?;
            }
        }
        Ok(())
    }

    fn check_bits(&self) -> Result<(), ValidationError> {
        let (mut free, mut scavenged, mut grown, mut first_free) = (0, 0, 0, None);
        for index in self.chunks.existing() {
            let Some(chunk) = self.chunks.get(index) else { continue };
            let grown_before = grown;
            let base = ChunkIndex(index).first_page::<G>();
            check(chunk.padding_is_set(), base, "the unused bits of its chunk are wrong")?;
            for place in (0..TreeShape::<G>::CHUNK_PAGES).filter(|&place| chunk.is_grown(place)) {
                let page = PageIndex(base.0 + place);
                check(page.0 < self.reservation().0, page, "it exists outside the reservation")?;
                grown += 1;
                if !chunk.is_set(place) {
                    free += 1;
                    scavenged += chunk.is_scavenged(place) as usize;
                    first_free = first_free.or(Some(page));
                }
            }
            // The tree must cover all existing pages.
            let covers =
                |level: usize| self.tree.get(level, base.0 >> TreeShape::<G>::LOG_PAGES[level]).is_some();
            check(
                grown == grown_before || (0..G::LEVELS).all(covers),
                base,
                "a level has no entry for its chunk",
            )?;
        }
        let lowest = first_free.unwrap_or(self.hint());
        check(self.hint() <= lowest, lowest, "it is free below the hint")?;
        let first = PageIndex(0);
        check(self.free_pages().0 == free, first, "the count of free pages is wrong")?;
        check(self.scavenged_pages().0 == scavenged, first, "the count of scavenged pages is wrong")?;
        check(self.grown_pages().0 == grown, first, "the count of existing pages is wrong")
    }

    fn leaf_from_bits(&self, index: usize) -> Summary {
        let Some(chunk) = self.chunks.get(index) else { return Summary::FULL };
        let mut runs = Runs::default();
        for place in 0..TreeShape::<G>::CHUNK_PAGES {
            runs.push(Runs::page(!chunk.is_set(place)));
        }
        runs.packed()
    }

    /// The summary by the children, which have been checked before.
    fn entry_from_children(&self, level: usize, entry: usize) -> Summary {
        let pages = 1 << TreeShape::<G>::LOG_PAGES[level + 1];
        let mut runs = Runs::default();
        for child in self.tree.children(level + 1, entry) {
            runs.push(Runs { pages, start: child.start(), max: child.max(), end: child.end() });
        }
        runs.packed()
    }
}

/// What is said of a wrong summary in each level, the root first.
const SUMMARY: [&str; MAX_LEVELS] = [
    "the summary in level 0 is wrong",
    "the summary in level 1 is wrong",
    "the summary in level 2 is wrong",
    "the summary in level 3 is wrong",
    "the summary in level 4 is wrong",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Bits48;
    use crate::units::PageCount;
    use heapwood_os::SYSTEM;

    fn allocator() -> PageAllocator<Bits48> {
        let mut pages = PageAllocator::new(&SYSTEM, PageCount(1 << 22)).unwrap();
        pages.grow(PageIndex(0), PageCount(2000)).unwrap();
        pages.grow(PageIndex(3_000_000), PageCount(2000)).unwrap();
        pages.allocate(PageCount(100)).unwrap();
        pages.is_valid().unwrap();
        pages
    }

    #[test]
    fn a_wrong_summary_is_found_at_every_level() {
        for (level, log_pages) in [21, 18, 15, 12, 9].into_iter().enumerate() {
            let mut pages = allocator();
            let entry = 3_000_000 >> log_pages;
            let longer = Summary::new(1, pages.tree.get(level, entry).unwrap().max() + 1, 0);
            pages.tree.store(level, entry, longer);
            let found = pages.is_valid().unwrap_err();
            assert_eq!((found.what, found.page), (SUMMARY[level], PageIndex(entry << log_pages)));
        }
    }
}
