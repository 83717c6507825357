//! A depot: threads leave things of one kind there, many at a time in a box, and take them again, without a lock. It knows numbers of boxes
//! only; the caller has the boxes. (Bonwick and Adams, "Magazines and Vmem", 2001.) Invariant: a box is in one stack, or one thread's, which
//! fills or empties it; who takes a box sees what was put into it, and it is free for others once that was taken out.

use super::number_stack::NumberStack;
use super::sync::{AtomicU32, Ordering};
use core::num::NonZeroU32;

/// The boxes of a depot, whose numbers begin at 1.
pub trait Boxes {
    /// The word that links a box to another, by an atomic load.
    fn link(&self, number: NonZeroU32) -> u32;
    /// Sets it, by an atomic store.
    fn set_link(&self, number: NonZeroU32, next: u32);
    /// Makes a box that there never was; false if there is no memory, and this box will never be.
    fn make(&self, number: NonZeroU32) -> bool;
}

/// The numbers of the boxes of a depot for some kinds of things.
pub struct Depot<const KINDS: usize> {
    full: [NumberStack; KINDS],
    empty: NumberStack,
    /// Boxes that were ever made.
    made: AtomicU32,
    most: u32,
}

impl<const KINDS: usize> Depot<KINDS> {
    /// A depot without boxes, which will make at most so many.
    pub fn new(most: u32) -> Self {
        let full = core::array::from_fn(|_| NumberStack::new());
        Depot { full, empty: NumberStack::new(), made: AtomicU32::new(0), most }
    }

    /// Leaves a box of a kind, which `fill` fills; false if there is no box.
    pub fn put(&self, kind: usize, boxes: &impl Boxes, fill: impl FnOnce(NonZeroU32)) -> bool {
        let empty = self.empty.pop(|number| boxes.link(number));
        let Some(number) = empty.or_else(|| self.make(boxes)) else { return false };
        fill(number);
        self.full[kind].push(number, |next| boxes.set_link(number, next));
        true
    }

    /// Takes the box of a kind that was left last, which `empty` empties; none if there is none.
    #[inline]
    pub fn take<R>(&self, kind: usize, boxes: &impl Boxes, empty: impl FnOnce(NonZeroU32) -> R) -> Option<R> {
        let number = self.full[kind].pop(|number| boxes.link(number))?;
        #[cfg(all(test, loom))]
        if mutant::is(mutant::FREE_BEFORE_EMPTY) {
            self.empty.push(number, |next| boxes.set_link(number, next));
            return Some(empty(number));
        }
        let taken = empty(number);
        self.empty.push(number, |next| boxes.set_link(number, next));
        Some(taken)
    }

    #[cold]
    fn make(&self, boxes: &impl Boxes) -> Option<NonZeroU32> {
        // Not added to without a look, or it would overflow some day.
        let made = self.made.load(Ordering::Relaxed);
        let made = if made < self.most { self.made.fetch_add(1, Ordering::Relaxed) } else { made };
        let number = NonZeroU32::new(made + 1).filter(|_| made < self.most)?;
        boxes.make(number).then_some(number)
    }
}

/// What loom's models change, which they must notice.
#[cfg(all(test, loom))]
mod mutant {
    use core::sync::atomic::{AtomicU8, Ordering};

    /// A box is free for others before it was emptied.
    pub(super) const FREE_BEFORE_EMPTY: u8 = 1;
    /// A process has one model with a mutant, or none.
    pub(super) static LEFT_OUT: AtomicU8 = AtomicU8::new(0);

