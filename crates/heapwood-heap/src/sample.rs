//! A picture of the pages as they would be if everything dead had been swept: what a study of fragmentation needs, and
//! what lazy sweeping never shows. Invariant: nothing of the space changes.

use crate::space::Space;
use core::sync::atomic::Ordering;
use heapwood_pages::{PAGE_SIZE, PageIndex, Snapshot};

impl Space {
    /// The pages, those of spans that the last marking found empty being free. The mutators must be stopped.
    pub(crate) fn snapshot_if_swept(&self) -> Snapshot {
        let mut sample = self.pages.snapshot();
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
                        sample.free(PageIndex(page), span.pages());
                    }
                    pages
                }
            };
            page += count;
        }
        sample
    }
}
