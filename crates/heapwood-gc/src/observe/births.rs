//! Where objects come from, in verify mode: the name of the type, the place that allocated, the thread; and the collection that
//! found the object dead. The interface that allocates notes it, so that reports can name what an address was, even after the
//! object's end. A record lies beside each granule, in memory that is committed as the heap grows.
//! Invariant: a record tells of the last object whose first byte was there, if anybody noted that one; a fault handler may read it.

use core::ffi::{CStr, c_char};
use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use heapwood_heap::{Address, CLOBBER, GRANULE, ObjectRef, ScanKind, Space};
use heapwood_os::diagnose::backtrace::CodeLocation;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

/// What is known of an allocation.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The name of the object's type, if it has one.
    pub name: Option<*const c_char>,
    /// The return addresses of the allocation and of its caller; 0 if they are not known.
    pub sites: [usize; 2],
    /// The kernel's number of the thread.
    pub thread: u32,
    /// The bytes that the program asked for, if those behind them, to the end of the object's memory, are nobody's.
    pub bytes: Option<usize>,
    /// Its words are numbers, as its type says. Otherwise an object without pointers whose type has a name is searched for words that
    /// lead to dead objects.
    pub plain: bool,
}

/// The record of an object. Zeros: nobody noted it.
pub(super) struct Birth {
    name: AtomicUsize,
    sites: [AtomicUsize; 2],
    thread: AtomicU32,
    /// The collection that found it dead, or [`FREED`]; 0 while it is not known to be dead.
    died: AtomicU32,
    /// The bytes of its memory when it died.
    bytes: AtomicUsize,
    /// The bytes that the program asked for, and behind which the memory is filled; 0: it is not.
    asked: AtomicUsize,
}

/// In the number of a thread: the object is plain.
const PLAIN: u32 = 1 << 31;

/// The program has freed the object.
const FREED: u32 = u32::MAX;

// SAFETY: zeros are atomic numbers, and mean that nobody noted an object.
unsafe impl Zeroed for Birth {}

impl Birth {
    /// That of an object nobody noted.
    pub(super) const fn new() -> Self {
        Birth {
            name: AtomicUsize::new(0),
            sites: [const { AtomicUsize::new(0) }; 2],
            thread: AtomicU32::new(0),
            died: AtomicU32::new(0),
            bytes: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
        }
    }

