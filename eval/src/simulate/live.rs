//! The runs in use of a simulated program, which frees them at random. At first they are the runs of a sample. A sample
//! does not separate neighbours, so long runs are cut into sizes that the program would request. Invariant: no page is
//! in two runs.

use super::heap::CHUNK_PAGES;
use crate::draw::Draw;
use heapwood_pages::{PageCount, PageIndex, Snapshot};

/// The runs in use.
pub(crate) struct Live {
    runs: Vec<(PageIndex, PageCount)>,
    pages: usize,
}

impl Live {
    /// The runs of a sample. Long ones are cut into random sizes.
    pub(crate) fn new(sample: &Snapshot, mut size: impl FnMut() -> usize) -> Live {
        let mut live = Live { runs: Vec::new(), pages: 0 };
        for (mut first, mut left) in runs_in_use(sample) {
            while left > 0 {
                let count = size().min(left);
                live.add(PageIndex(first), PageCount(count));
                (first, left) = (first + count, left - count);
            }
        }
        live
    }

    pub(crate) fn pages(&self) -> usize {
        self.pages
    }

    pub(crate) fn add(&mut self, first: PageIndex, count: PageCount) {
        self.pages += count.0;
        self.runs.push((first, count));
    }

    /// Removes and returns a random run.
    pub(crate) fn take(&mut self, draw: &mut Draw) -> Option<(PageIndex, PageCount)> {
        if self.runs.is_empty() {
            return None;
        }
        let run = self.runs.swap_remove(draw.below(self.runs.len()));
        self.pages -= run.1.0;
        Some(run)
    }

    /// The page after the highest.
    pub(crate) fn end(&self) -> PageIndex {
        PageIndex(self.runs.iter().map(|&(first, count)| first.0 + count.0).max().unwrap_or(0))
    }
}

/// Neighbouring pages in use, as first page and length, in order.
fn runs_in_use(sample: &Snapshot) -> Vec<(usize, usize)> {
    let mut chunks: Vec<_> = sample.chunks.iter().collect();
    chunks.sort_by_key(|chunk| chunk.chunk);
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for chunk in chunks {
        for at in 0..CHUNK_PAGES {
            let bit = |words: &[u64]| words[at / 64] >> (at % 64) & 1 == 1;
            if bit(&chunk.in_use) && !bit(&chunk.scavenged) {
                let page = chunk.chunk.0 * CHUNK_PAGES + at;
                match runs.last_mut() {
                    Some((first, count)) if *first + *count == page => *count += 1,
                    _ => runs.push((page, 1)),
                }
            }
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::super::tests::{chunk, sample};
    use super::*;

    #[test]
    fn runs_cross_chunks_and_skip_missing_pages() {
        let mut last = chunk(2, &[(0, 512)]);
        last.scavenged[0] = u64::MAX;
        let sample = sample(vec![chunk(0, &[(3, 2), (500, 12)]), chunk(1, &[(0, 5)]), last]);
        assert_eq!(runs_in_use(&sample), [(3, 2), (500, 17), (1088, 448)]);
    }

    #[test]
    fn every_page_in_use_is_in_one_run() {
        let mut draw = Draw::new();
        let few = sample(vec![chunk(0, &[(3, 2), (100, 300)])]);
        let mut live = Live::new(&few, || draw.mixed_run());
        assert_eq!((live.pages(), live.end()), (302, PageIndex(400)));
        let mut pages = Vec::new();
        while let Some((first, count)) = live.take(&mut draw) {
            pages.extend(first.0..first.0 + count.0);
        }
        pages.sort_unstable();
        assert_eq!(pages, (3..5).chain(100..400).collect::<Vec<_>>());
        assert_eq!((live.pages(), live.end()), (0, PageIndex(0)));
    }
}
