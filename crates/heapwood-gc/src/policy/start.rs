//! Whether the next full marking goes on beside the program, and when it starts: early enough to end before the heap has reached
//! its goal. Its lead is what the heap grows by while it lasts, by the rates measured last, and some more. What is promoted counts
//! as growth, not what is allocated: a program that allocates gigabytes and promotes little needs no early start. What is promoted
//! during a marking survives it, so a lead costs as much memory as of that is dead: where most of what is promoted dies the lead is
//! half of the room at most, while a program that builds a large structure may have all of it, and some more. Where the room is
//! too little for the lead the heap is marked in a stop if that is short. Go's pacer has the same purpose.
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
    /// The lead over the expected growth.
    margin: f64,
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
            margin: MARGIN,
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

    /// A marking beside the program has ended; it was `late` if it ended in a stop, since the goal was met first.
    pub fn after_concurrent(&mut self, cycle: MarkCycle, late: bool) {
        self.beside = Some(rate(cycle.marked, cycle.ns).max(LEAST_MARK_RATE));
        self.margin =
            if late { (self.margin * LATE).min(MOST_MARGIN) } else { (self.margin * IN_TIME).max(MARGIN) };
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

    /// The size of the heap at which the next marking starts beside the program, after a full collection that found `live`
    /// bytes; `None` if it is to be in a stop.
    pub fn line(&self, live: usize, goal: usize) -> Option<usize> {
        let room = goal.saturating_sub(live);
        let beside = self.beside.unwrap_or(self.in_stop * EXPECTED_SPEED);
        // A program may begin to grow fast after a long time in which it did not.
        let growth = self.growth.max(self.lately);
        let lead = growth * (live as f64 / beside) * self.margin;
        let most = (room as f64 * (1.0 - self.dying * MOST_FLOATING)) as usize;
        // A stop marks what is promoted until then, too, unless it dies.
        let marked = live as f64 + room as f64 * (1.0 - self.dying);
        if lead > most as f64 && marked / self.in_stop < SHORT_STOP_NS {
            return None;
        }
        Some(goal - (lead as usize).clamp(room / LEAST_PART, most))
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
        assert_eq!(policy.line(100 * MIB, 200 * MIB), Some(190 * MIB), "a heap that does not grow: a tenth");
        policy.after_concurrent(CYCLE, false);
        // 16 MiB in 100 ms: a quarter more than that.
        policy.after_growth(160 * MIB, 1_000_000_000);
        assert_eq!(policy.line(100 * MIB, 200 * MIB), Some(180 * MIB));
        assert_eq!(policy.line(200 * MIB, 400 * MIB), Some(360 * MIB), "twice as much takes twice as long");
        assert_eq!(
            policy.line(200 * MIB, 150 * MIB),
            Some(150 * MIB),
            "a limit may be less than what is alive"
        );
    }

    #[test]
    fn a_heap_that_grows_faster_than_it_is_marked_is_marked_in_a_stop_if_that_is_short() {
        let mut policy = StartPolicy::default();
        policy.after_full(100 * MIB, 100 * MIB, 100 * MIB);
        policy.after_growth(100 * MIB, 100_000_000);
        policy.after_stop(MarkCycle { marked: 100 * MIB, ns: 15_000_000 });
        assert_eq!(policy.line(100 * MIB, 140 * MIB), None);
        assert_eq!(policy.line(100 * MIB, 200 * MIB), Some(325 * MIB / 2), "with more room it has the time");
        assert_eq!(
            policy.line(400 * MIB, 560 * MIB),
            Some(480 * MIB),
            "a stop would be long: half of the room"
        );
    }

    /// 400 MiB, of which half is new, are marked in 100 ms, in which the program makes 300 MiB more.
    #[test]
    fn a_program_that_builds_a_large_structure_has_all_of_the_room() {
        let mut policy = StartPolicy::default();
        policy.after_concurrent(MarkCycle { marked: 400 * MIB, ns: 100_000_000 }, false);
        let mut end = |freed: usize| {
            policy.after_growth(300 * MIB, 100_000_000);
            policy.after_full(400 * MIB, 200 * MIB, freed);
            (
                policy.line(400 * MIB, 700 * MIB).unwrap() / MIB,
                policy.latest_end(420 * MIB, 700 * MIB) / MIB,
                policy.latest_end(800 * MIB, 700 * MIB) / MIB,
                policy.floating(300 * MIB) / MIB,
            )
        };
        // All that is promoted lives: the marking starts at once, and may last until the heap is a quarter beyond its goal.
        assert_eq!(end(0), (400, 875, 1000, 0));
        // Half of it dies.
        assert_eq!(end(100 * MIB), (475, 809, 925, 150));
        // As much dies as is promoted, or more.
        assert_eq!(end(200 * MIB), (550, 743, 850, 300));
        assert_eq!(end(250 * MIB), end(200 * MIB));
        // Two collections in a row: the second says nothing.
        policy.after_full(400 * MIB, MIB, 0);
        assert_eq!(policy.floating(300 * MIB) / MIB, 300);
    }

    /// Its marking in a stop would be short, but for what it makes until then.
    #[test]
    fn what_is_built_until_a_stop_makes_it_longer() {
        let mut policy = StartPolicy::default();
        policy.after_growth(400 * MIB, 100_000_000);
        policy.after_stop(MarkCycle { marked: 100 * MIB, ns: 25_000_000 });
        policy.after_full(100 * MIB, 50 * MIB, 50 * MIB);
        assert_eq!(policy.line(100 * MIB, 140 * MIB), None);
        policy.after_full(100 * MIB, 50 * MIB, 0);
        assert_eq!(policy.line(100 * MIB, 140 * MIB), Some(100 * MIB));
    }

    #[test]
    fn a_program_that_begins_to_grow_fast_starts_earlier() {
        let mut policy = StartPolicy::default();
        policy.after_concurrent(CYCLE, false);
        policy.after_growth(10 * MIB, 1_000_000_000);
        assert_eq!(policy.line(100 * MIB, 200 * MIB), Some(190 * MIB));
        assert!(policy.is_due(190 * MIB, 190 * MIB) && !policy.is_due(190 * MIB - 1, 190 * MIB));
        // 8 MiB in 20 ms, twice: 30 MiB in 100 ms, and a quarter more.
        (0..2).for_each(|_| policy.after_promotion(8 * MIB, 20_000_000));
        assert_eq!(policy.line(100 * MIB, 200 * MIB).map(|line| line.div_ceil(MIB)), Some(163));
        // The next pause would be beyond the line by more than this one is before it.
        assert!(policy.is_due(159 * MIB, 163 * MIB) && !policy.is_due(158 * MIB, 163 * MIB));
        // Long after that it counts no more.
        (0..20).for_each(|_| policy.after_promotion(0, 20_000_000));
        assert_eq!(policy.line(100 * MIB, 200 * MIB), Some(190 * MIB));
    }

    #[test]
    fn after_a_late_marking_the_next_starts_earlier() {
        let mut policy = StartPolicy::default();
        policy.after_growth(100 * MIB, 1_000_000_000);
        policy.after_concurrent(CYCLE, false);
        let line = |policy: &StartPolicy| 200 - policy.line(100 * MIB, 200 * MIB).unwrap().div_ceil(MIB);
        assert_eq!(line(&policy), 12);
        policy.after_concurrent(CYCLE, true);
        assert_eq!(line(&policy), 18);
        (0..10).for_each(|_| policy.after_concurrent(CYCLE, true));
        assert_eq!(line(&policy), 40);
        (0..20).for_each(|_| policy.after_concurrent(CYCLE, false));
        assert_eq!(line(&policy), 12);
    }
}