    /// The dead object that it is about.
    pub(super) fn tell(&self, object: usize) -> Told<'_> {
        Told { object, bytes: self.bytes.load(Ordering::Relaxed), record: Some(self), is_dead: true }
    }

    /// The bytes that the program asked for, if the object is not known to be dead, and the memory behind them is filled.
    pub(super) fn asked_while_alive(&self) -> Option<usize> {
        let is_alive = self.died.load(Ordering::Acquire) == 0;
        Some(self.asked.load(Ordering::Relaxed)).filter(|&asked| is_alive && asked != 0)
    }

    fn copy_to(&self, other: &Birth) {
        let copy =
            |from: &AtomicUsize, to: &AtomicUsize| to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        copy(&self.name, &other.name);
        self.sites.iter().zip(&other.sites).for_each(|(from, to)| copy(from, to));
        copy(&self.bytes, &other.bytes);
        copy(&self.asked, &other.asked);
        other.thread.store(self.thread.load(Ordering::Relaxed), Ordering::Relaxed);
        other.died.store(self.died.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// The granules that are searched for the first byte of a dead object: 16 MiB.
const FARTHEST: usize = 1 << 20;

/// The records of a heap.
pub(crate) struct Births {
    records: MappedArray<Birth>,
    base: usize,
    /// Records that have memory.
    committed: AtomicUsize,
}

impl Births {
    pub(crate) fn new(kernel: KernelRef, space: &Space) -> Result<Self, OsError> {
        Ok(Births {
            records: MappedArray::new(kernel, space.reservation_bytes() / GRANULE)?,
            base: space.base().get(),
            committed: AtomicUsize::new(0),
        })
    }

    /// Notes where a new object comes from. Without memory for the record nothing is noted.
    pub(crate) fn note(&self, space: &Space, object: usize, origin: Origin) {
        self.commit(space, object);
        let Some(record) = self.record(object) else { return };
        record.name.store(origin.name.map_or(0, |name| name as usize), Ordering::Relaxed);
        record.sites.iter().zip(origin.sites).for_each(|(place, site)| place.store(site, Ordering::Relaxed));
        let plain = if origin.plain { PLAIN } else { 0 };
        record.thread.store(origin.thread & !PLAIN | plain, Ordering::Relaxed);
        record.asked.store(fill_behind(space, object, origin.bytes).unwrap_or(0), Ordering::Relaxed);
        // A collection may come at any moment, and looks behind what is filled.
        record.died.store(0, Ordering::Release);
    }

    /// The bytes that the program asked for when it made an object, if the memory behind them is filled.
    pub(crate) fn asked(&self, object: usize) -> Option<usize> {
        self.record(object)?.asked_while_alive()
    }

    fn commit(&self, space: &Space, object: usize) {
        if (object - self.base) / GRANULE >= self.committed.load(Ordering::Acquire) {
            let end = space.committed_end() / GRANULE;
            // Several threads may commit the same records.
            if self.records.commit(self.committed.load(Ordering::Relaxed)..end).is_ok() {
                self.committed.fetch_max(end, Ordering::Release);
            }
        }
    }

    /// Notes that a collection has found an object dead, which had so many bytes.
    pub(super) fn note_death(&self, space: &Space, (object, bytes): (usize, usize), collection: u32) {
        self.commit(space, object);
        self.note_end(object, bytes, collection);
    }

    /// Notes that the program is about to free an object of so many bytes. Returns what is to be [put back](Births::put_back) if the
    /// heap refuses it.
    pub(crate) fn note_free(&self, space: &Space, object: usize, bytes: usize) -> u32 {
        self.commit(space, object);
        let before = self.record(object).map_or(0, |record| record.died.load(Ordering::Relaxed));
        self.note_end(object, bytes, FREED);
        before
    }

    /// Takes that back.
    pub(crate) fn put_back(&self, object: usize, before: u32) {
        if let Some(record) = self.record(object) {
            record.died.store(before, Ordering::Relaxed);
        }
    }

    fn note_end(&self, object: usize, bytes: usize, died: u32) {
        let Some(record) = self.record(object) else { return };
        record.bytes.store(bytes, Ordering::Relaxed);
        record.died.store(died, Ordering::Relaxed);
        // Smaller objects that died there before are older news. A record that was never written stays without memory.
        for at in (object..object + bytes).step_by(GRANULE).skip(1) {
            let Some(inside) = self.record(at) else { return };
            if inside.died.load(Ordering::Relaxed) != 0 {
                inside.asked.store(0, Ordering::Relaxed);
                inside.died.store(0, Ordering::Relaxed);
            }
        }
    }

    fn record(&self, object: usize) -> Option<&Birth> {
        let index = object.wrapping_sub(self.base) / GRANULE;
        // SAFETY: this many records are committed; zeros are a valid one.
        (index < self.committed.load(Ordering::Acquire)).then(|| unsafe { &*self.records.at(index) })
    }

    /// The first byte of the object that died last at an address.
    pub(super) fn dead_at(&self, address: usize) -> Option<usize> {
        let mut at = address & !(GRANULE - 1);
        for _ in 0..FARTHEST {
            let record = self.record(at)?;
            if record.died.load(Ordering::Relaxed) != 0 {
                return (address - at < record.bytes.load(Ordering::Relaxed)).then_some(at);
            }
            at = at.checked_sub(GRANULE)?;
        }
        None
    }

    /// Copies the record of an object.
    pub(super) fn copy(&self, object: usize, to: &Birth) {
        self.record(object).inspect(|record| record.copy_to(to));
    }

    /// Whether an object's type has a name, and is not plain.
    pub(super) fn has_name(&self, object: usize) -> bool {
        let record = self.record(object).filter(|record| record.died.load(Ordering::Relaxed) == 0);
        record.is_some_and(|record| {
            record.name.load(Ordering::Relaxed) != 0 && record.thread.load(Ordering::Relaxed) & PLAIN == 0
        })
    }

    /// The object at an address, in words.
    pub(crate) fn tell(&self, object: usize, bytes: usize) -> Told<'_> {
        Told { object, bytes, record: self.record(object), is_dead: false }
    }

    /// The dead object at an address, in words.
    pub(super) fn tell_gone(&self, object: usize) -> Option<Told<'_>> {
        Some(self.record(object)?.tell(object))
    }

    /// What was in the memory of an address where no object is any more: its first byte, and the words.
    pub(crate) fn tell_dead(&self, space: &Space, address: usize) -> Option<Told<'_>> {
        let at = Address::new(address);
        if !space.contains(at) || space.find(at).is_some() {
            return None;
        }
        if let Some(told) = self.dead_at(address).and_then(|object| self.tell_gone(object)) {
            return Some(told);
        }
        let span = space.find_span(at)?;
        let cell = ObjectRef::new(span.cell_in(at)?.get()).get();
        Some(self.tell(cell, span.object_bytes()))
    }
}

