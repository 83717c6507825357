//! Who marks: one thread, or several that hand blocks of edges to each other (`marker_pool`). Invariant: a marker that waits
//! for work holds no edge.

use super::super::bits::{BatchedBits, MarkBits, Plain};
use super::super::blocks::{Block, Blocks};
use super::super::marker_pool::{BlockId, MarkerPool, PoolWork};

/// What a marker without edges does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mark) enum NextWork {
    /// It follows those that it has received.
    Edges,
    /// It scans again what a full stack has left.
    Rescan,
    /// Nothing.
    None,
}

/// Who marks.
pub(in crate::mark) trait Team {
    /// Several mark.
    const SEVERAL: bool = false;
    type Bits: MarkBits;

    /// Whether another marker waits for edges.
    #[inline(always)]
    fn has_idle_marker(&self) -> bool {
        false
    }

    /// The block for the edges that it is going to share, if there is one.
    fn outgoing_block(&mut self) -> Option<&mut Block> {
        None
    }

    /// Hands that block over.
    fn hand_over(&mut self) {}

    /// Waits for work, holding no edge; `is_left` says whether there is something to scan again.
    fn next_work(&mut self, is_left: impl Fn() -> bool) -> NextWork {
        if is_left() { NextWork::Rescan } else { NextWork::None }
    }

    /// The block that `next_work` came back with.
    fn received_block(&mut self) -> Option<&mut Block> {
        None
    }
}

/// One thread marks.
pub(in crate::mark) struct Alone;

impl Team for Alone {
    type Bits = Plain;
}

/// Several threads mark, and this is one of them.
pub(in crate::mark) struct Together<'h> {
    pool: &'h MarkerPool,
    blocks: &'h Blocks,
    /// A block of this marker's own: the last that it received, or the next that it hands over.
    own: Option<BlockId>,
    /// It is counted as waiting.
    waits: bool,
}

impl<'h> Together<'h> {
    /// A member of a pool: the collector, or one that has joined and so waits.
    pub(in crate::mark) fn new(pool: &'h MarkerPool, blocks: &'h Blocks, waits: bool) -> Self {
        Together { pool, blocks, own: None, waits }
    }
}

impl Team for Together<'_> {
    const SEVERAL: bool = true;
    type Bits = BatchedBits;

    #[inline(always)]
    fn has_idle_marker(&self) -> bool {
        self.pool.has_idle_marker()
    }

    fn outgoing_block(&mut self) -> Option<&mut Block> {
        if self.own.is_none() {
            self.own = self.pool.empty_block();
        }
        self.received_block()
    }

    fn hand_over(&mut self) {
        if let Some(block) = self.own.take() {
            self.pool.hand_over(block);
        }
    }

    fn next_work(&mut self, is_left: impl Fn() -> bool) -> NextWork {
        match self.pool.next(core::mem::take(&mut self.waits), is_left) {
            PoolWork::Follow(block) => {
                if let Some(other) = self.own.replace(block) {
                    self.pool.free(other);
                }
                NextWork::Edges
            }
            PoolWork::Rescan => NextWork::Rescan,
            PoolWork::End => NextWork::None,
        }
    }

    fn received_block(&mut self) -> Option<&mut Block> {
        let own = self.own.as_mut()?;
        Some(self.blocks.get(own))
    }
}

impl Drop for Together<'_> {
    fn drop(&mut self) {
        if let Some(own) = self.own.take() {
            self.pool.free(own);
        }
    }
}
