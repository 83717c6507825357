//! Whether the next full marking goes on beside the program, and when it starts: early enough to end before the heap has reached
//! its goal. Its lead is what the heap grows by while it lasts, by the rates measured last, and some more. What is promoted counts
//! as growth, not what is allocated: a program that allocates gigabytes and promotes little needs no early start. What is promoted
//! during a marking survives it, so a lead costs as much memory as of that is dead: where all of what is promoted dies the lead is
//! a quarter of the room at most, while a program that builds a large structure may have all of it, and some more. A heap
//! whose stop would be shorter than the option `max_pause` is marked in one. A program that is faster than its marker is slowed
//! down (`pace`). Go's pacer has the same purpose.
//! Invariant: the line lies between the start of the room and the goal.

use super::tunables::start::*;

/// What one marking did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarkCycle {
    /// Bytes that it marked.
    pub marked: usize,
    /// Nanoseconds that it took, from its start to its end.
    pub ns: u64,
}

/// The start of concurrent markings.
#[derive(Clone, Copy, Debug)]
pub struct StartPolicy {
    /// Bytes marked a nanosecond, in a stop and beside the program.
    in_stop: f64,
    beside: Option<f64>,
    /// Bytes by which the heap grew a nanosecond between the last two full collections.
    growth: f64,
    /// The same in the pauses of late, and the bytes that the last one promoted.
    lately: f64,
    promoted: usize,
    /// The part of what is promoted that is dead when it is marked the first time.
    dying: f64,
}

impl Default for StartPolicy {
    fn default() -> Self {
        StartPolicy {
            in_stop: FIRST_MARK_RATE,
            beside: None,
            growth: 0.0,
            lately: 0.0,
            promoted: 0,
            dying: 0.0,
        }
    }
}

fn rate(bytes: usize, ns: u64) -> f64 {
    bytes as f64 / ns.max(1) as f64
}

impl StartPolicy {
    /// A marking in a stop has ended.
    pub fn after_stop(&mut self, cycle: MarkCycle) {
        self.in_stop = rate(cycle.marked, cycle.ns).max(LEAST_MARK_RATE);
    }

    /// A marking beside the program has ended.
    pub fn after_concurrent(&mut self, cycle: MarkCycle) {
        let beside = rate(cycle.marked, cycle.ns).max(LEAST_MARK_RATE);
        (self.beside, self.in_stop) = (Some(beside), beside / EXPECTED_SPEED);
    }

    /// A full collection has found `live` bytes and `freed` some; `promoted` bytes it saw for the first time. Whatever was freed
    /// counts as a part of these: a heap that does not grow frees as much as is promoted. Few bytes say little.
    pub fn after_full(&mut self, live: usize, promoted: usize, freed: usize) {
        if promoted > live / LEARNS_PART {
            self.dying = (freed as f64 / promoted as f64).min(1.0);
        }
    }

    /// How many of `bytes` that were promoted during a marking are expected to be dead.
    pub fn floating(&self, bytes: usize) -> usize {
        (bytes as f64 * self.dying) as usize
    }

    /// The size of a heap at which a marking is late that starts at this `size`: a little more than its goal, or much more where
    /// little dies. Such a heap grows whatever is collected, and its next goal will be larger by far.
    pub fn latest_end(&self, size: usize, goal: usize) -> usize {
        let goal = goal.max(size);
        let part = SLIP_OF_GARBAGE + (SLIP - SLIP_OF_GARBAGE) * (1.0 - self.dying);
        goal.saturating_add((goal as f64 * part) as usize)
    }

    /// Between two full collections the heap grew by N bytes, in this time.
    pub fn after_growth(&mut self, grown: usize, ns: u64) {
        self.growth = rate(grown, ns);
        self.promoted = 0;
    }

    /// A young collection promoted N bytes, this time after the collection before.
    pub fn after_promotion(&mut self, promoted: usize, ns: u64) {
        self.lately = (self.lately + rate(promoted, ns)) / 2.0;
        self.promoted = promoted;
    }

    /// Whether a marking is due in a heap of `size` bytes: the next collection would come nearer to its end than to its line.
    pub fn is_due(&self, size: usize, line: usize) -> bool {
        size + self.promoted / 2 >= line
    }

    /// Whether marking a heap in a stop when it has reached its goal would take no more than N nanoseconds; the last full collection
    /// found `live` bytes. A stop marks what is promoted until then, too, unless it dies.
    fn is_short(&self, live: usize, goal: usize, ns: f64) -> bool {
        let room = goal.saturating_sub(live) as f64;
        let marked = live as f64 + room * (1.0 - self.dying);
        marked / self.in_stop < ns
    }

