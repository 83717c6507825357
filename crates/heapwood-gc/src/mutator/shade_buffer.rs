//! A mutator's part of the marking's log: the chunk that it fills with the objects that its barrier has shaded. Adding
//! one takes no lock; a full chunk is handed in, and an empty one taken, in one critical section of the log
//! (`state/marking_log`). Invariant: it belongs to its thread, or to a collector that has stopped that; its entries are
//! handed in before the thread leaves, and in each pause of a marking.

use crate::state::{CHUNK_ENTRIES, Chunk, ChunkMemory, MarkingLog};
use core::cell::Cell;
use core::ptr::null;

/// The shade buffer of a mutator.
pub(super) struct ShadeBuffer {
    /// Null without a chunk.
    chunk: Cell<*const ChunkMemory>,
    /// The entries of the chunk; all, if there is none.
    len: Cell<usize>,
}

impl ShadeBuffer {
    pub(super) const fn new() -> Self {
        ShadeBuffer { chunk: Cell::new(null()), len: Cell::new(CHUNK_ENTRIES) }
    }

    /// Adds an object; false if there is no room.
    #[inline]
    pub(super) fn push(&self, log: &MarkingLog, object: usize) -> bool {
        let len = self.len.get();
        if len >= CHUNK_ENTRIES {
            return self.push_into_next(log, object);
        }
        // SAFETY: there is a chunk, which is this mutator's, since the length is below its capacity.
        unsafe { ChunkMemory::write(self.chunk.get(), len, object) };
        self.len.set(len + 1);
        true
    }

    #[cold]
    #[inline(never)]
    fn push_into_next(&self, log: &MarkingLog, object: usize) -> bool {
        let Some(chunk) = log.exchange(self.take()) else { return false };
        self.chunk.set(chunk.into_memory());
        self.len.set(0);
        self.push(log, object)
    }

    /// The chunk, if there is one; the mutator has none then.
    fn take(&self) -> Option<Chunk> {
        let (memory, len) = (self.chunk.replace(null()), self.len.replace(CHUNK_ENTRIES));
        // SAFETY: the mutator has written so many entries of its chunk, and uses it no more.
        (!memory.is_null()).then(|| unsafe { Chunk::filled(memory, len) })
    }

    /// Hands in the chunk, if there is one.
    pub(super) fn hand_in(&self, log: &MarkingLog) {
        if let Some(chunk) = self.take() {
            log.hand_in(chunk);
        }
    }

    /// A planted error: empties the chunk.
    pub(super) fn lose(&self) {
        if !self.chunk.get().is_null() {
            self.len.set(0);
        }
    }
}

#[cfg(all(test, loom))]
mod model {
    //! Two mutators and a marker under loom; chunks have two entries. Each object comes to the marker once: out of a full
    //! chunk beside them, or at the end, when they have stopped and their chunks are handed in.

    use super::*;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use heapwood_os::SYSTEM;
    use loom::sync::Arc;

    struct World {
        log: MarkingLog,
        buffers: [ShadeBuffer; 2],
    }

    // SAFETY: as the product's mutators: each buffer is its thread's until that has stopped, which here means joined.
    unsafe impl Send for World {}
    // SAFETY: as above.
    unsafe impl Sync for World {}

    fn take_all(log: &MarkingLog, found: &mut Vec<usize>) {
        while let Some(chunk) = log.take_chunk() {
            found.extend((0..chunk.len()).map(|i| chunk.get(i)));
        }
    }

    /// Mutator i shades `objects[i]` objects; then all stop.
    fn model(objects: [usize; 2], hands_in_at_end: bool) {
        // Executions by what the marker has found beside the mutators. They are no part of the model.
        static BESIDE: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let world = World { log: MarkingLog::new(), buffers: [ShadeBuffer::new(), ShadeBuffer::new()] };
            world.log.begin(&SYSTEM, None, (1 << 30, 0)).unwrap();
            let world = Arc::new(world);
            let threads = [0, 1].map(|me| {
                let world = world.clone();
                loom::thread::spawn(move || {
                    for i in 1..=objects[me] {
                        assert!(world.buffers[me].push(&world.log, me * 100 + i), "there are chunks enough");
                    }
                })
            });
            let mut found = Vec::new();
            // Beside the mutators: what comes is whole, but need not be all.
            take_all(&world.log, &mut found);
            take_all(&world.log, &mut found);
            BESIDE[found.len() / CHUNK_ENTRIES].fetch_add(1, Ordering::Relaxed);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            if hands_in_at_end {
                world.buffers.iter().for_each(|buffer| buffer.hand_in(&world.log));
            }
            take_all(&world.log, &mut found);
            found.sort_unstable();
            let all: Vec<usize> =
                (0..2).flat_map(|me| (1..=objects[me]).map(move |i| me * 100 + i)).collect();
            assert_eq!(found, all, "each object comes once");
            world.log.end(|_| ());
        });
        let beside: Vec<usize> = BESIDE.iter().map(|count| count.swap(0, Ordering::Relaxed)).collect();
        println!("executions with 0, 1, .. chunks found beside the mutators: {beside:?}");
        assert!(objects.iter().all(|&objects| objects <= CHUNK_ENTRIES) || beside[0] > 0 && beside[1] > 0);
    }

    #[test]
    fn each_shaded_object_comes_once() {
        model([3, 1], true);
        model([3, 4], true);
        model([0, 5], true);
    }

    /// Shows that the model can fail: without the hand-over at the end it finds objects missing.
    #[test]
    #[should_panic(expected = "each object comes once")]
    fn without_the_last_hand_over_objects_are_missing() {
        model([3, 1], false);
    }
}
