//! When more threads help with a marking beside the program: while the heap fills faster than it is marked. Help is rationed,
//! since the cores are the program's: turns are as short, and as far apart, that of any ten milliseconds of a core help takes a
//! quarter at most, and no allocation waits. In Go the mutators themselves assist, and a fractional worker marks
//! for part of the time; helpers do both here, so that no trace function runs in the middle of an allocation.
//! Invariant: no turn begins before the rest after the last has ended.

use super::tunables::assist::*;

/// How far a marking and the heap have come, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// What was marked, and what is expected to be alive.
    pub(crate) marked: usize,
    pub(crate) expected: usize,
    /// The size of the heap when the marking started, now, and at its goal.
    pub(crate) start: usize,
    pub(crate) size: usize,
    pub(crate) goal: usize,
}

impl Progress {
    /// Whether a larger part of the room is used up than of the heap is marked.
    fn is_behind(&self) -> bool {
        let room = self.goal.saturating_sub(self.start) as f64;
        let (left, unmarked) =
            (self.goal.saturating_sub(self.size) as f64, self.expected.saturating_sub(self.marked) as f64);
        left * (self.expected as f64) < unmarked * room
    }
}

/// What a slice of the marking is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Others help.
    pub(crate) helps: bool,
    /// When it ends at the latest, in nanoseconds of the monotonic clock.
    pub(crate) until: Option<u64>,
}

/// The ration of help of one heap.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AssistPolicy {
    rests_until: u64,
}

impl AssistPolicy {
    /// The next turn, from `now` on.
    pub(crate) fn next(&self, now: u64, progress: &Progress) -> Turn {
        match progress.is_behind() {
            false => Turn { helps: false, until: None },
            true if now < self.rests_until => Turn { helps: false, until: Some(self.rests_until) },
            true => Turn { helps: true, until: Some(now + TURN_NS) },
        }
    }

    /// A turn with help has ended.
    pub(crate) fn after_turn(&mut self, ended: u64) {
        self.rests_until = ended + REST_NS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    /// Of 100 MiB 60 are marked, and the heap may grow from 150 MiB to 200.
    fn progress(size: usize) -> Progress {
        Progress { marked: 60 * MIB, expected: 100 * MIB, start: 150 * MIB, size, goal: 200 * MIB }
    }

    #[test]
    fn others_help_where_the_heap_fills_faster_than_it_is_marked() {
        let policy = AssistPolicy::default();
        assert_eq!(policy.next(5, &progress(180 * MIB)), Turn { helps: false, until: None });
        assert_eq!(policy.next(5, &progress(181 * MIB)), Turn { helps: true, until: Some(5 + TURN_NS) });
        assert!(policy.next(5, &progress(300 * MIB)).helps, "beyond the goal");
        let more = Progress { marked: 101 * MIB, ..progress(300 * MIB) };
        assert!(
            !policy.next(5, &more).helps,
            "more is alive than was expected: nothing is known of the rest"
        );
        assert!(!policy.next(5, &Progress { marked: 0, ..progress(150 * MIB) }).helps, "it has just started");
    }

    #[test]
    fn help_takes_a_quarter_of_any_ten_milliseconds() {
        let (mut policy, mut now) = (AssistPolicy::default(), 0);
        let mut turns = Vec::new();
        // A pause ends every third turn early.
        for i in 0..1000 {
            let turn = policy.next(now, &progress(190 * MIB));
            let end = turn.until.unwrap() - if i % 3 == 0 { TURN_NS / 3 } else { 0 };
            if turn.helps {
                turns.push(now..end);
                policy.after_turn(end);
            }
            now = end.max(now + 1);
        }
        assert!(turns.len() > 300);
        for first in &turns {
            // The busiest ten milliseconds begin with a turn.
            let window = first.start..first.start + 10_000_000;
            let helped: u64 =
                turns.iter().map(|t| t.end.min(window.end).saturating_sub(t.start.max(window.start))).sum();
            assert!(helped <= 2_500_000, "{helped} of {window:?}");
        }
    }
}
