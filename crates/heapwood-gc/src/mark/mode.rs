//! How a marker marks: alone, alone for a time, in steps, or together with others. The marking loop is compiled for each. Alone,
//! everything here is a constant, so that one marker runs the loop that it would run if there were no others.
//! Invariant: all markers of a marking have the same mode.

use super::bits::{Collected, MarkBits, Plain};
use super::blocks::{Block, Blocks};
use super::crew::{BlockId, Crew, Next};
#[cfg(feature = "stepped")]
use crate::inject::{Fault, FaultInjector};
#[cfg(feature = "stepped")]
use heapwood_heap::MarkSide;
use heapwood_os::clock::monotonic_ns;

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

/// Which mode it is, for those who know a marker by its address only.
#[derive(Clone, Copy)]
pub(super) enum ModeName {
    Alone,
    Young,
    Together,
    #[cfg(feature = "stepped")]
    Stepped,
    #[cfg(feature = "stepped")]
    Beside,
    /// It is no marker, but the write barrier.
    Barrier,
}

/// How a marker marks.
pub(super) trait Mode {
    const NAME: ModeName;
    /// Several mark.
    const SEVERAL: bool = false;
    /// It may end before everything is marked.
    const BOUNDED: bool = false;
    /// It goes on while mutators run: it marks what existed when it began, and leaves nothing undone but objects' edges.
    const SNAPSHOT: bool = false;
    type Bits: MarkBits;

    /// An object was not marked, and now is.
    #[inline(always)]
    fn marked(&self, _: usize) {}

    /// Whether another marker waits for edges.
    #[inline(always)]
    fn is_wanted(&self) -> bool {
        false
    }

    /// Whether it is time to end.
    fn is_late(&mut self) -> bool {
        false
    }

    /// Whether that was said.
    fn was_late(&self) -> bool {
        false
    }

    /// The block for the edges that it is going to give away, if there is one.
    fn gift(&mut self) -> Option<&mut Block> {
        None
    }

    /// Gives that block away.
    fn give(&mut self) {}

    /// Waits for work, holding no edge; `is_left` says whether there is something to scan again.
    fn next(&mut self, is_left: impl Fn() -> bool) -> Work {
        if is_left() { Work::Rescan } else { Work::None }
    }

    /// The block that `next` came back with.
    fn received(&mut self) -> Option<&mut Block> {
        None
    }
}

/// One thread marks.
pub(super) struct Alone;

impl Mode for Alone {
    const NAME: ModeName = ModeName::Alone;
    type Bits = Plain;
}

/// One thread marks what is young, for some time at most.
pub(super) struct Young {
    /// When that is over, in nanoseconds of the monotonic clock.
    deadline: u64,
    late: bool,
}

impl Young {
    pub(super) fn until(deadline: u64) -> Self {
        Young { deadline, late: false }
    }
}

impl Mode for Young {
    const NAME: ModeName = ModeName::Young;
    const BOUNDED: bool = true;
    type Bits = Plain;

    fn is_late(&mut self) -> bool {
        self.late |= monotonic_ns() > self.deadline;
        self.late
    }

    fn was_late(&self) -> bool {
        self.late
    }

    fn next(&mut self, is_left: impl Fn() -> bool) -> Work {
        if is_left() && !self.late { Work::Rescan } else { Work::None }
    }
}

/// One thread marks everything in steps, between which mutators run.
#[cfg(feature = "stepped")]
pub(super) struct Stepped;

#[cfg(feature = "stepped")]
impl Mode for Stepped {
    const NAME: ModeName = ModeName::Stepped;
    const SNAPSHOT: bool = true;
    type Bits = Plain;

    fn next(&mut self, _: impl Fn() -> bool) -> Work {
        Work::None
    }
}

/// One thread marks what is young while a full marking is under way: what outlives this is marked for both.
#[cfg(feature = "stepped")]
pub(super) struct Beside<'h> {
    young: Young,
    full: MarkSide,
    faults: &'h FaultInjector,
}

#[cfg(feature = "stepped")]
impl<'h> Beside<'h> {
    /// `full` takes the marks of the full one.
    pub(super) fn new(young: Young, full: MarkSide, faults: &'h FaultInjector) -> Self {
        Beside { young, full, faults }
    }
}

#[cfg(feature = "stepped")]
impl Mode for Beside<'_> {
    const NAME: ModeName = ModeName::Beside;
    const BOUNDED: bool = true;
    type Bits = Plain;

    fn marked(&self, object: usize) {
        if !self.faults.fails(Fault::SurvivorUnmarked) {
            // SAFETY: the object was marked just now, and mutators are stopped.
            unsafe { self.full.set(object) };
        }
    }

    fn is_late(&mut self) -> bool {
        self.young.is_late()
    }

    fn was_late(&self) -> bool {
        self.young.was_late()
    }

    fn next(&mut self, is_left: impl Fn() -> bool) -> Work {
        self.young.next(is_left)
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
    const NAME: ModeName = ModeName::Together;
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
