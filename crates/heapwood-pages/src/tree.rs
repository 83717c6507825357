//! The radix tree of summaries. Entry `i` of a level covers the pages from `i << LOG_PAGES[level]` on; its children in
//! the next level are the block of entries for the same pages. The tree begins at the deepest level in which one block
//! covers all grown pages, so a small heap pays for few levels; the levels above are not maintained. An implicit tree
//! in arrays, searched by start, longest and end, is from the Go page allocator proposal; the moving top is not.
//! Invariant: from the top level down, every entry is the merge of its block, and a leaf is the summary of its chunk.
//! A missing entry counts as full. Above grown pages, entries exist in every level.

use crate::geometry::{Geometry, MAX_LEVELS, TreeShape};
use crate::lazy_array::LazyArray;
use crate::summary::{Summary, merge, revise};
use crate::units::{ChunkIndex, PageIndex};
use core::marker::PhantomData;
use core::ops::Range;
use heapwood_os::{KernelRef, Mapped, OsError};

/// The summaries of all levels.
pub(crate) struct Tree<G: Geometry> {
    levels: [LazyArray<Summary>; MAX_LEVELS],
    /// The chunks from the lowest to the highest one with entries.
    hull: Range<usize>,
    /// The highest maintained level.
    top: usize,
    geometry: PhantomData<G>,
}

impl<G: Geometry> Mapped for Tree<G> {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.levels.for_each_mapping(f);
    }
}

/// The position of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunStart {
    /// It begins with this page, and crosses regions.
    Page(PageIndex),
    /// It lies inside this chunk.
    Chunk(ChunkIndex),
}

impl<G: Geometry> Tree<G> {
    /// Reserves the levels for a reservation of `reservation` pages; every page is full.
    pub(crate) fn new(kernel: KernelRef, reservation: usize) -> Result<Self, OsError> {
        let mut levels = [const { LazyArray::NONE }; MAX_LEVELS];
        for (level, array) in levels.iter_mut().enumerate().take(G::LEVELS) {
            // Blocks are whole; only the root ends with the reservation.
            let block = if level == 0 { 1 } else { 1 << TreeShape::<G>::BITS[level] };
            let len =
                reservation.div_ceil(1 << TreeShape::<G>::LOG_PAGES[level]).max(1).next_multiple_of(block);
            *array = LazyArray::new(kernel, len)?;
        }
        Ok(Tree { levels, hull: 0..0, top: TreeShape::<G>::LEAF, geometry: PhantomData })
    }

    /// Commits the entries above the chunks. If the kernel refuses, nothing visible changes.
    pub(crate) fn commit(&mut self, chunks: Range<usize>) -> Result<(), OsError> {
        for level in 0..G::LEVELS {
            let shift = TreeShape::<G>::LOG_PAGES[level] - G::LOG_CHUNK_PAGES;
            self.levels[level].commit(chunks.start >> shift..((chunks.end - 1) >> shift) + 1)?;
        }
        self.widen(chunks);
        Ok(())
    }

    /// Extends the tree to the chunks.
    fn widen(&mut self, chunks: Range<usize>) {
        let before = self.hull.clone();
        self.hull = if before.is_empty() {
            chunks
        } else {
            before.start.min(chunks.start)..before.end.max(chunks.end)
        };
        let in_one_block = |level: usize| {
            let block = |chunk: usize| {
                chunk >> (TreeShape::<G>::LOG_PAGES[level] - G::LOG_CHUNK_PAGES + TreeShape::<G>::BITS[level])
            };
            block(self.hull.start) == block(self.hull.end - 1)
        };
        let top = (1..G::LEVELS).rev().find(|&level| in_one_block(level)).unwrap_or(0);
        for level in (top..self.top).rev() {
            // The pages covered so far lie in one block of the level below.
            let entry = before.start >> (TreeShape::<G>::LOG_PAGES[level] - G::LOG_CHUNK_PAGES);
            self.remerge(level, entry);
        }
        self.top = top;
    }

