//! How much may be allocated while a marking goes on beside the program: as large a part of the room as of the heap is marked. Who
//! allocates more waits for the marker, in small parts, so no marking is late, however fast the program allocates. Shenandoah paces
//! allocation in the same way; in Go mutators mark themselves. Here no trace function runs in the middle of an allocation.
//! Invariant: before a marking ends it has not granted the whole room.

use super::tunables::pace::*;

/// The room of a marking beside the program, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkPace {
    /// The size of the heap when the marking started, and the one that it is to have at most when it ends.
    pub(crate) start: usize,
    pub(crate) goal: usize,
    /// What is expected to be marked.
    pub(crate) expected: usize,
}

impl MarkPace {
    /// The size that the heap may have when so much is marked.
    fn size(&self, marked: usize) -> usize {
        let ahead = self.expected / PART_AHEAD;
        let (done, all) = (marked + ahead, self.expected.max(marked + marked / PART_UNSEEN) + ahead);
        let room = self.goal.saturating_sub(self.start) as f64;
        self.start + (room * done as f64 / all.max(1) as f64) as usize
    }

    /// How much may be allocated since the last collection, which left a heap of `size` bytes, if this part of it survives.
    pub(crate) fn budget(&self, marked: usize, size: usize, survival: f64) -> usize {
        (self.size(marked).saturating_sub(size) as f64 / survival.max(LEAST_SURVIVAL)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    const PACE: MarkPace = MarkPace { start: 150 * MIB, goal: 198 * MIB, expected: 96 * MIB };

    #[test]
    fn the_room_is_granted_as_the_heap_is_marked() {
        let sizes = [0, 24, 48, 96, 192].map(|marked| PACE.size(marked * MIB) / MIB);
        assert_eq!(sizes, [152, 164, 175, 195, 195]);
        assert!(
            PACE.size(usize::MAX / 4) < PACE.goal,
            "more was alive than expected: nothing is known of the rest"
        );
    }

    #[test]
    fn what_dies_young_takes_no_room() {
        assert_eq!(PACE.budget(24 * MIB, 160 * MIB, 1.0) / MIB, 4);
        assert_eq!(PACE.budget(24 * MIB, 160 * MIB, 0.25) / MIB, 16);
        assert_eq!(PACE.budget(24 * MIB, 170 * MIB, 1.0), 0);
        assert!(PACE.budget(24 * MIB, 150 * MIB, 0.0) < usize::MAX);
    }
}
