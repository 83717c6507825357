//! The data of libraries as roots, kept in step with the loader, and read without trust that it stays. A thread that is
//! not stopped may close a library while its words are read, so the kernel copies them into a buffer, a page at a time.
//! docs/design/libraries.md gives the reasons. Invariant: while threads are stopped the list has every library that any of them
//! has seen loaded.

use super::excluded::Excluded;
use super::library_list::LibraryList;
use super::table::RootTable;
use core::ops::Range;
use heapwood_layout::WORD;
use heapwood_os::process::loaded;
use heapwood_os::{
    KernelRef, LEAST_KERNEL_PAGE, Mapped, MappedArray, OsError, Pagemap, Peek, for_each_mapping_of,
};

/// Words that are read at once: those of a page of the smallest kind, so that all are there or none. A marker scans one
/// such copy before it takes the next.
const CHUNK: usize = LEAST_KERNEL_PAGE / WORD;
/// Longer data may be an array that is mostly unused.
const LONG: usize = 64 * LEAST_KERNEL_PAGE;

/// The libraries of a heap that uses any as roots.
pub(super) struct Libraries {
    /// The data of every library are roots.
    all: bool,
    /// Parts of them that are not.
    excluded: Excluded,
    list: LibraryList,
    /// The copy that a marker scans.
    buffer: MappedArray<usize>,
}

impl Libraries {
    pub(super) fn new(kernel: KernelRef, all: bool) -> Result<Self, OsError> {
        loaded::has_lock()?;
        let buffer = MappedArray::new(kernel, CHUNK)?;
        buffer.commit(0..CHUNK)?;
        let excluded = Excluded::new(kernel)?;
        Ok(Libraries { all, excluded, list: LibraryList::new(kernel)?, buffer })
    }

    /// From now on the data of every library are roots, or those of named ones alone.
    pub(super) fn set_all(&mut self, all: bool) {
        self.all = all;
    }

    /// Ranges that are no roots.
    pub(super) fn excluded(&mut self) -> &mut Excluded {
        &mut self.excluded
    }

    /// Whether some library's data are roots, by the table.
    pub(super) fn are_used(&self, table: &RootTable) -> bool {
        self.all || table.has_libraries()
    }

    /// Learns which libraries are loaded. The caller has the loader's lock until threads have stopped.
    pub(super) fn look(&mut self) {
        self.list.look();
    }

    /// Selects, by the table, the libraries that are roots.
    pub(super) fn select_roots(&mut self, table: &mut RootTable) {
        self.list.select_roots(table, self.all);
    }

    /// Calls `f` with copies of all root words, a page at a time; the next copy overwrites the last.
    pub(super) fn for_each_chunk(&self, mut f: impl FnMut(Range<usize>)) {
        let (peek, pagemap) = (Peek::new(), Pagemap::new());
        for data in self.list.roots() {
            self.excluded.for_each_rest(data, |data| {
                if data.len() <= LONG {
                    return self.read(&peek, data, &mut f);
                }
                let mut left = data;
                // A page that was never written holds the file's words, or zeros: no address of an object.
                while let Some(written) = pagemap.first(left.clone()) {
                    left.start = written.end;
                    self.read(&peek, written, &mut f);
                }
            });
        }
    }

    fn read(&self, peek: &Peek, data: Range<usize>, f: &mut impl FnMut(Range<usize>)) {
        let first = self.buffer.as_ptr();
        let mut at = data.start;
        while at < data.end {
            let end = (at + 1).next_multiple_of(CHUNK * WORD).min(data.end);
            // SAFETY: the buffer is committed and large enough, and only this call uses it, because the roots are
            // locked.
            let buffer = unsafe { core::slice::from_raw_parts_mut(first.cast::<u8>(), end - at) };
            let read = peek.read(at, buffer).unwrap_or_else(|| {
                // SAFETY: the data were there when the list was made. On a system that cannot read data that may go,
                // libraries must stay.
                (0..(end - at) / WORD).for_each(|i| unsafe {
                    first.add(i).write((at as *const usize).add(i).read_volatile());
                });
                end - at
            });
            if read >= WORD {
                f(first as usize..first as usize + read / WORD * WORD);
            }
            at = end;
        }
    }
}

/// The number of the library that holds an address, and how many libraries had been loaded by then.
pub(super) fn holder(address: usize) -> Option<(usize, usize)> {
    let mut id = None;
    let counts = loaded::for_each_library(|library| {
        id = library.holds(address).then(|| library.id());
        id.is_none()
    });
    id.map(|id| (id, counts.adds as usize))
}

impl Mapped for Libraries {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        for_each_mapping_of(&[&self.buffer, &self.excluded, &self.list], f);
    }
}
