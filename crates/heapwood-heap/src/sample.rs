//! The pages that would be free if everything dead had been swept: what a study of fragmentation needs, and what lazy
//! sweeping never shows. Invariant: nothing of the space changes, and no memory is allocated.

use crate::space::Space;
use core::sync::atomic::Ordering;
use heapwood_pages::{PAGE_SIZE, PageCount, PageIndex};

impl Space {
    /// Calls `f` with the pages of each unswept span that the last marking found empty. The mutators must be stopped.
    pub(crate) fn for_each_dead_span(&self, mut f: impl FnMut(PageIndex, PageCount)) {
        let extent = self.extent() / PAGE_SIZE;
        let mut page = 0;
        while page < extent {
            let count = match self.table.get(PageIndex(page)).kind() {
                None => 1,
                Some(_) => {
                    let span = self.span(PageIndex(page));
                    let (start, pages) = (self.address_of(PageIndex(page)), span.pages().0);
                    let unswept = span.swept_in.load(Ordering::Relaxed) != self.cycle();
                    if unswept && self.marks.count_allocated(start, start + pages * PAGE_SIZE) == 0 {
                        f(PageIndex(page), span.pages());
                    }
                    pages
                }
            };
            page += count;
        }
    }
}