    pub(super) fn is(mutant: u8) -> bool {
        LEFT_OUT.load(Ordering::Relaxed) == mutant
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use core::cell::Cell;

    /// Boxes of one thing, of which the last cannot be made.
    struct Few {
        links: [Cell<u32>; 5],
        things: [Cell<u32>; 5],
    }

    impl Boxes for Few {
        fn link(&self, number: NonZeroU32) -> u32 {
            self.links[number.get() as usize].get()
        }
        fn set_link(&self, number: NonZeroU32, next: u32) {
            self.links[number.get() as usize].set(next);
        }
        fn make(&self, number: NonZeroU32) -> bool {
            number.get() != 4
        }
    }

    #[test]
    fn boxes_of_a_kind_come_back_and_are_used_for_another() {
        let few = Few { links: Default::default(), things: Default::default() };
        let depot = Depot::<2>::new(4);
        let put = |kind, thing| depot.put(kind, &few, |number| few.things[number.get() as usize].set(thing));
        let take =
            |kind| depot.take(kind, &few, |number| few.things[number.get() as usize].replace(u32::MAX));
        assert_eq!(take(0), None);
        assert_eq!([put(0, 10), put(0, 11), put(1, 12)], [true; 3]);
        // There is no fourth box, now or later.
        assert_eq!([put(1, 13), put(1, 13), put(0, 13)], [false; 3]);
        assert_eq!([take(0), take(1), take(1)], [Some(11), Some(12), None]);
        assert_eq!([put(1, 14), put(1, 15), put(1, 16)], [true, true, false]);
        assert_eq!([take(1), take(1), take(1), take(0), take(0)], [Some(15), Some(14), None, Some(10), None]);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::threads::sync::UnsafeCell;
    use loom::{sync::Arc, thread};

    const BOXES: usize = 2;
    const LEFT_OUT: &str = "HEAPWOOD_TEST_LEFT_OUT";

    /// The depot's boxes, of one thing each, and the things, each of which a thread uses that has it. Loom reports two that use one
    /// or a box at a time, and one that does not see what the last has written.
    struct Room {
        depot: Depot<2>,
        links: [AtomicU32; BOXES + 1],
        boxes: [UnsafeCell<usize>; BOXES + 1],
        things: [UnsafeCell<u32>; 3],
    }

    // SAFETY: loom reports unordered accesses.
    unsafe impl Sync for Room {}
    // SAFETY: as above.
    unsafe impl Send for Room {}

    impl Boxes for Room {
        fn link(&self, number: NonZeroU32) -> u32 {
            self.links[number.get() as usize].load(Ordering::Relaxed)
        }
        fn set_link(&self, number: NonZeroU32, next: u32) {
            self.links[number.get() as usize].store(next, Ordering::Relaxed);
        }
        fn make(&self, number: NonZeroU32) -> bool {
            assert!(number.get() as usize <= BOXES, "a box that cannot be");
            true
        }
    }

    impl Room {
        fn new(boxes: u32) -> Arc<Self> {
            Arc::new(Room {
                depot: Depot::new(boxes),
                links: core::array::from_fn(|_| AtomicU32::new(0)),
                boxes: core::array::from_fn(|_| UnsafeCell::new(usize::MAX)),
                things: core::array::from_fn(|_| UnsafeCell::new(0)),
            })
        }

        fn put(&self, kind: usize, thing: usize) -> bool {
            self.depot.put(kind, self, |number| {
                // SAFETY: the box is this thread's, and so is the thing.
                self.things[thing].with_mut(|uses| unsafe { *uses += 1 });
                // SAFETY: as above.
                let before = self.boxes[number.get() as usize]
                    .with_mut(|held| unsafe { core::mem::replace(&mut *held, thing) });
                assert_eq!(before, usize::MAX, "a box that is filled twice");
            })
        }

        fn take(&self, kind: usize) -> Option<usize> {
            self.depot.take(kind, self, |number| {
                // SAFETY: as above.
                let thing = self.boxes[number.get() as usize]
                    .with_mut(|held| unsafe { core::mem::replace(&mut *held, usize::MAX) });
                // SAFETY: as above.
                self.things[thing].with_mut(|uses| unsafe { *uses += 1 });
                thing
            })
        }
    }

    /// One thread leaves things, of which another takes some and leaves its own, with fewer boxes than things. At the end each is
    /// somewhere once.
    fn each_thing_is_somewhere_once() {
        loom::model(|| {
            let room = Room::new(BOXES as u32);
            assert!(room.put(0, 0));
            let theirs = room.clone();
            let other = thread::spawn(move || {
                let taken = theirs.take(0);
                let kept = if theirs.put(1, 1) { None } else { Some(1) };
                [taken, kept]
            });
            let taken = room.take(0);
            let kept = if room.put(1, 2) { None } else { Some(2) };
            let others = other.join().unwrap();
            let left = [room.take(1), room.take(1), room.take(1), room.take(0)];
            let all = [taken, kept].into_iter().chain(others).chain(left);
            let mut all: Vec<usize> = all.flatten().collect();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2]);
        });
    }

    #[test]
    fn what_threads_leave_is_somewhere_once() {
        each_thing_is_somewhere_once();
    }

    /// Two threads want the only box that may be made.
    #[test]
    fn no_more_boxes_are_made_than_may_be() {
        loom::model(|| {
            let room = Room::new(1);
            let theirs = room.clone();
            let other = thread::spawn(move || theirs.put(0, 0));
            let mine = room.put(1, 1);
            let other = other.join().unwrap();
            assert!(mine != other, "there is one box");
            assert_eq!([room.take(0), room.take(1)], [other.then_some(0), mine.then_some(1)]);
        });
    }

    #[test]
    fn a_box_that_is_free_too_early_is_noticed() {
        let run = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["threads::depot::model::child_free_too_early", "--exact", "--ignored"])
            .env(LEFT_OUT, mutant::FREE_BEFORE_EMPTY.to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
        let is_noticed = said.contains("Causality violation") || said.contains("filled twice");
        assert!(!run.status.success() && is_noticed, "{said}");
    }

    #[test]
    #[ignore = "fails, as it must: run in a process of its own by the test above"]
    fn child_free_too_early() {
        let Ok(what) = std::env::var(LEFT_OUT) else { return };
        mutant::LEFT_OUT.store(what.parse().unwrap(), core::sync::atomic::Ordering::Relaxed);
        each_thing_is_somewhere_once();
    }
}
