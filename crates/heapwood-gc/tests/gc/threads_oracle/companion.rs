//! A second heap, which stops threads in another way, or by another signal, and is used by the same threads: some are attached
//! to both, others to the first alone. What a thread has there is a list, and it must be as it was whenever it is looked at.

use super::cluster::Outcome;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::{Attached, Config, Heap, HeapBox, Mutator, ObjectType, RootToken};
use heapwood_gc_testing::model::kinds::WORD;
use heapwood_gc_testing::{Rng, words};
use heapwood_heap::{Address, ObjectRef};
use heapwood_layout::TypeDescriptor;
use heapwood_os::SYSTEM;

pub(crate) struct Companion {
    pub(crate) heap: HeapBox,
    /// A pointer, a number and data.
    node: ObjectType,
}

impl Companion {
    pub(crate) fn new(config: Config) -> Self {
        let heap = Heap::create(&SYSTEM, config).unwrap();
        let node = heap.types().register(&TypeDescriptor::masked(4 * WORD, &[1]).unwrap()).unwrap();
        Companion { heap, node }
    }
}

/// A thread's part in it.
pub(crate) struct Guest<'w> {
    companion: &'w Companion,
    mutator: Attached<'w>,
    /// The list's head.
    root: Box<AtomicUsize>,
    token: RootToken,
    len: usize,
}

impl<'w> Guest<'w> {
    pub(crate) fn new(companion: &'w Companion) -> Result<Self, String> {
        let root = Box::new(AtomicUsize::new(0));
        // SAFETY: the slot is in a box of its own until the root is removed.
        let token =
            unsafe { companion.heap.roots().add_slots(root.as_ptr(), 1) }.map_err(|e| e.to_string())?;
        let mutator = Mutator::attach(&companion.heap, None).map_err(|e| e.to_string())?;
        Ok(Guest { companion, mutator, root, token, len: 0 })
    }

    /// Looks at the list, and makes it longer, or a new one; collects now and then.
    pub(crate) fn step(&mut self, rng: &mut Rng) -> Outcome {
        self.check()?;
        if self.len > 200 {
            self.root.store(0, Ordering::Relaxed);
            self.len = 0;
        }
        for _ in 0..rng.below(20) {
            let new = self.mutator.allocate(self.companion.node).map_err(|e| e.to_string())?;
            let (at, slot) = (ObjectRef::new(new.as_ptr() as usize), new.as_ptr().cast::<usize>());
            // SAFETY: the object is new, and has these words; the head is an object's address, or null.
            unsafe {
                self.mutator.barrier().write(at, slot, Address::new(self.root.load(Ordering::Relaxed)));
                words::store(slot.add(1), self.len);
            }
            self.root.store(new.as_ptr() as usize, Ordering::Relaxed);
            self.len += 1;
        }
        match rng.below(60) {
            0 => self.mutator.collect().map_err(|e| e.to_string())?,
            1 => self.mutator.safepoint(),
            2 => self.mutator.blocking(std::thread::yield_now).map_err(|e| e.to_string())?,
            _ => {}
        }
        self.check()
    }

    fn check(&self) -> Outcome {
        let mut at = self.root.load(Ordering::Relaxed);
        for n in (0..self.len).rev() {
            if at == 0 {
                return Err(format!("the list in the other heap ends before node {n}"));
            }
            // SAFETY: the model says that the node lives, so its memory is there whatever it holds.
            let [next, number] = unsafe { *(at as *const [usize; 2]) };
            if number != n {
                return Err(format!("node {n} in the other heap, at {at:#x}, holds {number:#x}"));
            }
            at = next;
        }
        if at == 0 { Ok(()) } else { Err("the list in the other heap goes on".into()) }
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.companion.heap.roots().remove(self.token);
    }
}
