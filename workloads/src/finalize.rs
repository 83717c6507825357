//! Finalize: N objects that own a handle outside the heap, of which the last 10,000 are alive. A handle of a dead object comes
//! back through a queue, which the program empties once for each thousand objects, and closes it. In the end all are closed. It
//! asks a heap what a finaliser costs from registration to its call.

use crate::replacements::{Gaps, SAMPLE, figures, gaps_line};
use crate::stray::{most_stray, out_of_the_way};
use crate::workload::{Figure, Line, N, Threads, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice, Trace};
use std::cell::RefCell;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "finalize",
    about: "Objects that own a handle, 10,000 alive: each handle is closed when its object is dead",
    n: N { unit: "number of objects", usual: 5_000_000, most: 1 << 31 },
    threads: Threads::ONE,
    least_bytes: |n| (size_of::<Port>() + 8) as u128 * u128::from(ALIVE.min(n)),
    figures: FIGURES,
    shared: None,
    run: |m, n, report| report(run(m, n)),
};

const FIGURES: &[Figure] = &figures("million objects a second");

/// Objects that are alive at once.
const ALIVE: u64 = 10_000;
/// After so many objects the queue is emptied.
const EMPTIED_EVERY: u64 = 1000;

/// An object that owns the handle of its number.
#[derive(Trace)]
struct Port {
    _number: u64,
    _position: u64,
}

/// Handles as a system has them: open or closed, each closed once.
#[derive(Default)]
struct Handles {
    is_closed: Vec<bool>,
    closed: u64,
    checksum: u64,
}

thread_local! {
    /// Those of the run on this thread, which closes them itself.
    static HANDLES: RefCell<Handles> = const { RefCell::new(Handles { is_closed: Vec::new(), closed: 0, checksum: 0 }) };
}

impl Handles {
    fn close(&mut self, number: u64) {
        let was_closed = core::mem::replace(&mut self.is_closed[number as usize], true);
        assert!(!was_closed, "handle {number} was closed twice");
        self.closed += 1;
        self.checksum = self.checksum.wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7);
    }
}

/// A handle, closed when it is dropped.
struct Handle(u64);

impl Drop for Handle {
    fn drop(&mut self) {
        HANDLES.with_borrow_mut(|handles| handles.close(self.0));
    }
}

/// Makes the objects, in the places of a table in turn.
#[inline(never)]
fn make(m: &Mutator, n: u64) -> (u64, f64) {
    let (heap, mut gaps) = (m.heap(), Gaps::start());
    let table: Gc<Slice<GcCell<Option<Gc<Port>>>>> =
        m.alloc_slice(ALIVE.min(n) as usize, |_| GcCell::new(None));
    for (number, place) in (0..n).zip(table.iter().cycle()) {
        let port = m.alloc(Port { _number: number, _position: 0 });
        m.finalize(port, Handle(number)).map_err(|(error, _)| error).expect("memory for a finaliser");
        place.set(m, Some(port));
        if number % EMPTIED_EVERY == EMPTIED_EVERY - 1 {
            heap.drop_finalized();
        }
        if number % SAMPLE == SAMPLE - 1 {
            gaps.sample();
        }
    }
    gaps.end(n)
}

/// Makes so many objects, drops all, and closes what a stray word has kept open.
fn run(m: &Mutator, n: u64) -> Line {
    HANDLES.set(Handles { is_closed: vec![false; n as usize], ..Handles::default() });
    let gaps = out_of_the_way(|| make(m, n));
    m.collect();
    m.heap().drop_finalized();
    let mut handles = HANDLES.take();
    let stray: Vec<u64> = (0..n).filter(|&number| !handles.is_closed[number as usize]).collect();
    assert!(stray.len() as u64 <= most_stray(n), "{} handles were not closed", stray.len());
    stray.into_iter().for_each(|number| handles.close(number));
    gaps_line("finalize", ("closed", handles.closed), handles.checksum, gaps)
}
