//! Whose turn it is with the collector's lock: a marker beside the program holds it for as long as nobody else wants it. Whoever
//! wants it counts itself before it waits; the marker looks at the count, gives the lock up, and takes it again after they have
//! had it. Invariant: the count is that of threads between asking for the lock and having it.

use heapwood_os::threads::sync::{AtomicU32, Futex, Ordering, fence, wait, wake};

/// The threads that want the lock.
pub(super) struct Turns {
    waiting: Futex,
    /// The marker sleeps until nobody waits.
    marker_sleeps: AtomicU32,
}

impl Default for Turns {
    fn default() -> Self {
        Turns { waiting: Futex::new(0), marker_sleeps: AtomicU32::new(0) }
    }
}

impl Turns {
    /// Takes the lock by `take`, before the marker.
    pub(super) fn take<L>(&self, take: impl FnOnce() -> L) -> L {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let lock = take();
        let was_last = self.waiting.fetch_sub(1, Ordering::SeqCst) == 1;
        // The marker stores that it sleeps, and then reads the count: one of the two sees what the other has written. Fences,
        // since loom knows no sequentially consistent accesses.
        fence(Ordering::SeqCst);
        if was_last && self.marker_sleeps.load(Ordering::Relaxed) != 0 {
            wake(&self.waiting, 1);
        }
        lock
    }

    /// Whether somebody waits for the lock.
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) != 0
    }

    /// The marker waits until nobody does.
    pub(super) fn wait_for_others(&self) {
        while self.is_awaited() {
            self.marker_sleeps.store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            let seen = self.waiting.load(Ordering::Relaxed);
            if seen != 0 {
                wait(&self.waiting, seen);
            }
            self.marker_sleeps.store(0, Ordering::Relaxed);
        }
    }

    /// In a forked child: nobody waits.
    pub(super) fn forget(&self) {
        self.waiting.store(0, Ordering::Relaxed);
        self.marker_sleeps.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod model {
    //! A marker and threads that collect, under loom. The lock is the product's, too. The marker has more edges than any slice
    //! marks: it gives the lock up only since somebody waits, and ends when all collections have been.

    use super::*;
    use crate::mutator::model::fails::fails;
    use heapwood_os::Lock;
    use heapwood_os::threads::lock_order::UNORDERED;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    struct World {
        turns: Turns,
        /// Collections so far.
        work: Lock<usize, UNORDERED>,
        /// What slices and collections write. loom reports it if one comes while the other is under way.
        marks: UnsafeCell<u32>,
    }

    impl World {
        fn touch(&self) {
            // SAFETY: the pointer is the cell's; loom reports concurrent accesses.
            self.marks.with_mut(|marks| unsafe { *marks += 1 });
        }

        /// Marks in slices until so many collections have been.
        fn mark(&self, collections: usize) {
            loop {
                self.turns.wait_for_others();
                let work = self.work.lock();
                if *work == collections {
                    return;
                }
                self.touch();
                while !self.turns.is_awaited() {
                    loom::thread::yield_now();
                }
                self.touch();
            }
        }

        fn collect(&self, how: How) {
            let mut work = match how {
                How::Counted => self.turns.take(|| self.work.lock()),
                How::Uncounted => self.work.lock(),
                How::WithoutWaking => {
                    self.turns.waiting.fetch_add(1, Ordering::SeqCst);
                    let work = self.work.lock();
                    self.turns.waiting.fetch_sub(1, Ordering::SeqCst);
                    work
                }
            };
            self.touch();
            *work += 1;
        }
    }

    /// How a collection takes the lock: as the product does, and without a part of that.
    #[derive(Clone, Copy)]
    enum How {
        Counted,
        Uncounted,
        WithoutWaking,
    }

    fn model(collectors: usize, how: How) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(if collectors > 1 { 2 } else { 3 });
        builder.check(move || {
            let world =
                Arc::new(World { turns: Turns::default(), work: Lock::new(0), marks: UnsafeCell::new(0) });
            let threads: Vec<_> = (0..collectors)
                .map(|_| {
                    let world = world.clone();
                    loom::thread::spawn(move || world.collect(how))
                })
                .collect();
            world.mark(collectors);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(*world.work.lock(), collectors);
        });
    }

    #[test]
    fn a_slice_gives_the_lock_up_for_each_collection() {
        model(1, How::Counted);
        model(2, How::Counted);
    }

    #[test]
    fn a_collection_that_does_not_count_itself_never_comes() {
        fails("Model exceeded maximum number of branches", || model(1, How::Uncounted));
    }

    #[test]
    fn a_collection_that_wakes_nobody_leaves_the_marker_asleep() {
        fails("deadlock", || model(1, How::WithoutWaking));
    }
}
