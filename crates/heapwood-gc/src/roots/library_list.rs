//! The writable data of all loaded libraries, as of the last look, and which of them are roots. Invariant: the list is
//! the loader's of one moment, with the loader's counts of that moment; it is true as long as these counts are the
//! same. Its memory is committed from the beginning, because it is filled while threads wait and the loader's lock is
//! held.

use super::table::RootTable;
use core::ops::Range;
use heapwood_os::diagnose::message::corrupt;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::process::loaded::{self, Counts, Library};
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

/// The most segments in the list; most libraries have one.
const MOST: usize = 1 << 14;

/// An address in the library that this code was linked into.
static OURS: u8 = 0;

/// A segment of a library's data; a library without data has an empty one.
#[derive(Clone, Copy)]
#[repr(C)]
struct Segment {
    /// The number of its library.
    library: usize,
    start: usize,
    end: usize,
    /// 1 if it is a root.
    is_root: usize,
}

// SAFETY: plain numbers, valid with any value.
unsafe impl Zeroed for Segment {}

/// The list.
pub(super) struct LibraryList {
    segments: MappedArray<Segment>,
    len: usize,
    /// The loader's counts when it was made.
    counts: Option<Counts>,
    /// The roots were selected since it was made, for all libraries or for some.
    selected: Option<bool>,
}

impl LibraryList {
    /// An empty list, until the first look.
    pub(super) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let segments = MappedArray::new(kernel, MOST)?;
        segments.commit(0..MOST)?;
        Ok(LibraryList { segments, len: 0, counts: None, selected: None })
    }

    /// Updates the list. Waits for the loader's lock.
    pub(super) fn look(&mut self) {
        if self.counts.is_some_and(|counts| counts == loaded::counts()) {
            return;
        }
        (self.len, self.selected) = (0, None);
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
        // SAFETY: this many were written, and none is while this is borrowed.
        unsafe { core::slice::from_raw_parts(self.segments.as_ptr(), self.len) }
    }

    fn segments_mut(&mut self) -> &mut [Segment] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { core::slice::from_raw_parts_mut(self.segments.as_ptr(), self.len) }
    }

    /// Selects the segments that are roots: `all`, or those of the libraries in the table. A library that is no longer
    /// loaded leaves the table.
    pub(super) fn select_roots(&mut self, table: &mut RootTable, all: bool) {
        if !table.take_libraries_changed() && self.selected == Some(all) {
            return;
        }
        self.selected = Some(all);
        let adds = self.counts.map_or(0, |counts| counts.adds);
        let segments = self.segments_mut();
        segments.iter_mut().for_each(|segment| segment.is_root = usize::from(all));
        table.retain_libraries(|id, loaded| {
            let mut is_here = false;
            for segment in segments.iter_mut().filter(|segment| segment.library == id) {
                (is_here, segment.is_root) = (true, 1);
            }
            // A list from before the library was loaded cannot know.
            is_here || adds < loaded
        });
    }

    /// The segments that are roots.
    pub(super) fn roots(&self) -> impl Iterator<Item = Range<usize>> {
        self.segments()
            .iter()
            .filter(|segment| segment.is_root != 0)
            .map(|segment| segment.start..segment.end)
    }
}

impl Mapped for LibraryList {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.segments.for_each_mapping(f);
    }
}

/// Heapwood's shared libraries.
const OUR_NAMES: [&[u8]; 2] = [b"libheapwood.so", b"libgc.so"];

/// Whether this is Heapwood as a shared library: its data refer to no object. If it is linked into a program or another
/// library, its data are theirs.
fn is_ours(library: Library<'_>) -> bool {
    let name = library.name().to_bytes();
    let file = name.rsplit(|&byte| byte == b'/').next().unwrap_or(name);
    let is_named = OUR_NAMES.iter().any(|name| file.starts_with(name));
    is_named && library.holds(&raw const OURS as usize)
}