    /// The highest maintained level.
    pub(crate) fn top(&self) -> usize {
        self.top
    }

    /// The entry of a level, if it is committed.
    #[inline(always)]
    pub(crate) fn get(&self, level: usize, entry: usize) -> Option<Summary> {
        self.levels[level].get(entry).copied()
    }

    /// The children of an entry of the level above `level`.
    #[inline(always)]
    pub(crate) fn children(&self, level: usize, parent: usize) -> &[Summary] {
        let bits = TreeShape::<G>::BITS[level];
        self.levels[level].block(parent << bits, 1 << bits)
    }

    /// The indexes of the committed entries of a level.
    pub(crate) fn existing(&self, level: usize) -> impl Iterator<Item = usize> {
        self.levels[level].existing()
    }

    /// The chunk's summary.
    #[inline(always)]
    pub(crate) fn leaf(&self, chunk: usize) -> Summary {
        self.get(TreeShape::<G>::LEAF, chunk).unwrap_or(Summary::FULL)
    }

    /// Stores the summary of a chunk after pages were freed, and updates the levels above.
    #[inline]
    pub(crate) fn freed(&mut self, chunk: usize, new: Summary) {
        self.change::<true, false>(chunk, new, 0, 0);
    }

    /// Stores the summary of a chunk after pages were allocated, and updates the levels above.
    #[inline]
    pub(crate) fn taken(&mut self, chunk: usize, new: Summary) {
        self.change::<false, false>(chunk, new, 0, 0);
    }

    /// Stores the summary of a chunk after `count` pages from `page` on were allocated, with no free page below, and
    /// updates the levels above.
    #[inline]
    pub(crate) fn taken_first(&mut self, chunk: usize, new: Summary, page: usize, count: usize) {
        self.change::<false, true>(chunk, new, page, count);
    }

    #[inline]
    fn change<const FREED: bool, const FIRST: bool>(
        &mut self,
        chunk: usize,
        new: Summary,
        page: usize,
        count: usize,
    ) {
        let Some(leaf) = self.levels[TreeShape::<G>::LEAF].get_mut(chunk) else { return };
        let old = *leaf;
        if old != new {
            *leaf = new;
            self.climb::<FREED, FIRST>(chunk, old, new, page, count);
        }
    }

    /// Updates the entries above a changed leaf, until one does not change.
    fn climb<const FREED: bool, const FIRST: bool>(
        &mut self,
        chunk: usize,
        mut old: Summary,
        mut new: Summary,
        page: usize,
        count: usize,
    ) {
        let mut entry = chunk;
        for level in (self.top..TreeShape::<G>::LEAF).rev() {
            let bits = TreeShape::<G>::BITS[level + 1];
            let index = entry & ((1 << bits) - 1);
            entry >>= bits;
            let Some(before) = self.get(level, entry) else { return };
            // The parent's longest run is elsewhere, and the child's ends join others as before.
            if new.same_ends(old) && old.max() < before.max() && new.max() <= before.max() {
                return;
            }
            let pages = 1 << TreeShape::<G>::LOG_PAGES[level];
            let rest = pages - (page & (pages - 1));
            let after = if FIRST && before.end() == rest as u64 {
                // The run was the only one and reached the entry's end, as after growth.
                Summary::tail(rest - count)
            } else {
                let children = self.children(level + 1, entry);
                if children.len() <= index {
                    return;
                }
                let log_pages = TreeShape::<G>::LOG_PAGES[level + 1];
                // The usual fan-out is a constant for the compiler.
                match <&[Summary; 8]>::try_from(children) {
                    Ok(eight) => revise::<FREED>(before, eight, log_pages, index, old, new),
                    Err(_) => revise::<FREED>(before, children, log_pages, index, old, new),
                }
            };
            if after == before {
                return;
            }
            self.store(level, entry, after);
            (old, new) = (before, after);
        }
    }

