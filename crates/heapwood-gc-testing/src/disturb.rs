//! Another thread that collects all the time, so that a heap that stops threads by signals stops them in the middle of
//! everything; and how a program keeps it quiet while it compares. Invariant: while a [`Quiet`] exists it does not collect.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use heapwood_gc::Heap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    /// How many want it to be quiet: a mutex alone would be taken by whoever has just let go of it.
    quiet: AtomicUsize,
    collecting: Mutex<()>,
    collections: AtomicU64,
}

/// The thread.
pub struct Disturber {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// It does not collect.
pub struct Quiet<'d> {
    shared: &'d Shared,
    _collecting: MutexGuard<'d, ()>,
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        self.shared.quiet.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Disturber {
    /// Begins to collect.
    ///
    /// # Safety
    /// 1. The heap stays where it is, and exists as long as what is returned.
    pub unsafe fn new(heap: &Heap) -> Self {
        let shared = Arc::new(Shared::default());
        let (its, heap) = (shared.clone(), &raw const *heap as usize);
        let thread = std::thread::spawn(move || {
            while !its.ended.load(Ordering::SeqCst) {
                if its.quiet.load(Ordering::SeqCst) != 0 {
                    std::thread::yield_now();
                    continue;
                }
                let _collecting = its.collecting.lock().unwrap();
                // SAFETY: contract 1; the thread is joined before that ends.
                unsafe { &*(heap as *const Heap) }.collect().unwrap();
                its.collections.fetch_add(1, Ordering::SeqCst);
                // Else a busy machine runs seven collections for each step of the program.
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        Disturber { shared, thread: Some(thread) }
    }

    /// Waits for the collection under way, and lets none begin.
    pub fn quiet(&self) -> Quiet<'_> {
        self.shared.quiet.fetch_add(1, Ordering::SeqCst);
        Quiet { shared: &self.shared, _collecting: self.shared.collecting.lock().unwrap() }
    }

    fn collections(&self) -> u64 {
        self.shared.collections.load(Ordering::SeqCst)
    }

    /// Computes, without a call of the heap's, until a collection has begun and ended meanwhile: nothing but a signal can have
    /// stopped the calling thread for that.
    pub fn answer_in_handler(&self) -> Result<(), String> {
        let (from, since) = (self.collections(), Instant::now());
        while self.collections() < from + 2 {
            if since.elapsed() > Duration::from_secs(60) {
                return Err("no collection has ended for a minute while this thread computed".into());
            }
            core::hint::spin_loop();
        }
        Ok(())
    }
}

impl Drop for Disturber {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // If that thread has panicked the collections were missed before.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
