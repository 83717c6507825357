//! The walker: recomputes everything that an allocator stores from the bits alone, page by page, and reports the first
//! inconsistency. Invariant: it shares no counting with the code that it checks, so an error in a bit trick cannot
//! hide itself.

use crate::allocator::PageAllocator;
use crate::error::ValidationError;
use crate::geometry::{Geometry, TreeShape};
use crate::summary::Summary;
use crate::units::{ChunkIndex, PageCount, PageIndex};

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
                let stored = self.tree.get(level, entry).unwrap_or(Summary::FULL);
                let computed = if level == TreeShape::<G>::LEAF {
                    self.leaf_from_bits(entry)
                } else {
                    self.entry_from_children(level, entry)
                };
                if stored != computed {
                    return Err(ValidationError::Summary { level, entry, stored, computed });
                }
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
            if !chunk.padding_is_set() {
                return Err(ValidationError::Stray { page: base });
            }
            for place in 0..TreeShape::<G>::CHUNK_PAGES {
                let page = PageIndex(base.0 + place);
                match (chunk.is_set(place), chunk.is_scavenged(place)) {
                    (true, true) => continue,
                    _ if page.0 >= self.reservation().0 => {
                        return Err(ValidationError::BeyondReservation { page });
                    }
                    (true, false) => {}
                    (false, without) => {
                        free += 1;
                        scavenged += without as usize;
                        first_free = first_free.or(Some(page));
                    }
                }
                grown += 1;
            }
            // The tree must cover all existing pages.
            for level in (0..G::LEVELS).filter(|_| grown > grown_before) {
                let entry = base.0 >> TreeShape::<G>::LOG_PAGES[level];
                if self.tree.get(level, entry).is_none() {
                    return Err(ValidationError::Unreachable { page: base, level });
                }
            }
        }
        if let Some(free) = first_free.filter(|page| page.0 < self.hint) {
            return Err(ValidationError::Hint { hint: self.hint(), free });
        }
        let stored = self.free_pages();
        if stored.0 != free {
            return Err(ValidationError::FreePages { stored, computed: PageCount(free) });
        }
        let stored = self.scavenged_pages();
        if stored.0 != scavenged {
            return Err(ValidationError::ScavengedPages { stored, computed: PageCount(scavenged) });
        }
        let stored = self.grown_pages();
        if stored.0 != grown {
            return Err(ValidationError::GrownPages { stored, computed: PageCount(grown) });
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Bits48, Tiny};
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
    fn a_wrong_summary_is_named_at_every_level() {
        for (level, log_pages) in [21, 18, 15, 12, 9].into_iter().enumerate() {
            let mut pages = allocator();
            let entry = 3_000_000 >> log_pages;
            let computed = pages.tree.get(level, entry).unwrap();
            let wrong = Summary::new(1, computed.max() + 1, 0);
            pages.tree.store(level, entry, wrong);
            let found = pages.is_valid().unwrap_err();
            assert_eq!(found, ValidationError::Summary { level, entry, stored: wrong, computed });
            assert!(found.to_string().starts_with(&format!("level {level}, entry {entry}: ")), "{found}");
        }
    }

    #[test]
    fn a_wrong_summary_of_nothing_is_named() {
        let mut pages = allocator();
        pages.tree.store(4, 50, Summary::all_free(9));
        let found = pages.is_valid().unwrap_err();
        let (stored, computed) = (Summary::all_free(9), Summary::FULL);
        assert_eq!(found, ValidationError::Summary { level: 4, entry: 50, stored, computed });
    }

    #[test]
    fn wrong_bits_counts_and_hint_are_named() {
        let mut pages = allocator();
        *pages.chunks.get_mut(0).unwrap().word_mut(5) |= 1;
        let (stored, computed) = (PageCount(3900), PageCount(3899));
        assert_eq!(pages.is_valid(), Err(ValidationError::FreePages { stored, computed }));

        let mut pages = allocator();
        // A nonexistent page looks free.
        *pages.chunks.get_mut(2000 / 512).unwrap().word_mut(7) &= !(1 << 63);
        let (stored, computed) = (PageCount(3900), PageCount(3901));
        assert_eq!(pages.is_valid(), Err(ValidationError::FreePages { stored, computed }));

        let mut pages = allocator();
        pages.scavenged -= 1;
        let (stored, computed) = (PageCount(3899), PageCount(3900));
        assert_eq!(pages.is_valid(), Err(ValidationError::ScavengedPages { stored, computed }));

        let mut pages = allocator();
        pages.grown += 1;
        let (stored, computed) = (PageCount(4001), PageCount(4000));
        assert_eq!(pages.is_valid(), Err(ValidationError::GrownPages { stored, computed }));

        let mut pages = allocator();
        pages.hint = 101;
        let (hint, free) = (PageIndex(101), PageIndex(100));
        assert_eq!(pages.is_valid(), Err(ValidationError::Hint { hint, free }));

        let mut tiny = PageAllocator::<Tiny>::new(&SYSTEM, PageCount(32)).unwrap();
        tiny.grow(PageIndex(4), PageCount(4)).unwrap();
        *tiny.chunks.get_mut(1).unwrap().word_mut(0) &= !(1 << 40);
        assert_eq!(tiny.is_valid(), Err(ValidationError::Stray { page: PageIndex(4) }));
    }
}
