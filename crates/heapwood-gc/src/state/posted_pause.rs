//! A pause of a marking beside the program that a thread of the program is to make, since a hook is called in it. The marker posts
//! it and sleeps; the next thread that allocates on its slow path, or waits for the collection, takes it and makes it. Invariants: the marker
//! posts, and a thread takes, with the collector's lock; so the marker, which takes that lock when it wakes, finds the pause made. Whoever
//! takes looks whether it is still of use: another thread may have ended the marking.

use heapwood_os::threads::sync::{Futex, Ordering, wait, wake};

/// A pause that the marker wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkerPause {
    /// The snapshot of a marking; `at_once`, or after a young collection in its place if much is young.
    Start { at_once: bool },
    /// The end of the active marking, in the same way.
    Finish { at_once: bool },
}

const NONE: u32 = 0;
const START: u32 = 1;
const FINISH: u32 = 2;
const AT_ONCE: u32 = 4;

impl MarkerPause {
    fn to_bits(self) -> u32 {
        match self {
            MarkerPause::Start { at_once } => START | (u32::from(at_once) * AT_ONCE),
            MarkerPause::Finish { at_once } => FINISH | (u32::from(at_once) * AT_ONCE),
        }
    }

    fn from_bits(bits: u32) -> Option<Self> {
        let at_once = bits & AT_ONCE != 0;
        match bits & (START | FINISH) {
            NONE => None,
            START => Some(MarkerPause::Start { at_once }),
            _ => Some(MarkerPause::Finish { at_once }),
        }
    }
}

/// The pause that is posted in one heap, if there is one.
pub(crate) struct PostedPause(Futex);

impl Default for PostedPause {
    fn default() -> Self {
        PostedPause(Futex::new(NONE))
    }
}

impl PostedPause {
    /// Whether there is one. For slow paths.
    #[inline]
    pub(crate) fn is_posted(&self) -> bool {
        self.0.load(Ordering::Relaxed) != NONE
    }

    /// The marker posts one; it has the collector's lock.
    pub(crate) fn post(&self, pause: MarkerPause) {
        // A read-modify-write: after a `cancel` that came first it sees what its caller has written before.
        self.0.swap(pause.to_bits(), Ordering::AcqRel);
    }

    /// A thread that has the collector's lock takes it, and makes it before it gives the lock up.
    pub(crate) fn take(&self) -> Option<MarkerPause> {
        let taken = MarkerPause::from_bits(self.0.swap(NONE, Ordering::AcqRel));
        wake(&self.0, 1);
        taken
    }

    /// The marker is to look again: it ends, or no hook is set any more.
    pub(crate) fn cancel(&self) {
        self.0.swap(NONE, Ordering::AcqRel);
        wake(&self.0, 1);
    }

    /// The marker sleeps until it was taken or cancelled, or `gives_up`.
    pub(crate) fn sleep_until_taken(&self, gives_up: impl Fn() -> bool) {
        loop {
            let now = self.0.load(Ordering::Acquire);
            if now == NONE {
                return;
            }
            if gives_up() {
                self.0.swap(NONE, Ordering::AcqRel);
                return;
            }
            wait(&self.0, now);
        }
    }

    /// In a forked child: the marker is the parent's.
    pub(crate) fn forget(&self) {
        self.0.store(NONE, Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod model {
    //! The marker, a thread that takes what it has posted or not, and one that ends the marker, under loom.

    use super::*;
    use heapwood_os::Lock;
    use heapwood_os::threads::lock_order::UNORDERED;
    use heapwood_os::threads::sync::{AtomicU32, yield_now};
    use loom::sync::Arc;

    struct World {
        posted: PostedPause,
        /// Pauses that were made.
        work: Lock<u32, UNORDERED>,
        stops: AtomicU32,
    }

    impl World {
        /// Posts pauses until one was made, or the thread is to end.
        fn mark(&self) {
            loop {
                let work = self.work.lock();
                if *work == 1 || self.stops.load(Ordering::Relaxed) != 0 {
                    return;
                }
                self.posted.post(MarkerPause::Start { at_once: true });
                drop(work);
                self.posted.sleep_until_taken(|| self.stops.load(Ordering::Relaxed) != 0);
            }
        }

        fn serve(&self) {
            let mut work = self.work.lock();
            if self.posted.take().is_some() {
                *work += 1;
            }
        }

        fn serve_until_made(&self) {
            while *self.work.lock() == 0 {
                self.serve();
                yield_now();
            }
        }

        fn stop(&self) {
            self.stops.store(1, Ordering::Relaxed);
            self.posted.cancel();
        }
    }

    /// A marker, and threads that do this.
    fn play(acts: &'static [fn(&World)]) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let world = Arc::new(World {
                posted: PostedPause::default(),
                work: Lock::new(0),
                stops: AtomicU32::new(0),
            });
            let threads: Vec<_> = acts
                .iter()
                .map(|act| {
                    let world = world.clone();
                    loom::thread::spawn(move || act(&world))
                })
                .collect();
            world.mark();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert!(*world.work.lock() <= 1);
        });
    }

    #[test]
    fn a_marker_that_has_posted_a_pause_wakes_when_it_was_made_or_the_heap_ends() {
        play(&[World::serve, World::stop]);
    }

    /// Nobody else wakes it.
    #[test]
    fn a_marker_that_has_posted_a_pause_wakes_when_it_was_made() {
        play(&[World::serve_until_made]);
    }
}
