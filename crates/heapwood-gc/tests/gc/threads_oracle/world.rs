//! What the threads of a run share: the heap, what travels between them, where objects lie; and how they play.

use super::check::{Tally, compare};
use super::estates::Estates;
use super::exchange::{Exchange, Mailbox};
use super::granules::Granules;
use super::meeting::Meeting;
use super::settings::Settings;
use super::weaks::Weaks;
use super::worker::{Done, Worker};
use core::sync::atomic::AtomicUsize;
use core::time::Duration;
use heapwood_gc::{Heap, HeapBox, Mutator};
use heapwood_gc_testing::Rng;
use heapwood_gc_testing::disturb::Disturber;
use heapwood_gc_testing::model::graph::Masked;
use heapwood_gc_testing::model::kinds::Kinds;
use heapwood_os::SYSTEM;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, RwLock};

/// Objects that were given up, with how often each was freed.
pub(super) type Victims = Vec<(Masked, AtomicUsize)>;

/// What all threads of a run share.
pub(crate) struct World {
    pub(crate) settings: Settings,
    pub(super) kinds: Kinds,
    pub(super) granules: Granules,
    pub(super) exchange: Exchange,
    pub(super) mailboxes: Vec<Mailbox>,
    pub(super) estates: Estates,
    pub(super) weaks: Weaks,
    pub(super) meeting: Meeting,
    /// How many objects and bytes each worker has, as of the last meeting, and keys in the weak table.
    pub(super) tallies: Mutex<Vec<Tally>>,
    pub(super) sessions: AtomicUsize,
    pub(super) victims: RwLock<Victims>,
    /// Collects beside the workers. Dropped before the heap.
    pub(super) disturber: Option<Disturber>,
    pub(crate) heap: HeapBox,
}

impl World {
    pub(crate) fn new(settings: Settings, seed: u64) -> Self {
        let heap = Heap::create(&SYSTEM, settings.config).unwrap();
        heap.space().set_always_shared(settings.mixed);
        if settings.waits {
            heap.wait_for_marker_always();
        }
        let mutator = Mutator::attach(&heap, None).unwrap();
        let kinds = Kinds::new(&heap, &mutator, &mut Rng::new(seed));
        let (exchange, weaks) = (Exchange::new(&heap, &mutator), Weaks::new(&heap, &mutator));
        drop(mutator);
        let granules = Granules::new(heap.space().base().get(), heap.space().reservation_bytes());
        assert!(exchange.objects().all(|(at, bytes, _)| granules.claim(at, bytes)));
        // SAFETY: the heap is in a box, and is dropped after this.
        let disturber = settings.disturbed().then(|| unsafe { Disturber::new(&heap) });
        World {
            settings,
            kinds,
            granules,
            exchange,
            mailboxes: (0..settings.threads).map(|_| Mailbox::default()).collect(),
            estates: Estates::default(),
            weaks,
            meeting: Meeting::new(settings.threads),
            tallies: Mutex::new(vec![Tally::default(); settings.threads]),
            sessions: AtomicUsize::new(0),
            victims: RwLock::default(),
            disturber,
            heap,
        }
    }

    /// Lets each thread make about so many objects, and looks for what is left at the end.
    pub(crate) fn play(&self, seed: u64, allocations: usize) -> Result<Done, String> {
        let threads = self.settings.threads;
        let each = allocations.div_ceil(threads).next_multiple_of(self.settings.round);
        let mut all = Done::default();
        std::thread::scope(|scope| {
            let playing: Vec<_> = (0..threads)
                .map(|number| {
                    scope.spawn(move || {
                        let played =
                            catch_unwind(AssertUnwindSafe(|| Worker::new(self, number, seed, each).play()));
                        let done = played.unwrap_or_else(|_| Err("a thread panicked".into()));
                        done.map_err(|what| self.meeting.fail(what)).unwrap_or_default()
                    })
                })
                .collect();
            playing.into_iter().for_each(|thread| all.add(thread.join().unwrap()));
        });
        let whole = self.meeting.check().and_then(|()| self.end());
        whole.map_err(|what| format!("heap \"{}\", seed {seed}: {what}", self.settings.name))?;
        Ok(all)
    }

    /// What was sent and never received is there, and then nothing is.
    fn end(&self) -> Result<(), String> {
        let _quiet = self.disturber.as_ref().map(Disturber::quiet);
        let m = Mutator::attach(&self.heap, None).map_err(|e| e.to_string())?;
        if self.settings.young {
            self.heap.set_young_time(Some(Duration::ZERO));
            m.collect_young().map_err(|e| e.to_string())?;
        }
        Worker::new(self, 0, 0, 0).receive_the_rest(&m)?;
        if !self.estates.is_empty() {
            return Err("something was dropped, and has not come back".into());
        }
        let shared: Vec<_> = self.exchange.objects().collect();
        self.exchange.end(&self.heap)?;
        self.weaks.check(&m, 0, self.settings.exact())?;
        self.weaks.end(&self.heap)?;
        if !shared.iter().all(|&(at, bytes, _)| self.granules.release(at, bytes)) {
            return Err("a shared object is not alive".into());
        }
        if self.granules.bytes() != 0 {
            return Err(format!("{} bytes are nobody's", self.granules.bytes()));
        }
        compare(self, &m, (0, 0), None)
    }
}
