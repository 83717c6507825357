//! The nursery: how much is allocated between two young collections, and whether there are any.
//!
//! Young collections go on while they are profitable: while less than half survives, and they free more bytes a nanosecond than
//! the last full collections did. Two unprofitable ones in a row switch them off. They are tried again after some full
//! collections, or after much allocation, since a large heap seldom has full ones; each try that fails doubles this backoff. A
//! try without a full collection before it begins with an en-masse promotion, for stores are not remembered during a backoff.
//! A heap that marks beside the program promotes in parts during a backoff, for all pauses of such a heap are to be short.
//! The nursery doubles when much of it survives, when its collections take much of the time, or when they scan long stacks and
//! little else, and halves when little does. It
//! takes at most a quarter of the room below the goal; with little room left, or less than it scans of stacks, the next
//! collection is a full one. A prototype
//! showed that survival is the right signal (docs/design/young.md). Ungar and Jackson judged young collections by what they
//! freed (1988); here objects do not move, as in Whippet.
//! Invariant: a decision changes only when a collection ends.

use super::tunables::goal::LEAST_BUDGET;
use super::tunables::nursery::*;
use crate::settings::options::Generational;

/// What a collection freed, and what it cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Efficiency {
    /// Bytes that were handed out since the collection before.
    pub allocated: usize,
    /// Bytes that it freed: a young collection of those, a full one of all.
    pub freed: usize,
    /// Nanoseconds of marking, without waiting for other threads, and without the sweep, which belongs to the collection before.
    pub ns: u64,
    /// Nanoseconds since the collection before.
    pub since: u64,
    /// Bytes of stacks that it scanned.
    pub stacks: usize,
}

impl Efficiency {
    /// Whether its stacks are long beside a nursery of N bytes. (If still more bytes survive, that doubles the nursery, too.)
    fn has_long_stacks(self, size: usize) -> bool {
        self.stacks > size / STACK_PART
    }

    /// Of several full collections: the last counts as much as all before it.
    fn and_before(self, before: Option<Efficiency>) -> Efficiency {
        let Some(before) = before else { return self };
        Efficiency {
            allocated: self.allocated + before.allocated / 2,
            freed: self.freed + before.freed / 2,
            ns: self.ns + before.ns / 2,
            ..self
        }
    }

    /// Whether it freed more than half, and is at least as efficient as another.
    fn is_profitable(self, other: Efficiency) -> bool {
        self.freed > self.allocated / 2
            && self.freed as u128 * other.ns.max(1) as u128 >= other.freed as u128 * self.ns.max(1) as u128
    }
}

/// The kind of the next collection when the budget is exhausted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextCollection {
    /// A full one.
    Full,
    /// A young one.
    Young,
    /// An en-masse promotion, after which young collections are tried again, if it is not the first part of one.
    Promotion,
    /// A promotion of a part, before a full one.
    PromotionInPart,
}

/// Whether there are young collections, by what the last ones brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There are none: the option says so.
    Off,
    /// There was none yet.
    New,
    /// The last one was profitable.
    Paid,
    /// The last one was not profitable. Another such one switches them off.
    Missed,
    /// They are tried again after a backoff. One that is not profitable ends the try.
    Trying,
    /// There are none until the next try.
    BackingOff {
        /// Full collections until the next try.
        fulls: u32,
        /// Bytes of allocation until the next try, if full collections are rare.
        bytes: usize,
        /// Bytes that were promoted in parts since the last other collection.
        in_parts: usize,
    },
}

/// The nursery of a heap.
#[derive(Debug)]
pub struct Nursery {
    option: Generational,
    state: State,
    /// Stores are remembered until the next collection.
    remembers: bool,
    /// The program asks for young collections itself.
    asked: bool,
    size: usize,
    /// The full collections of the next backoff.
    next_backoff: u32,
    /// The last full collections: what one finds dead may change, and a young one after another that found little is not
    /// better for that.
    full: Option<Efficiency>,
    /// Bytes of stacks that the last collection scanned.
    stacks: usize,
    next: NextCollection,
}

