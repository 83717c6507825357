//! How clusters travel: a parcel is the model of one, and its head is kept alive meanwhile by a handle or by a slot of an
//! object that all threads share and store into through the barrier. Invariant: from when a parcel is in a box until it is
//! taken out, what it holds is nobody's but the parcel's.

use super::cluster::{Cluster, Outcome, Root};
use core::time::Duration;
use heapwood_gc::{Handle, Heap, Mutator, ObjectType};
use heapwood_gc_testing::model::kinds::WORD;
use heapwood_heap::{Address, ObjectRef};
use heapwood_layout::TypeDescriptor;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

/// How many parcels wait for one thread at most.
const MOST_WAITING: usize = 8;

/// Words of the shared objects; the second one is large.
const SHARED: [usize; 2] = [256, 4500];
/// How many of them are slots.
const SLOTS: usize = 256;

/// The objects that all threads share.
pub(crate) struct Exchange {
    objects: [(Handle, ObjectType); 2],
    /// The slots that are in nobody's use.
    free: Mutex<Vec<usize>>,
}

impl Exchange {
    pub(crate) fn new(heap: &Heap, mutator: &Mutator) -> Self {
        let objects = SHARED.map(|words| {
            let described = TypeDescriptor::masked(words * WORD, &[u64::MAX; 4]).unwrap();
            let ty = heap.types().register(&described).unwrap();
            let at = Address::new(mutator.allocate(ty).unwrap().as_ptr() as usize);
            // SAFETY: the object was made just now.
            (unsafe { heap.roots().new_handle(at) }.unwrap(), ty)
        });
        Exchange { objects, free: Mutex::new((0..2 * SLOTS).collect()) }
    }

    /// The addresses, bytes and counted bytes of the shared objects.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        self.objects.iter().map(|&(handle, ty)| {
            let pages = ty.size().next_multiple_of(heapwood_pages::PAGE_SIZE);
            let cell = ty.cell_size();
            // SAFETY: the handle is held.
            (unsafe { handle.get() }, cell.unwrap_or(ty.size()), cell.unwrap_or(pages))
        })
    }

    /// A slot that is nobody else's until it is given back, if there is one.
    pub(crate) fn take_slot(&self) -> Option<usize> {
        self.free.lock().unwrap().pop()
    }

    fn place(&self, slot: usize) -> (ObjectRef, *mut usize) {
        // SAFETY: the handle is held.
        let object = unsafe { self.objects[slot / SLOTS].0.get() };
        (ObjectRef::new(object), (object + slot % SLOTS * WORD) as *mut usize)
    }

    /// Stores the address of an object.
    pub(crate) fn put(&self, mutator: &Mutator, slot: usize, at: usize) {
        let (object, place) = self.place(slot);
        // SAFETY: the object is held by its handle, the slot one of it and ours, the value an object's address.
        unsafe { mutator.barrier().write(object, place, Address::new(at)) };
    }

    /// Clears a slot that holds `at`, and gives it back.
    pub(crate) fn clear(&self, mutator: &Mutator, slot: usize, at: usize) -> Outcome {
        let (object, place) = self.place(slot);
        // SAFETY: as above.
        let found = unsafe { mutator.barrier().cas(object, place, Address::new(at), Address::new(0)) };
        self.free.lock().unwrap().push(slot);
        found.map_err(|found| format!("slot {slot} of the shared objects holds {found:x?} and not {at:#x}"))
    }

    /// What a slot holds.
    pub(crate) fn get(&self, slot: usize) -> usize {
        let (_, place) = self.place(slot);
        // SAFETY: the slot is the caller's; atomic, since marking reads it.
        unsafe { core::sync::atomic::AtomicUsize::from_ptr(place) }
            .load(core::sync::atomic::Ordering::Relaxed)
    }

    /// Lets go of the shared objects.
    pub(crate) fn end(&self, heap: &Heap) -> Outcome {
        if self.free.lock().unwrap().len() != 2 * SLOTS {
            return Err("slots of the shared objects are still in use".into());
        }
        match self.objects.iter().all(|o| heap.roots().free_handle(o.0)) {
            true => Ok(()),
            false => Err("the shared objects' handles are not held".into()),
        }
    }
}

/// Where parcels for one thread wait.
#[derive(Default)]
pub(crate) struct Mailbox {
    parcels: Mutex<VecDeque<Cluster>>,
    more: Condvar,
}

impl Mailbox {
    /// Takes a parcel; gives it back if too many wait.
    pub(crate) fn put(&self, parcel: Cluster) -> Option<Cluster> {
        debug_assert!(matches!(parcel.root, Root::Handle(_) | Root::Exchange(_)));
        let mut parcels = self.parcels.lock().unwrap();
        if parcels.len() >= MOST_WAITING {
            return Some(parcel);
        }
        parcels.push_back(parcel);
        self.more.notify_one();
        None
    }

    /// Takes one out, if there is one after at most so long.
    pub(crate) fn take(&self, wait: Duration) -> Option<Cluster> {
        let mut parcels = self.parcels.lock().unwrap();
        if parcels.is_empty() && !wait.is_zero() {
            parcels = self.more.wait_timeout(parcels, wait).unwrap().0;
        }
        parcels.pop_front()
    }

    /// Calls `f` with each that waits.
    pub(crate) fn each(&self, f: impl FnMut(&Cluster)) {
        self.parcels.lock().unwrap().iter().for_each(f);
    }
}
