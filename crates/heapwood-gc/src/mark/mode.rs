//! Alone or together: what the marking loop is compiled for. Alone, everything here is a constant, so that one marker runs
//! the loop that it would run if there were no others.
//! Invariant: all markers of a marking have the same mode.

use super::bits::{Collected, MarkBits, Plain};
use super::blocks::{Block, Blocks};
use super::crew::{BlockId, Crew, Next};

/// What a marker without edges does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// It follows those that it has been given.
    Edges,
    /// It scans again what a full stack has left.
    Rescan,
    /// Nothing.
    None,
}

/// How a marker marks.
pub(super) trait Mode {
    /// Several mark.
    const SEVERAL: bool;
    type Bits: MarkBits;

    /// Whether another marker waits for edges.
    fn is_wanted(&self) -> bool;

    /// The block for the edges that it is going to give away, if there is one.
    fn gift(&mut self) -> Option<&mut Block>;

    /// Gives that block away.
    fn give(&mut self);

    /// Waits for work, holding no edge; `is_left` says whether there is something to scan again.
    fn next(&mut self, is_left: impl Fn() -> bool) -> Work;

    /// The block that `next` came back with.
    fn received(&mut self) -> Option<&mut Block>;
}

/// One thread marks.
pub(super) struct Alone;

impl Mode for Alone {
    const SEVERAL: bool = false;
    type Bits = Plain;

    #[inline(always)]
    fn is_wanted(&self) -> bool {
        false
    }

    fn gift(&mut self) -> Option<&mut Block> {
        None
    }

    fn give(&mut self) {}

    fn next(&mut self, is_left: impl Fn() -> bool) -> Work {
        if is_left() { Work::Rescan } else { Work::None }
    }

    fn received(&mut self) -> Option<&mut Block> {
        None
    }
}

/// Several threads mark, of which this is one.
pub(super) struct Together<'h> {
    crew: &'h Crew,
    blocks: &'h Blocks,
    /// A block of this marker's own: what it received last, or is going to give.
    own: Option<BlockId>,
    /// It is counted as waiting.
    waits: bool,
}

impl<'h> Together<'h> {
    /// A member of a crew: the collector, or one that has joined and so waits.
    pub(super) fn new(crew: &'h Crew, blocks: &'h Blocks, waits: bool) -> Self {
        Together { crew, blocks, own: None, waits }
    }
}

impl Mode for Together<'_> {
    const SEVERAL: bool = true;
    type Bits = Collected;

    #[inline(always)]
    fn is_wanted(&self) -> bool {
        self.crew.is_wanted()
    }

    fn gift(&mut self) -> Option<&mut Block> {
        if self.own.is_none() {
            self.own = self.crew.empty_block();
        }
        self.received()
    }

    fn give(&mut self) {
        if let Some(block) = self.own.take() {
            self.crew.give(block);
        }
    }

    fn next(&mut self, is_left: impl Fn() -> bool) -> Work {
        match self.crew.next(core::mem::take(&mut self.waits), is_left) {
            Next::Follow(block) => {
                if let Some(other) = self.own.replace(block) {
                    self.crew.free(other);
                }
                Work::Edges
            }
            Next::Rescan => Work::Rescan,
            Next::End => Work::None,
        }
    }

    fn received(&mut self) -> Option<&mut Block> {
        let own = self.own.as_mut()?;
        Some(self.blocks.get(own))
    }
}

impl Drop for Together<'_> {
    fn drop(&mut self) {
        if let Some(own) = self.own.take() {
            self.crew.free(own);
        }
    }
}
