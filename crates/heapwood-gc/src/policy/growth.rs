//! Growth: how far a heap may grow beyond what is alive before the next full collection. The cost of collecting decides: if all
//! collections since the last full one took more than [`WANTED_CPU`] of the process's CPU time, the heap may grow by more next
//! time, and by less if they took less. So pointer-free data, which is cheap to collect, takes little more than itself, and
//! dense graphs take what `percent` allows. V8 derives its growing factor from the same two rates; here their ratio scales the
//! last growth, so that young collections count as well. What a small heap costs allocation counts, too: central
//! refills that bring little because a mutator may hold little. After a full collection that freed little the program is still
//! growing, and the heap grows faster. More room is fresh memory, and its first touch costs, too: so a heap grows by no more than
//! what can be touched in the time that its collections took. Much room must save more than little ([`wanted_cpu`]). A large heap grows
//! by a smaller part: it would save little time for much memory.
//! Invariant: growth lies between [`LEAST_PERCENT`] and the option `percent` of what is alive, but a small heap may grow to
//! [`SMALL`] for each mutator that allocates.

use super::tunables::growth::*;
use crate::settings::options::Config;

/// The cost of all collections since the last full one, and the CPU time of the process meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// CPU time of collections, and of allocation that a larger heap would have spared.
    pub collecting_ns: u64,
    /// CPU time of the process.
    pub all_ns: u64,
    /// Bytes that were promoted or allocated since the last full collection.
    pub added: usize,
    /// Bytes that this one freed.
    pub freed: usize,
}

impl Spent {
    /// Whether the program is still growing: less than half was freed of what was added. (Of a heap with little room that would say
    /// nothing if it were compared with the whole heap.)
    fn freed_little(self) -> bool {
        self.freed < self.added / 2
    }
}

/// The growth of one heap.
#[derive(Debug)]
pub struct Growth {
    /// The last growth, in bytes, and the least.
    room: usize,
    least: usize,
    /// What was alive then, in bytes.
    live: usize,
}

/// The most that a heap may grow by with `live` bytes alive, if `mutators` mutators allocate.
fn most(live: usize, percent: u32, mutators: usize) -> usize {
    let (low, high) = ((LARGE as f64).log2(), (HUGE as f64).log2());
    let size = (live.max(1) as f64).log2().clamp(low, high);
    let part = 1.0 - 2.0 / 3.0 * (size - low) / (high - low);
    let most = (live as f64 * percent as f64 / 100.0 * part) as usize;
    let small = SMALL * percent.min(Config::DEFAULT.percent) as usize / Config::DEFAULT.percent as usize;
    most.max((small * mutators.max(1)).saturating_sub(live))
}

/// The part of CPU time that collecting may take where the heap may grow by `room` bytes. Twice the room halves it, and so saves
/// the less the more room there is already (Kirisame et al., Optimal Heap Limits, OOPSLA 2022).
fn wanted_cpu(room: usize) -> f64 {
    WANTED_CPU * (room as f64 / FREE_ROOM as f64).clamp(1.0, MOST_WANTED)
}

impl Growth {
    /// Of a heap that has not been collected; `min_heap` bytes may be allocated before it is.
    pub fn new(min_heap: usize) -> Self {
        let least = LEAST.min(min_heap.max(64 << 10));
        Growth { room: least, least, live: 0 }
    }

