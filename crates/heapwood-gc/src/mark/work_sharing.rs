//! Work sharing: handing edges to an idle marker, and receiving them. A marker shares the older half of its stack,
//! which leads to more objects than the younger half: in a tree these are the larger subtrees. Of a range it shares the
//! second half, so that all markers get a part of a wide array. Invariant: an edge, or a part of a range, belongs to
//! one marker or lies in one block.

use super::mode::{Limit, Mode, NextWork, Team};
use super::queue::Marker;
use super::scan::{SLICE_WORDS, WORD};
use super::stack::{MarkStacks, Range};

impl<M: Mode> Marker<'_, M> {
    /// Whether another marker waits for edges.
    #[inline(always)]
    pub(super) fn has_idle_marker(&self) -> bool {
        self.mode.team().has_idle_marker()
    }

    /// Adds an edge from a ring to the outgoing block; without room there, it goes back on the stack.
    pub(super) fn offer(&mut self, edge: usize) {
        match self.mode.team_mut().outgoing_block() {
            Some(block) if block.room() > 0 => block.push(edge),
            _ => self.push(edge),
        }
    }

    /// Hands over the offered edges, half of the stack, and half of a range. `has_more`: the marker keeps other edges
    /// even if it shares the only one on its stack.
    #[cold]
    #[inline(never)]
    pub(super) fn share_work(&mut self, has_more: bool) {
        let Some(block) = self.mode.team_mut().outgoing_block() else { return };
        let edges = self.stacks.edges.len();
        let shared = if edges == 1 && has_more { 1 } else { edges / 2 };
        self.stacks.edges.take_oldest(shared.min(block.room()), |oldest| block.push_all(oldest));
        if !block.has_range()
            && let Some(range) = self.range_to_share()
            && let Some(block) = self.mode.team_mut().outgoing_block()
        {
            block.put_range(range);
        }
        if self.mode.team_mut().outgoing_block().is_some_and(|block| !block.is_empty()) {
            self.mode.team_mut().hand_over();
        }
    }

    /// The oldest range if there are several, or the second half of the only one.
    fn range_to_share(&mut self) -> Option<Range> {
        let mut oldest = None;
        let several = self.stacks.ranges.len() > 1;
        if several {
            self.stacks.ranges.take_oldest(1, |range| oldest = range.first().copied());
            return oldest;
        }
        let mut range = self.stacks.ranges.pop()?;
        let bytes = range.end.saturating_sub(range.next);
        if bytes >= 2 * SLICE_WORDS * WORD {
            let element = self.part_bytes(range.shape);
            let half = range.next + bytes / 2 / element * element;
            if range.next < half {
                oldest = Some(Range { next: half, ..range });
                range.end = half;
            }
        }
        let kept = self.stacks.ranges.push(range);
        debug_assert!(kept, "there was room for it before");
        oldest
    }

    /// Takes over what another marker was asked to leave.
    pub(super) fn take_over(&mut self, left: &mut MarkStacks) {
        while let Some(range) = left.ranges.pop() {
            if !self.stacks.ranges.push(range) {
                self.scan_all(range);
            }
        }
        while let Some(edge) = left.edges.pop() {
            if !self.stacks.edges.push(edge) {
                self.edge_overflow(edge);
            }
        }
    }

    /// The marker's next work, when it has no edge left, or was asked to leave its edges for later.
    pub(super) fn next_work(&mut self) -> NextWork {
        let (rescan, late) = (self.rescan, self.mode.limit().was_late());
        let work = self.mode.team_mut().next_work(|| rescan.any() && !late);
        if work == NextWork::Edges {
            self.receive();
        }
        work
    }

    fn receive(&mut self) {
        if let Some(range) = self.mode.team_mut().received_block().and_then(|block| block.take_range())
            && !self.stacks.ranges.push(range)
        {
            self.scan_all(range);
        }
        while let Some(edge) = self.mode.team_mut().received_block().and_then(|block| block.pop()) {
            if !self.stacks.edges.push(edge) {
                self.edge_overflow(edge);
            }
        }
    }
}
