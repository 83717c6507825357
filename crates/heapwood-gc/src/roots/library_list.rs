//! The writable data of all that the dynamic loader has loaded, as it was when somebody last looked, and which of it are roots.
//! Invariant: the list is the loader's of one moment, with the counts of that; so as long as these are the same the list is
//! true. It has its memory from the beginning, since it is filled while threads wait and the loader's lock is held.

use super::table::RootTable;
use core::ops::Range;
use heapwood_os::loaded::{self, Counts, Library};
use heapwood_os::message::corrupt;
use heapwood_os::region::Zeroed;
use heapwood_os::{KernelRef, MappedArray, OsError};

/// How many pieces of data are listed at most; most libraries have one.
const MOST: usize = 1 << 14;

/// Something at an address of the thread that this code was linked into.
static OURS: u8 = 0;

/// A piece of a library's data; of one that has none, an empty one.
#[derive(Clone, Copy)]
#[repr(C)]
struct Segment {
    /// Its library's number.
    library: usize,
    start: usize,
    end: usize,
    /// 1 if it is a root.
    is_root: usize,
}

// SAFETY: plain numbers, of which any will do.
unsafe impl Zeroed for Segment {}

/// The list.
pub(super) struct LibraryList {
    segments: MappedArray<Segment>,
    len: usize,
    /// The loader's counts when it was made.
    counts: Option<Counts>,
    /// It has been told since which of it are roots.
    is_settled: bool,
}

impl LibraryList {
    /// A list of nothing, until somebody looks.
    pub(super) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let segments = MappedArray::new(kernel, MOST)?;
        segments.commit(0..MOST)?;
        Ok(LibraryList { segments, len: 0, counts: None, is_settled: false })
    }

    /// Nothing that it says is true any more.
    pub(super) fn forget(&mut self) {
        self.counts = None;
    }

    /// Makes the list that of now. Waits for the loader's lock.
    pub(super) fn look(&mut self) {
        if self.counts.is_some_and(|counts| counts == loaded::counts()) {
            return;
        }
        (self.len, self.is_settled) = (0, false);
        self.counts = Some(loaded::for_each_library(|library| {
            if !is_ours(library) {
                let mut data = library.data().peekable();
                if data.peek().is_none() {
                    self.push(library.id(), 0..0);
                }
                data.for_each(|segment| self.push(library.id(), segment));
            }
            true
        }));
    }

    fn push(&mut self, library: usize, data: Range<usize>) {
        if self.len == MOST {
            corrupt(format_args!(
                "more than {MOST} data segments are loaded: their words cannot all be roots"
            ));
        }
        // SAFETY: all are committed, and the borrow is exclusive.
        unsafe {
            self.segments.at(self.len).write(Segment {
                library,
                start: data.start,
                end: data.end,
                is_root: 0,
            });
        }
        self.len += 1;
    }

    fn segments(&self) -> &[Segment] {
        // SAFETY: so many were written, and are not while this is borrowed.
        unsafe { core::slice::from_raw_parts(self.segments.as_ptr(), self.len) }
    }

    fn pieces_mut(&mut self) -> &mut [Segment] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { core::slice::from_raw_parts_mut(self.segments.as_ptr(), self.len) }
    }

    /// Finds out which pieces are roots: `all`, or those of the libraries in the table. One that is not loaded any more leaves
    /// the table.
    pub(super) fn settle(&mut self, table: &mut RootTable, all: bool) {
        if !table.take_libraries_changed() && self.is_settled {
            return;
        }
        self.is_settled = true;
        let adds = self.counts.map_or(0, |counts| counts.adds);
        let segments = self.pieces_mut();
        segments.iter_mut().for_each(|segment| segment.is_root = usize::from(all));
        table.retain_libraries(|id, loaded| {
            let mut is_here = false;
            for segment in segments.iter_mut().filter(|segment| segment.library == id) {
                (is_here, segment.is_root) = (true, 1);
            }
            // A list that is older than the root cannot know.
            is_here || adds < loaded
        });
    }

    /// The data that are roots.
    pub(super) fn roots(&self) -> impl Iterator<Item = Range<usize>> {
        self.segments()
            .iter()
            .filter(|segment| segment.is_root != 0)
            .map(|segment| segment.start..segment.end)
    }
}

/// Whether this is the shared library that Heapwood is: its data refer to no object. Where it is linked into a program, or
/// another library, its data are theirs.
fn is_ours(library: Library<'_>) -> bool {
    let name = library.name().to_bytes();
    let file = name.rsplit(|&byte| byte == b'/').next().unwrap_or(name);
    file.starts_with(b"libheapwood.so") && library.holds(&raw const OURS as usize)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::table::RootKind;
    use super::*;
    use core::sync::atomic::AtomicUsize;
    use heapwood_os::SYSTEM;

    static WRITABLE: AtomicUsize = AtomicUsize::new(7);

    fn covers(list: &LibraryList, address: usize) -> bool {
        list.roots().any(|data| data.contains(&address))
    }

    #[test]
    fn roots_are_all_or_those_of_the_table() {
        let address = WRITABLE.as_ptr() as usize;
        let (mut list, mut table) = (LibraryList::new(&SYSTEM).unwrap(), RootTable::new(&SYSTEM).unwrap());
        list.look();
        list.settle(&mut table, false);
        assert_eq!(list.roots().count(), 0);
        let mut this = 0;
        let counts = loaded::for_each_library(|library| {
            if library.holds(address) {
                this = library.id();
            }
            true
        });
        let token = table.add(RootKind::Library, this, counts.adds as usize).unwrap();
        list.settle(&mut table, false);
        assert!(covers(&list, address));
        let some = list.roots().count();
        // One that is not there any more leaves; one that the list may be too old for does not.
        let gone = table.add(RootKind::Library, 16, counts.adds as usize).unwrap();
        let new = table.add(RootKind::Library, 32, counts.adds as usize + 1).unwrap();
        list.settle(&mut table, false);
        assert_eq!(list.roots().count(), some);
        assert!(!table.remove(gone) && table.remove(new) && table.remove(token));
        list.settle(&mut table, false);
        assert_eq!(list.roots().count(), 0);
        list.forget();
        list.look();
        list.settle(&mut table, true);
        assert!(covers(&list, address) && list.roots().count() > some);
    }
}
