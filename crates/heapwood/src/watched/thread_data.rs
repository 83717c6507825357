//! Thread-local and static data, as places that are searched: the thread-local variables of each attached thread, since those of the
//! first lie on no stack, and the writable data of the program and its libraries, unless they are roots. Invariant: a thread's
//! places are in the table while the thread is attached to a heap; a library's from the first heap that verifies after it was loaded on, and
//! it may have been unloaded since.

use super::table::{Kind, Place, Sites, Table};
use super::this_thread;
use core::cell::Cell;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use heapwood_os::process::loaded::for_each_library;

thread_local! {
    /// How often the thread is attached.
    static ATTACHED: Cell<u32> = const { Cell::new(0) };
}

fn add(table: &Table, kind: Kind, data: Range<usize>) {
    let thread = if kind == Kind::ThreadData { this_thread() } else { 0 };
    let place = Place { start: data.start, bytes: data.len(), align: align_of::<usize>(), thread, kind };
    table.add(place, Sites::default());
}

/// A heap that verifies begins: its collections are to search what the libraries have now.
pub(super) fn note_libraries(table: &Table) {
    /// How many libraries had been loaded when the places were last noted.
    static NOTED: AtomicU64 = AtomicU64::new(0);
    let adds = heapwood_os::process::loaded::counts().adds;
    if NOTED.swap(adds, Ordering::AcqRel) == adds {
        return;
    }
    table.remove_all(Kind::Static, 0);
    for_each_library(|library| {
        library.data().for_each(|data| add(table, Kind::Static, data));
        true
    });
}

/// The calling thread is attached once more to a heap that verifies.
pub(crate) fn attach() {
    if let Some(table) = Table::get()
        && ATTACHED.replace(ATTACHED.get() + 1) == 0
    {
        for_each_library(|library| {
            library.thread_data().into_iter().for_each(|data| add(table, Kind::ThreadData, data));
            true
        });
    }
}

/// It has left one.
pub(crate) fn detach() {
    if let Some(table) = Table::get()
        && ATTACHED.get() != 0
        && ATTACHED.replace(ATTACHED.get() - 1) == 1
    {
        table.remove_all(Kind::ThreadData, this_thread());
    }
}
