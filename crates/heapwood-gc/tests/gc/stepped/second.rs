//! A second thread with a mutator of its own, which stores what it is told to while the first waits: so each store comes from
//! one of two barriers, and runs repeat. Invariant: between stores it is in a blocking region.

use heapwood_gc::{Heap, Mutator};
use heapwood_heap::{Address, ObjectRef};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// A store: object, slot and value.
pub(crate) type Store = (usize, usize, usize);

pub(crate) struct Second {
    stores: Option<Sender<Store>>,
    done: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Second {
    /// Attaches a thread to a heap.
    ///
    /// # Safety
    /// 1. The heap exists until this is dropped.
    pub(crate) unsafe fn start(heap: &Heap) -> Self {
        let (stores, orders) = channel::<Store>();
        let (tell, done) = channel();
        let heap = heap as *const Heap as usize;
        let thread = std::thread::spawn(move || {
            // SAFETY: contract 1.
            let heap = unsafe { &*(heap as *const Heap) };
            let mutator = Mutator::attach(heap, None).unwrap();
            tell.send(()).unwrap();
            while let Ok((object, slot, value)) = mutator.blocking(|| orders.recv()).unwrap() {
                // SAFETY: the first thread names a slot of an object that exists, and what it may hold.
                unsafe {
                    mutator.barrier().write(ObjectRef::new(object), slot as *mut usize, Address::new(value))
                };
                tell.send(()).unwrap();
            }
        });
        done.recv().unwrap();
        Second { stores: Some(stores), done, thread: Some(thread) }
    }

    /// Stores on the other thread.
    pub(crate) fn store(&self, store: Store) {
        self.stores.as_ref().unwrap().send(store).unwrap();
        self.done.recv().unwrap();
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        self.stores = None;
        self.thread.take().unwrap().join().unwrap();
    }
}