impl Nursery {
    /// Of a heap in which nothing was collected.
    pub fn new(option: Generational) -> Self {
        Nursery {
            option,
            state: if option == Generational::Off { State::Off } else { State::New },
            remembers: option != Generational::Off,
            asked: false,
            size: LEAST,
            next_backoff: 1,
            full: None,
            stacks: 0,
            next: NextCollection::Full,
        }
    }

    /// A cycle begins, after its budget was computed, in a heap that may mark `beside` the program. Decides whether stores are
    /// remembered in it. Where it will end in a full collection they need not be, but a program that asks for young collections
    /// gets them, and a marking beside the program starts with one.
    pub fn begin_cycle(&mut self, beside: bool) {
        let may_be_young = self.next != NextCollection::Full || beside || self.asked;
        self.remembers = self.is_on() && (may_be_young || self.option == Generational::Always);
    }

    /// Whether stores are remembered in this cycle.
    pub fn remembers(&self) -> bool {
        self.remembers
    }

    /// Whether there are young collections now.
    fn is_on(&self) -> bool {
        !matches!(self.state, State::Off | State::BackingOff { .. })
    }

    /// The program asks for a young collection.
    pub fn ask(&mut self) {
        self.asked = true;
    }

    /// The kind of the next collection when the budget is exhausted.
    pub fn next(&self) -> NextCollection {
        self.next
    }

    /// The limit of the remembered set, in bytes.
    pub fn most_remembered(&self) -> usize {
        self.size / 4
    }

    /// The number of stores that may take the slow half of the barrier until the next young collection. If the last one was
    /// profitable, these stores may take as long as a full collection in its place would; else there are few.
    pub fn most_stores(&self) -> u64 {
        if self.option == Generational::Always {
            return u64::MAX;
        }
        let worth = self.full.filter(|_| self.state == State::Paid).map_or(0, |full| {
            // A full collection that freed little says little of the next, but comes no more often.
            let per = full.freed.max(full.allocated).max(1);
            (self.size as u128 * full.ns as u128 / per as u128) as u64 / STORE_NS
        });
        worth.max((self.size / BYTES_A_STORE) as u64)
    }

    /// The time that a young collection may take where no pause is to be longer than `max_pause`; `since` is the time since the last
    /// collection. In nanoseconds.
    pub fn most_time(&self, since: u64, max_pause: u64) -> u64 {
        // In tests, where they need not be profitable, the machine's load does not change what they find.
        if self.option == Generational::Always {
            return u64::MAX / 2;
        }
        (since / PART_OF_TIME).clamp(LEAST_TIME, MOST_TIME.min(max_pause.max(LEAST_TIME)))
    }

    /// The budget: bytes that may be allocated before the next collection, in a heap of `size` bytes. Each of the mutators that
    /// allocate has at least the smallest nursery, or several would stop each other, and divide the rest of a budget, as much more
    /// often than one.
    pub fn budget(&mut self, size: usize, goal: usize, mutators: usize) -> usize {
        let room = goal.saturating_sub(size);
        let part = match self.state {
            State::Trying => 2 * PART_OF_ROOM,
            State::Paid => PART_OF_ROOM / 2,
            _ => PART_OF_ROOM,
        };
        let long_stacks = if self.option == Generational::Always { 0 } else { self.stacks };
        let (next, budget) = match self.state {
            _ if room / PART_OF_ROOM < LEAST_BUDGET_OF_YOUNG.max(long_stacks) => (NextCollection::Full, room),
            // What is left then suffices for a try.
            State::BackingOff { bytes, in_parts, .. } if bytes + in_parts < (room + in_parts) / 2 => {
                (NextCollection::Promotion, bytes)
            }
            State::BackingOff { .. } | State::Off => (NextCollection::Full, room),
            _ => (NextCollection::Young, self.size.max(LEAST * mutators).min(room / part)),
        };
        self.next = next;
        budget.max(LEAST_BUDGET)
    }

