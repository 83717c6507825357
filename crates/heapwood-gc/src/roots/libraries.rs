//! Data of libraries as roots: kept in step with the loader, and read without trusting that they stay. A thread that is not
//! stopped may close a library while its words are read, so the kernel reads them into a buffer here, a piece at a time.
//! docs/design/libraries.md says why. Invariant: while threads are stopped, and [`Libraries::know`] has said so, the list holds
//! all libraries that any of them has seen loaded.

use super::library_watcher::LibraryWatcher;
use super::table::RootTable;
use core::ops::Range;
use core::time::Duration;
use heapwood_layout::WORD;
use heapwood_os::loaded;
use heapwood_os::{KernelRef, LEAST_KERNEL_PAGE, MappedArray, OsError, Pagemap, Peek};

/// Words that are read at once: those of a page of the smallest kind, so that all are there or none. A marker looks at so
/// many before it takes others.
const CHUNK: usize = LEAST_KERNEL_PAGE / WORD;
/// Data longer than this may be an array of which little is used.
const LONG: usize = 64 * LEAST_KERNEL_PAGE;

/// The libraries of a heap that uses any as roots.
pub(super) struct Libraries {
    /// Every library's data are roots.
    all: bool,
    library_watcher: LibraryWatcher,
    /// Where what was read lies while a marker looks at it.
    buffer: MappedArray<usize>,
    kernel: KernelRef,
}

impl Libraries {
    pub(super) fn new(kernel: KernelRef, all: bool) -> Result<Self, OsError> {
        let buffer = MappedArray::new(kernel, CHUNK)?;
        buffer.commit(0..CHUNK)?;
        Ok(Libraries { all, library_watcher: LibraryWatcher::start(kernel)?, buffer, kernel })
    }

    /// Learns what is loaded, however long that takes. No thread has been stopped.
    pub(super) fn update(&mut self) {
        self.library_watcher.look(self.kernel);
    }

    /// Learns the same while threads are stopped, and which of it are roots; false if that takes longer.
    pub(super) fn know(&mut self, at_most: Duration) -> bool {
        self.library_watcher.look_for(at_most)
    }

    /// Learns which libraries are roots, by the table.
    pub(super) fn settle(&mut self, table: &mut RootTable) {
        let all = self.all;
        self.library_watcher.with_list(|list| list.settle(table, all));
    }

    /// Calls `f` with copies of all words that are roots, a piece at a time; each is overwritten when `f` returns.
    pub(super) fn for_each_chunk(&self, mut f: impl FnMut(Range<usize>)) {
        let (peek, pagemap) = (Peek::new(), Pagemap::new());
        for data in self.library_watcher.seen().roots() {
            if data.len() <= LONG {
                self.read(&peek, data, &mut f);
                continue;
            }
            let mut left = data;
            // What was never written to holds what the file holds, or zeros: no address of an object.
            while let Some(written) = pagemap.first(left.clone()) {
                left.start = written.end;
                self.read(&peek, written, &mut f);
            }
        }
    }

    fn read(&self, peek: &Peek, data: Range<usize>, f: &mut impl FnMut(Range<usize>)) {
        let first = self.buffer.as_ptr();
        let mut at = data.start;
        while at < data.end {
            let end = (at + 1).next_multiple_of(CHUNK * WORD).min(data.end);
            // SAFETY: the buffer is committed, large enough, and used here alone, as the roots are locked.
            let buffer = unsafe { core::slice::from_raw_parts_mut(first.cast::<u8>(), end - at) };
            let read = peek.read(at, buffer).unwrap_or_else(|| {
                // SAFETY: it was there when the list was made. Where the system has no way to read what may go, it must stay.
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

/// The number of the library that holds an address, and how many had been loaded when it did.
pub(super) fn holder(address: usize) -> Option<(usize, usize)> {
    let mut id = None;
    let counts = loaded::for_each_library(|library| {
        id = library.holds(address).then(|| library.id());
        id.is_none()
    });
    id.map(|id| (id, counts.adds as usize))
}