    /// The size of the heap at which the next marking starts beside the program, after a full collection that found `live`
    /// bytes; `None` if in a stop it would take less than `short_ns`.
    pub fn line(&self, live: usize, goal: usize, short_ns: f64) -> Option<usize> {
        if self.is_short(live, goal, short_ns) {
            return None;
        }
        let room = goal.saturating_sub(live);
        let beside = self.beside.unwrap_or(self.in_stop * EXPECTED_SPEED);
        // A program may begin to grow fast after a long time in which it did not.
        let growth = self.growth.max(self.lately);
        let lead = growth * (live as f64 / beside) * MARGIN;
        let most = (room as f64 * (1.0 - self.dying * SPARED)) as usize;
        Some(goal - (lead as usize).clamp((room / LEAST_PART).min(most), most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    /// 100 MiB in 100 ms.
    const CYCLE: MarkCycle = MarkCycle { marked: 100 * MIB, ns: 100_000_000 };

    #[test]
    fn a_marking_starts_early_enough_to_end_before_the_goal() {
        let mut policy = StartPolicy::default();
        assert_eq!(
            policy.line(100 * MIB, 200 * MIB, 0.0),
            Some(190 * MIB),
            "a heap that does not grow: a tenth"
        );
        policy.after_concurrent(CYCLE);
        // 16 MiB in 100 ms: a quarter more than that.
        policy.after_growth(160 * MIB, 1_000_000_000);
        assert_eq!(policy.line(100 * MIB, 200 * MIB, 0.0), Some(180 * MIB));
        assert_eq!(
            policy.line(200 * MIB, 400 * MIB, 0.0),
            Some(360 * MIB),
            "twice as much takes twice as long"
        );
        assert_eq!(
            policy.line(200 * MIB, 150 * MIB, 0.0),
            Some(150 * MIB),
            "a limit may be less than what is alive"
        );
    }

    #[test]
    fn a_heap_is_marked_in_a_stop_if_that_is_short() {
        let mut policy = StartPolicy::default();
        policy.after_full(100 * MIB, 100 * MIB, 100 * MIB);
        policy.after_growth(100 * MIB, 100_000_000);
        policy.after_stop(MarkCycle { marked: 100 * MIB, ns: 15_000_000 });
        let line = |ns: f64| policy.line(100 * MIB, 140 * MIB, ns);
        assert_eq!(line(16e6), None);
        assert_eq!(line(14e6), Some(130 * MIB), "it grows faster than it is marked: a quarter of the room");
        // A marking beside the program says how long a stop would be, too.
        policy.after_concurrent(MarkCycle { marked: 100 * MIB, ns: 20_000_000 });
        assert_eq!(policy.line(100 * MIB, 140 * MIB, 11e6), None);
        assert!(policy.line(100 * MIB, 140 * MIB, 9e6).is_some());
    }

    /// 400 MiB, of which half is new, are marked in 100 ms, in which the program makes 300 MiB more.
    #[test]
    fn a_program_that_builds_a_large_structure_has_all_of_the_room() {
        let mut policy = StartPolicy::default();
        policy.after_concurrent(MarkCycle { marked: 400 * MIB, ns: 100_000_000 });
        let mut end = |freed: usize| {
            policy.after_growth(300 * MIB, 100_000_000);
            policy.after_full(400 * MIB, 200 * MIB, freed);
            (
                policy.line(400 * MIB, 700 * MIB, 0.0).unwrap() / MIB,
                policy.latest_end(420 * MIB, 700 * MIB) / MIB,
                policy.latest_end(800 * MIB, 700 * MIB) / MIB,
                policy.floating(300 * MIB) / MIB,
            )
        };
        // All that is promoted lives: the marking starts at once, and may last until the heap is a quarter beyond its goal.
        assert_eq!(end(0), (400, 875, 1000, 0));
        // Half of it dies.
        assert_eq!(end(100 * MIB), (512, 809, 925, 150));
        // As much dies as is promoted, or more.
        assert_eq!(end(200 * MIB), (625, 743, 850, 300));
        assert_eq!(end(250 * MIB), end(200 * MIB));
        // Two collections in a row: the second says nothing.
        policy.after_full(400 * MIB, MIB, 0);
        assert_eq!(policy.floating(300 * MIB) / MIB, 300);
    }

    #[test]
    fn what_is_built_until_a_stop_makes_it_longer() {
        let mut policy = StartPolicy::default();
        policy.after_growth(400 * MIB, 100_000_000);
        policy.after_stop(MarkCycle { marked: 100 * MIB, ns: 25_000_000 });
        policy.after_full(100 * MIB, 50 * MIB, 50 * MIB);
        assert_eq!(policy.line(100 * MIB, 140 * MIB, 30e6), None);
        policy.after_full(100 * MIB, 50 * MIB, 0);
        assert_eq!(policy.line(100 * MIB, 140 * MIB, 30e6), Some(100 * MIB));
    }
}