    /// The part of a budget after which a heap that marks beside the program has a collection: during a backoff a promotion.
    pub fn part_of_budget(&mut self, budget: usize) -> usize {
        if self.is_on() || budget <= MOST_PROMOTED {
            return budget;
        }
        if self.next == NextCollection::Full {
            self.next = NextCollection::PromotionInPart;
        }
        MOST_PROMOTED
    }

    /// A full collection has ended; the remembered set may have `overflowed` before.
    pub fn after_full(&mut self, full: Efficiency, overflowed: bool) {
        self.full = Some(full.and_before(self.full));
        self.stacks = full.stacks;
        if overflowed && self.is_on() {
            self.back_off();
        }
        let State::BackingOff { mut fulls, mut bytes, .. } = self.state else { return };
        if !overflowed {
            fulls -= 1;
            bytes = bytes.saturating_sub(full.allocated);
        }
        self.state = match fulls {
            0 => State::Trying,
            _ => State::BackingOff { fulls, bytes, in_parts: 0 },
        };
    }

    /// All young objects, N bytes, were promoted unseen, because the remembered set had `overflowed`, or during a backoff.
    pub fn after_promotion(&mut self, promoted: usize, overflowed: bool) {
        if overflowed {
            self.back_off();
            return;
        }
        let State::BackingOff { bytes, in_parts, .. } = &mut self.state else { return };
        *bytes = bytes.saturating_sub(promoted);
        *in_parts += promoted;
        if self.next == NextCollection::Promotion && *bytes < LEAST_BUDGET {
            self.state = State::Trying;
        }
    }

    /// A young collection has ended; since the one before, `stores` stores took the slow half of the barrier.
    pub fn after_young(&mut self, young: Efficiency, stores: u64) {
        self.stacks = young.stacks;
        let survived = young.allocated.saturating_sub(young.freed);
        let cost = young.ns + stores * STORE_NS;
        let share = |part: u64| cost > young.since / part;
        if survived > young.allocated / DOUBLE || share(MUCH_TIME) || young.has_long_stacks(self.size) {
            self.size = (self.size * 2).min(MOST);
        } else if survived < young.allocated / HALVE
            && !share(LITTLE_TIME)
            && !young.has_long_stacks(self.size / 2)
        {
            self.size = (self.size / 2).max(LEAST);
        }
        // Before the first full collection: assume that it frees half of what it looks at.
        let least = self.full.unwrap_or(Efficiency { freed: young.allocated / 2, ns: cost, ..young });
        match (Efficiency { ns: cost, ..young }.is_profitable(least), self.state) {
            (_, State::Off | State::BackingOff { .. }) => {}
            (true, _) => (self.state, self.next_backoff) = (State::Paid, 1),
            (false, State::New | State::Paid) => self.state = State::Missed,
            (false, _) => self.back_off(),
        }
    }

