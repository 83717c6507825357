//! What precise roots lead to, found slowly and simply. Verify mode asks for it where the program frees objects itself: what
//! is dead may refer to what was freed, and of what a word of a stack keeps nobody can say whether it is alive; but what
//! can be reached from precise roots is. Invariant: an object waits at most once in a walk, so there is room for all.

use super::slots::for_each_slot;
use heapwood_heap::{Address, GRANULE, Space};
use heapwood_os::region::Zeroed;
use heapwood_os::{KernelRef, MappedArray, OsError};

const BITS: usize = u64::BITS as usize;

/// The tables of a walk over one heap, in use while it goes on.
pub(super) struct PreciseWalk {
    /// A bit a granule: an object that begins there was come to.
    seen: MappedArray<u64>,
    /// Objects that were come to, and whose slots have not been looked at.
    waiting: MappedArray<usize>,
}

impl PreciseWalk {
    pub(super) fn new(kernel: KernelRef, space: &Space) -> Result<Self, OsError> {
        let granules = space.window_bytes() / GRANULE;
        Ok(PreciseWalk {
            seen: MappedArray::new(kernel, granules.div_ceil(BITS))?,
            waiting: MappedArray::new(kernel, granules)?,
        })
    }

    /// Calls `slot` with each pointer slot of each object that can be reached from `roots`, the object, its bytes, and what the
    /// slot holds: an address outside the heap, or one about which `slot` is content. What a trace function reports is not
    /// followed. The heap is stopped, flushed and swept; one thread collects.
    ///
    /// # Errors
    /// The kernel refuses memory for the tables.
    pub(super) fn run(
        &self,
        space: &Space,
        roots: impl FnOnce(&mut dyn FnMut(usize)),
        mut slot: impl FnMut(usize, (usize, usize), usize),
    ) -> Result<(), OsError> {
        let granules = space.extent() / GRANULE;
        let (words, mut len) = (granules.div_ceil(BITS), 0);
        self.seen.commit(0..words)?;
        self.waiting.commit(0..granules)?;
        let come_to = |len: &mut usize, object: usize| {
            if !space.contains(Address::new(object)) {
                return;
            }
            let Some(object) = space.known_by(Address::new(object)).map(Address::get) else { return };
            let granule = (object - space.base().get()) / GRANULE;
            // SAFETY: both tables are committed up to the heap's extent and this thread's alone; no more objects wait than
            // there are granules, since each waits once.
            unsafe {
                let word = self.seen.at(granule / BITS);
                if *word >> (granule % BITS) & 1 == 0 {
                    *word |= 1 << (granule % BITS);
                    self.waiting.at(*len).write(object);
                    *len += 1;
                }
            }
        };
        roots(&mut |object| come_to(&mut len, object));
        while len > 0 {
            len -= 1;
            // SAFETY: written when it was come to.
            let object = unsafe { self.waiting.at(len).read() };
            let bytes = space.find(Address::new(object)).map_or(0, |found| found.bytes);
            // The pieces of an arena live together.
            if let Some(chunk) =
                space.find_arena_chunk(Address::new(object)).filter(|chunk| chunk.is_in_use())
            {
                come_to(&mut len, space.base().get() + chunk.next().byte_offset());
            }
            for_each_slot(space, object, bytes, |at| {
                // SAFETY: the slot lies in an object of a stopped heap.
                let value = unsafe { (at as *const usize).read() };
                slot(at, (object, bytes), value);
                come_to(&mut len, value);
            });
        }
        give_back(&self.seen, words)?;
        give_back(&self.waiting, granules)
    }
}

/// Makes the first elements zeros, and gives their memory back.
fn give_back<T: Zeroed>(table: &MappedArray<T>, len: usize) -> Result<(), OsError> {
    // SAFETY: they are committed, and the walk that used them has ended.
    unsafe { table.decommit(0..len) }
}