/// Fills the memory of a new object behind the bytes that the program asked for. `None`: nothing is behind them, or what scans the
/// object reads it.
fn fill_behind(space: &Space, object: usize, asked: Option<usize>) -> Option<usize> {
    let span = space.find_span(Address::new(object))?;
    let is_free = matches!(
        space.layouts().shape(span.shape()).kind(),
        ScanKind::NoPointers | ScanKind::Pair | ScanKind::Mask | ScanKind::WideMask
    );
    let (asked, bytes) = (asked.filter(|_| is_free)?, span.object_bytes());
    if asked >= bytes {
        return None;
    }
    // SAFETY: it is the new object's memory, no slot is there, and the program has not asked for it.
    unsafe { ((object + asked) as *mut u8).write_bytes(CLOBBER, bytes - asked) };
    Some(asked)
}

/// An object as reports name it: `the ObjFn at 0x7f.. (48 bytes, made in compile+0x1f by thread 7)`.
pub(crate) struct Told<'b> {
    object: usize,
    bytes: usize,
    record: Option<&'b Birth>,
    /// It is gone, as the record says.
    is_dead: bool,
}

impl Told<'_> {
    /// The name of its type.
    fn name(&self) -> Option<&str> {
        let at = self.record?.name.load(Ordering::Relaxed) as *const c_char;
        // SAFETY: names are texts that stay as long as the heap.
        let name = (!at.is_null()).then(|| unsafe { CStr::from_ptr(at) })?;
        name.to_str().ok()
    }
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name().unwrap_or("object");
        let asked = self.record.map_or(0, |record| record.asked.load(Ordering::Relaxed));
        write!(f, "the {name} at {:#x} ({} bytes", self.object, if asked == 0 { self.bytes } else { asked })?;
        if let Some(record) = self.record {
            let mut has_site = false;
            for (site, from) in record.sites.iter().zip(["made in", "from"]) {
                let site = site.load(Ordering::Relaxed);
                if site != 0 {
                    has_site = true;
                    let (comma, at) = (if from == "from" { "" } else { "," }, CodeLocation::of(site));
                    write!(f, "{comma} {from} {at}")?;
                }
            }
            match record.thread.load(Ordering::Relaxed) & !PLAIN {
                0 => {}
                thread if has_site => write!(f, " by thread {thread}")?,
                thread => write!(f, ", made by thread {thread}")?,
            }
            match record.died.load(Ordering::Relaxed) {
                _ if !self.is_dead => {}
                0 => {}
                FREED => write!(f, ", freed by the program")?,
                died => write!(f, ", found dead by collection {died}")?,
            }
        }
        f.write_str(")")
    }
}

impl Mapped for Births {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.records.for_each_mapping(f);
    }
}