    /// Stores the summaries of the chunks from `first` to `last`, which differ: those of both ends, and one for all
    /// between them, which are wholly free or wholly in use. Then updates the levels above.
    pub(crate) fn set_leaves(&mut self, first: (usize, Summary), last: (usize, Summary), free_between: bool) {
        let leaf = TreeShape::<G>::LEAF;
        let (mut low, mut high) = (first.0, last.0);
        let between = |level: usize| {
            if free_between { Summary::all_free(TreeShape::<G>::LOG_PAGES[level]) } else { Summary::FULL }
        };
        self.store(leaf, low, first.1);
        self.store(leaf, high, last.1);
        self.levels[leaf].fill(low + 1..high, between(leaf));
        for level in (self.top..leaf).rev() {
            low >>= TreeShape::<G>::BITS[level + 1];
            high >>= TreeShape::<G>::BITS[level + 1];
            let mut changed = self.remerge(level, low);
            if low < high {
                changed |= self.remerge(level, high);
                self.levels[level].fill(low + 1..high, between(level));
            }
            // While the range has two ends in this level, the end run of the lower one changes; so here it is a single
            // entry.
            if !changed {
                return;
            }
        }
    }

    /// Recomputes an entry from its block; returns whether it changed.
    fn remerge(&mut self, level: usize, entry: usize) -> bool {
        let after = self.merged(level, entry);
        let changed = self.get(level, entry) != Some(after);
        self.store(level, entry, after);
        changed
    }

    #[inline(always)]
    fn merged(&self, level: usize, entry: usize) -> Summary {
        let children = self.children(level + 1, entry);
        let log_pages = TreeShape::<G>::LOG_PAGES[level + 1];
        // The usual fan-out is a constant for the compiler, which unrolls the loop.
        match <&[Summary; 8]>::try_from(children) {
            Ok(eight) => merge(eight, log_pages),
            Err(_) => merge(children, log_pages),
        }
    }

    #[inline(always)]
    pub(crate) fn store(&mut self, level: usize, entry: usize, value: Summary) {
        if let Some(stored) = self.levels[level].get_mut(entry) {
            *stored = value;
        }
    }

    /// The first run of `count` free pages. No page below `hint` is free.
    pub(crate) fn find(&self, hint: usize, count: usize) -> Option<RunStart> {
        let to_top = TreeShape::<G>::LOG_PAGES[self.top];
        let end = (self.hull.end << G::LOG_CHUNK_PAGES).div_ceil(1 << to_top);
        let (mut level, mut entry, mut end) = (self.top, hint >> to_top, end);
        'level: loop {
            let log_pages = TreeShape::<G>::LOG_PAGES[level];
            // The free pages directly below the entry, from the first entry of this search on.
            let mut run = 0;
            while entry < end {
                let Some(summary) = self.get(level, entry) else {
                    run = 0;
                    entry = self.levels[level].next_existing(entry);
                    continue;
                };
                if summary == Summary::FULL {
                    run = 0;
                    entry += 1;
                    continue;
                }
                if run + summary.start() as usize >= count {
                    return Some(RunStart::Page(PageIndex((entry << log_pages) - run)));
                }
                if summary.max() as usize >= count {
                    if level == TreeShape::<G>::LEAF {
                        return Some(RunStart::Chunk(ChunkIndex(entry)));
                    }
                    // A run that begins below this entry was too short, so the search continues in its block.
                    level += 1;
                    entry <<= TreeShape::<G>::BITS[level];
                    end = entry + (1 << TreeShape::<G>::BITS[level]);
                    continue 'level;
                }
                run = match summary.start() {
                    start if start >> log_pages != 0 => run + start as usize,
                    _ => summary.end() as usize,
                };
                entry += 1;
            }
            return None;
        }
    }
}