    /// Switches young collections off for a backoff.
    fn back_off(&mut self) {
        if self.option == Generational::Auto {
            let (fulls, bytes) = (self.next_backoff, self.next_backoff as usize * BACKOFF_BYTES);
            self.state = State::BackingOff { fulls, bytes, in_parts: 0 };
            self.next_backoff = (self.next_backoff * 2).min(LONGEST_BACKOFF);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    const FULL: Efficiency =
        Efficiency { allocated: 100 * MIB, freed: 100 * MIB, ns: 30_000_000, since: 100_000_000, stacks: 0 };

    /// A young collection after which N hundredths of the nursery survive, each MiB of which takes a millisecond.
    fn young(nursery: &Nursery, percent: usize) -> Efficiency {
        let allocated = nursery.size;
        let survived = allocated / 100 * percent;
        let ns = 20_000 + (survived / MIB) as u64 * 1_000_000;
        Efficiency { allocated, freed: allocated - survived, ns, since: 1_000_000_000, stacks: 0 }
    }

    fn play(nursery: &mut Nursery, percent: usize, times: u32) {
        for _ in 0..times {
            nursery.after_young(young(nursery, percent), 0);
        }
    }

    #[test]
    fn the_nursery_follows_survival() {
        let mut nursery = Nursery::new(Generational::Auto);
        nursery.after_full(FULL, false);
        play(&mut nursery, 10, 10);
        assert_eq!(nursery.size, MOST);
        play(&mut nursery, 3, 10);
        assert_eq!(nursery.size, MOST, "between the two it stays");
        play(&mut nursery, 0, 10);
        assert_eq!((nursery.size, nursery.is_on()), (LEAST, true));
        // Its collections find nothing alive, but take long, for there are many roots.
        nursery.after_young(Efficiency { ns: 50_000_000, ..young(&nursery, 0) }, 0);
        assert_eq!(nursery.size, 2 * LEAST);
    }

    /// Its collections are fast by the clock, and nothing survives; only the bytes of stacks differ.
    #[test]
    fn the_nursery_is_at_least_eight_times_the_stacks() {
        const KIB: usize = 1 << 10;
        let end = |stacks: usize, percent: usize| {
            let mut nursery = Nursery::new(Generational::Auto);
            nursery.after_full(FULL, false);
            let mut sizes = Vec::new();
            for _ in 0..20 {
                nursery.after_young(Efficiency { stacks, ..young(&nursery, percent) }, 0);
                sizes.push(nursery.size);
            }
            assert!(sizes.is_sorted(), "with {stacks} bytes of stacks it goes up and down: {sizes:?}");
            nursery.size
        };
        for (stacks, size) in [
            (0, LEAST),
            (64 * KIB, LEAST),
            (512 * KIB, LEAST),
            (513 * KIB, 2 * LEAST),
            (MIB, 8 * MIB),
            (MIB + 1, 16 * MIB),
            (7 * MIB, MOST),
            (1024 * MIB, MOST),
        ] {
            assert_eq!(end(stacks, 0), size, "{stacks} bytes of stacks");
        }
        // After a return from the depth it shrinks again.
        let mut nursery = Nursery::new(Generational::Auto);
        nursery.after_full(FULL, false);
        for stacks in [9 * MIB, 0] {
            for _ in 0..10 {
                nursery.after_young(Efficiency { stacks, ..young(&nursery, 0) }, 0);
            }
            assert_eq!(nursery.size, if stacks > 0 { MOST } else { LEAST });
        }
    }

    /// A recursion so deep that a young collection would scan more stack than it looks at objects.
    #[test]
    fn no_young_collection_scans_more_stack_than_nursery() {
        let next = |option, stacks, room| {
            let mut nursery = Nursery::new(option);
            nursery.after_full(Efficiency { stacks, ..FULL }, false);
            nursery.budget(0, room, 1);
            nursery.next()
        };
        let auto = |stacks, room| next(Generational::Auto, stacks, room);
        assert_eq!(auto(6 * MIB, 23 * MIB), NextCollection::Full);
        assert_eq!(auto(6 * MIB, 24 * MIB), NextCollection::Young);
        assert_eq!(auto(90 * MIB, 40 * MIB), NextCollection::Full);
        assert_eq!(auto(90 * MIB, 400 * MIB), NextCollection::Young);
        assert_eq!(next(Generational::Always, 90 * MIB, 40 * MIB), NextCollection::Young);
        // What the last young one scanned counts, too; and after a return from the depth it does no more.
        let mut nursery = Nursery::new(Generational::Auto);
        for (stacks, expected) in
            [(0, NextCollection::Young), (9 * MIB, NextCollection::Full), (0, NextCollection::Young)]
        {
            nursery.after_young(Efficiency { stacks, ..young(&nursery, 0) }, 0);
            nursery.budget(0, 32 * MIB, 1);
            assert_eq!(nursery.next(), expected);
        }
    }

    /// A pipeline whose ring is full at times: a full collection then frees nothing, and others free all.
    #[test]
    fn a_full_collection_that_frees_nothing_does_not_make_young_ones_pay() {
        let mut nursery = Nursery::new(Generational::Auto);
        let mut tried = 0;
        for round in 0..64 {
            let freed = if round % 2 == 0 { 100 * MIB } else { 0 };
            nursery.after_full(Efficiency { freed, ..FULL }, false);
            if nursery.is_on() {
                // 2 MiB of 3 MiB in 2 ms: a third of what the full ones free a nanosecond.
                tried += 1;
                let young = Efficiency { allocated: 3 * MIB, freed: 2 * MIB, ns: 2_000_000, ..FULL };
                nursery.after_young(young, 0);
            }
        }
        assert!((4..=8).contains(&tried), "{tried}");
    }

    #[test]
    fn the_budget_leaves_room_and_ends_with_a_full_collection() {
        let mut nursery = Nursery::new(Generational::Auto);
        assert_eq!((nursery.budget(0, 32 * MIB, 1), nursery.next()), (LEAST, NextCollection::Young));
        assert_eq!([24, 128].map(|goal| nursery.budget(0, goal * MIB, 4)), [6 * MIB, 4 * LEAST]);
        play(&mut nursery, 10, 10);
        assert_eq!(nursery.budget(20 * MIB, 32 * MIB, 1), 6 * MIB);
        assert_eq!(nursery.budget(20 * MIB, 32 * MIB, 4), 6 * MIB, "half of the room, as they pay");
        assert_eq!((nursery.budget(29 * MIB, 32 * MIB, 1), nursery.next()), (3 * MIB, NextCollection::Full));
        assert_eq!(nursery.budget(33 * MIB, 32 * MIB, 1), LEAST_BUDGET);
        let mut off = Nursery::new(Generational::Off);
        assert_eq!(
            (off.budget(0, 32 * MIB, 1), off.next(), off.is_on()),
            (32 * MIB, NextCollection::Full, false)
        );
    }

    #[test]
    fn a_young_collection_takes_a_part_of_the_time_within_the_longest_pause() {
        let nursery = Nursery::new(Generational::Auto);
        let table = [
            (8_000_000, 5_000_000, 1_000_000),
            (u64::MAX, 5_000_000, MOST_TIME),
            (u64::MAX, 500_000, 500_000),
        ];
        for (since, max_pause, wanted) in table {
            assert_eq!(nursery.most_time(since, max_pause), wanted);
        }
        assert_eq!((nursery.most_time(0, 0), nursery.most_time(u64::MAX, 0)), (LEAST_TIME, LEAST_TIME));
    }

    #[test]
    fn a_program_that_stores_all_the_time_pays_for_its_barrier() {
        let mut nursery = Nursery::new(Generational::Auto);
        nursery.after_full(FULL, false);
        for _ in 0..2 {
            nursery.after_young(young(&nursery, 1), 10_000_000);
        }
        assert!(!nursery.is_on());
        // One that stores without allocating does not wait for a collection.
        let mut nursery = Nursery::new(Generational::Auto);
        assert_eq!(nursery.most_stores(), (LEAST / BYTES_A_STORE) as u64);
        nursery.after_full(Efficiency { ns: 300_000_000, ..FULL }, false);
        assert_eq!(nursery.most_stores(), (LEAST / BYTES_A_STORE) as u64, "nothing says that they pay");
        // A full one frees 100 MiB in 300 ms.
        play(&mut nursery, 5, 1);
        assert_eq!(nursery.most_stores(), (nursery.size / MIB) as u64 * 3_000_000 / STORE_NS);
        nursery.after_full(FULL, true);
        assert!(!nursery.is_on());
        nursery.after_full(FULL, false);
        assert!(nursery.is_on());
        // The allocation that was due for a young one does not wait for a full one.
        nursery.after_promotion(nursery.size, true);
        assert!(!nursery.is_on());
    }
}
