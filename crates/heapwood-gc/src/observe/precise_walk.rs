//! The objects that precise roots reach, found slowly and simply. Verify mode needs them if the program frees objects
//! itself: then a dead object may refer to a freed one, and an object that only a stack's word keeps may be dead; but
//! an object that precise roots reach is alive. Invariant: an object waits at most once in a walk, so there is room for
//! all.

use super::slots::for_each_slot;
use heapwood_heap::{Address, GRANULE, Space};
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, MappedArray, OsError};

const BITS: usize = u64::BITS as usize;

/// The tables of a walk over one heap; their memory is used only during it.
pub(super) struct PreciseWalk {
    /// One bit for each granule: the walk has reached the object that begins there.
    seen: MappedArray<u64>,
    /// Objects that were reached and whose slots were not yet read.
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

    /// Calls `slot` with each pointer slot of each object that `roots` reach, the object and its bytes, and the slot's
    /// value; the value is outside the heap, or `slot` accepts it. The walk does not follow reports of trace functions.
    /// The heap is stopped, flushed and swept; one thread collects.
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
        let reach = |len: &mut usize, object: usize| {
            if !space.contains(Address::new(object)) {
                return;
            }
            let Some(object) = space.arenas().marked_as(Address::new(object)).map(Address::get) else {
                return;
            };
            let granule = (object - space.base().get()) / GRANULE;
            // SAFETY: both tables are committed up to the heap's extent, and only this thread uses them; no more
            // objects wait than there are granules, because each waits once.
            unsafe {
                let word = self.seen.at(granule / BITS);
                if *word >> (granule % BITS) & 1 == 0 {
                    *word |= 1 << (granule % BITS);
                    self.waiting.at(*len).write(object);
                    *len += 1;
                }
            }
        };
        roots(&mut |object| reach(&mut len, object));
        while len > 0 {
            len -= 1;
            // SAFETY: it was written when the object was reached.
            let object = unsafe { self.waiting.at(len).read() };
            let bytes = space.find(Address::new(object)).map_or(0, |found| found.bytes);
            // The chunks of an arena live together.
            if let Some(chunk) =
                space.arenas().find_chunk(Address::new(object)).filter(|chunk| chunk.is_in_use())
            {
                reach(&mut len, space.base().get() + chunk.next().byte_offset());
            }
            for_each_slot(space, object, bytes, |at| {
                // SAFETY: the slot lies in an object of a stopped heap.
                let value = unsafe { (at as *const usize).read() };
                slot(at, (object, bytes), value);
                reach(&mut len, value);
            });
        }
        give_back(&self.seen, words)?;
        give_back(&self.waiting, granules)
    }
}

/// Zeroes the first elements, and gives their memory back.
fn give_back<T: Zeroed>(table: &MappedArray<T>, len: usize) -> Result<(), OsError> {
    // SAFETY: they are committed, and the walk that used them has ended.
    unsafe { table.decommit(0..len) }
}
