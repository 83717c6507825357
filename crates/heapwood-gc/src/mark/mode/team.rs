//! The team of a marking: one thread, or several that hand blocks of edges to each other (`marker_pool`). Who marks a
//! stopped heap has the token of its stop; beside the program there is none, so what only a stopped heap allows cannot be
//! written there. Invariant: a marker that waits for work holds no edge, unless it was asked to leave its edges for later.

use super::super::bits::{BatchedBits, MarkBits, Plain};
use super::super::blocks::{Block, Blocks};
use super::super::marker_pool::{BlockId, MarkerPool, PoolWork};
use core::marker::PhantomData;
use heapwood_heap::Stopped;

/// The next work of a marker without edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mark) enum NextWork {
    /// To follow the edges that it received.
    Edges,
    /// To scan again the objects that a full stack deferred.
    Rescan,
    /// None: the marking has ended.
    None,
}

/// The team of a marking.
pub(in crate::mark) trait Team {
    /// Several threads mark.
    const SEVERAL: bool = false;
    type Bits: MarkBits;

    /// Whether another marker waits for edges.
    #[inline(always)]
    fn has_idle_marker(&self) -> bool {
        false
    }

    /// The block in which the marker collects edges to share, if one is free.
    fn outgoing_block(&mut self) -> Option<&mut Block> {
        None
    }

    /// Hands that block over.
    fn hand_over(&mut self) {}

    /// Waits for work; the caller holds no edge. `is_left` tells whether the rescan set has spans.
    fn next_work(&mut self, is_left: impl Fn() -> bool) -> NextWork {
        if is_left() { NextWork::Rescan } else { NextWork::None }
    }

    /// The block that `next_work` received.
    fn received_block(&mut self) -> Option<&mut Block> {
        None
    }
}

/// One thread marks a stopped heap.
pub(in crate::mark) struct Alone<'h>(PhantomData<&'h ()>);

impl<'h> Alone<'h> {
    /// Marks while the heap is stopped.
    pub(in crate::mark) fn new(_: &'h Stopped<'_>) -> Self {
        Alone(PhantomData)
    }
}

impl Team for Alone<'_> {
    type Bits = Plain;
}

/// One thread marks beside mutators, which read marks.
pub(in crate::mark) struct Concurrent;

impl Team for Concurrent {
    type Bits = Plain;
}

/// One of several threads that mark.
pub(in crate::mark) struct Together<'h> {
    pool: &'h MarkerPool,
    blocks: &'h Blocks,
    /// The marker's own block: the last that it received, or the next that it hands over.
    own: Option<BlockId>,
    /// The pool counts it as waiting.
    waits: bool,
}

impl<'h> Together<'h> {
    /// A member of a pool that marks a stopped heap. `waits` is false for the collector; a helper that has joined waits.
    pub(in crate::mark) fn new(_: &'h Stopped<'_>, pool: (&'h MarkerPool, &'h Blocks), waits: bool) -> Self {
        Self::beside_program(pool, waits)
    }

    /// The same while mutators run, which read marks.
    pub(in crate::mark) fn beside_program((pool, blocks): (&'h MarkerPool, &'h Blocks), waits: bool) -> Self {
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