    /// How much may be allocated beside what a full collection has found alive, before the next, if `mutators`
    /// mutators allocate.
    pub fn after_full(&mut self, live: usize, percent: u32, mutators: usize, spent: Spent) -> usize {
        let (Spent { collecting_ns, all_ns, .. }, freed_little) = (spent, spent.freed_little());
        let share = collecting_ns as f64 / all_ns.max(1) as f64;
        let at_once = if freed_little { AT_ONCE_IF_LITTLE_FREED } else { AT_ONCE };
        let wanted = if freed_little { WANTED_CPU } else { wanted_cpu(self.room) };
        let ratio = (share * (1.0 - wanted) / (wanted * (1.0 - share).max(0.01))).clamp(0.5, at_once);
        let most = most(live, percent, mutators);
        let least = (live / 100 * LEAST_PERCENT).max(self.least).min(most);
        // What a heap was allowed that has become smaller says less.
        let last = self.room as f64 * (live as f64 / self.live.max(1) as f64).min(1.0);
        let mut room = (last * ratio) as usize;
        if !freed_little {
            // What more room costs to touch.
            room = room.min(last as usize + (collecting_ns as f64 * TOUCHED_BYTES_A_NS) as usize);
        }
        (self.room, self.live) = (room.clamp(least, most), live);
        self.room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    const ONE: usize = 1;

    fn spent(percent: u64) -> Spent {
        Spent { collecting_ns: percent * 1_000_000, all_ns: 100_000_000, added: MIB, freed: MIB }
    }

    #[test]
    fn growth_follows_what_collecting_costs() {
        let mut growth = Growth::new(4 * MIB);
        // All the time: twice as much each time, up to what is allowed.
        let rooms: Vec<_> = (0..7).map(|_| growth.after_full(100 * MIB, 150, ONE, spent(40)) / MIB).collect();
        assert_eq!(rooms, [30, 60, 120, 150, 150, 150, 150]);
        // Nearly none: half as much each time, down to what is always allowed.
        let rooms: Vec<_> = (0..4).map(|_| growth.after_full(100 * MIB, 150, ONE, spent(1)) / MIB).collect();
        assert_eq!(rooms, [75, 37, 30, 30]);
        // As much as is wanted: no change.
        assert_eq!(growth.after_full(100 * MIB, 150, ONE, spent(7)) / MIB, 30);
        // What the option says is the most, even if it is less than that.
        assert_eq!(growth.after_full(100 * MIB, 20, ONE, spent(7)) / MIB, 20);
    }

    #[test]
    fn a_heap_grows_by_no_more_than_its_collections_cost() {
        let mut growth = Growth::new(4 * MIB);
        // A third of the time, of little time: 3 ms are worth 6 million bytes. Half of what was added is freed, which is less than an
        // eighth of the heap.
        let spent = |freed| Spent { collecting_ns: 3_000_000, all_ns: 9_000_000, added: 30 * MIB, freed };
        let mut rooms =
            (0..4).map(|_| growth.after_full(100 * MIB, 150, ONE, spent(15 * MIB)) / MIB).collect::<Vec<_>>();
        assert_eq!(rooms, [30, 35, 41, 47]);
        // What grows anyway is touched anyway.
        rooms = (0..2).map(|_| growth.after_full(100 * MIB, 150, ONE, spent(15 * MIB - 1)) / MIB).collect();
        assert_eq!(rooms, [141, 150]);
    }

    #[test]
    fn much_room_must_save_more_than_little() {
        let mut growth = Growth::new(4 * MIB);
        let rooms = |growth: &mut Growth, live: usize, shares: &[u64]| {
            shares
                .iter()
                .map(|&share| growth.after_full(live * MIB, 150, ONE, spent(share)) / MIB)
                .collect::<Vec<_>>()
        };
        // A tenth of the time is too much with 60 MiB, and right with 91.
        assert_eq!(rooms(&mut growth, 200, &[10, 10, 10, 10, 10]), [60, 79, 92, 91, 91]);
        // Of a large heap a seventh is wanted, whatever the room.
        let large = rooms(&mut growth, 4000, &[14, 14, 14]);
        assert_eq!(large, [1200, 1200, 1200]);
        // A program that grows is looked at as seldom as before.
        let grows = Spent { freed: 0, ..spent(14) };
        assert_eq!(growth.after_full(4000 * MIB, 150, ONE, grows) / MIB, 2595);
    }

    #[test]
    fn small_heaps_are_small_unless_they_collect_all_the_time() {
        let mut growth = Growth::new(4 * MIB);
        assert_eq!(growth.after_full(20 << 10, 150, ONE, spent(1)), LEAST);
        let rooms: Vec<_> = (0..5).map(|_| growth.after_full(MIB, 150, ONE, spent(50)) / MIB).collect();
        assert_eq!(rooms, [6, 12, 24, 31, 31]);
    }
}
