//! When a concurrent marking starts: early enough to end before the heap has reached its goal. The line is the goal, less what is
//! promoted while the marking lasts, by the rates of the last one, and a quarter more; at most half of the room that the last
//! full collection left, and no less than a tenth. What is promoted counts, not what is allocated: a program that allocates
//! gigabytes and promotes little needs no early start. Go's pacer has the same purpose.
//! Invariant: the line lies between the middle of the room and the goal.

use super::tunables::start::*;

/// What one concurrent marking did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConcurrentCycle {
    /// Bytes that it marked, and the nanoseconds from its start to its end.
    pub marked: usize,
    pub ns: u64,
    /// Bytes by which the heap grew meanwhile.
    pub grown: usize,
}

/// The start of concurrent markings.
#[derive(Clone, Copy, Debug)]
pub struct StartPolicy {
    /// Bytes marked a nanosecond.
    mark_rate: f64,
    /// Bytes by which the heap grows a nanosecond.
    growth_rate: f64,
}

impl Default for StartPolicy {
    fn default() -> Self {
        StartPolicy { mark_rate: FIRST_MARK_RATE, growth_rate: f64::MAX }
    }
}

impl StartPolicy {
    /// A marking has ended.
    pub fn after_marking(&mut self, cycle: ConcurrentCycle) {
        let ns = cycle.ns.max(1) as f64;
        self.mark_rate = (cycle.marked as f64 / ns).max(LEAST_MARK_RATE);
        self.growth_rate = cycle.grown as f64 / ns;
    }

    /// The marking was ended in a stop, since the goal was met first: the next starts as early as it may.
    pub fn was_late(&mut self) {
        self.growth_rate = f64::MAX;
    }

    /// The size of the heap at which the next marking starts, if `live` bytes were alive when the last full collection ended.
    pub fn line(&self, live: usize, goal: usize) -> usize {
        let room = goal.saturating_sub(live);
        let lead = self.growth_rate * (live as f64 / self.mark_rate) * MARGIN;
        // A number that is too large becomes the largest.
        goal - (lead as usize).clamp(room / LEAST_PART, room / MOST_PART)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_marking_starts_early_enough_to_end_before_the_goal() {
        let mut policy = StartPolicy::default();
        assert_eq!(policy.line(100 * MIB, 200 * MIB), 150 * MIB, "nothing is known: as early as it may");
        // 100 MiB in 100 ms, while the heap grew by 16 MiB: a quarter more than that.
        let cycle = ConcurrentCycle { marked: 100 * MIB, ns: 100_000_000, grown: 16 * MIB };
        policy.after_marking(cycle);
        assert_eq!(policy.line(100 * MIB, 200 * MIB), 180 * MIB);
        assert_eq!(policy.line(200 * MIB, 400 * MIB), 360 * MIB, "twice as much takes twice as long");
        // It grows as fast as it is marked: half of the room is the most.
        policy.after_marking(ConcurrentCycle { grown: 100 * MIB, ..cycle });
        assert_eq!(policy.line(100 * MIB, 200 * MIB), 150 * MIB);
        policy.after_marking(ConcurrentCycle { grown: 0, ..cycle });
        assert_eq!(policy.line(100 * MIB, 200 * MIB), 190 * MIB);
        policy.was_late();
        assert_eq!(policy.line(100 * MIB, 200 * MIB), 150 * MIB);
        assert_eq!(policy.line(200 * MIB, 150 * MIB), 150 * MIB, "a limit may be less than what is alive");
    }
}
