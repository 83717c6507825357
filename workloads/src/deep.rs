//! Deep: a recursion of N calls, each of which holds an object, and at its bottom half a million objects that die at once.
//! Every collection scans the whole stack, so the program measures what a frame costs. Each call keeps a few numbers beside
//! its object, as functions do. The stack is that of a thread of its own. Invariant: no call is made into a loop, and
//! every frame has the same size.

use crate::workload::{Line, N, Threads, Workload};
use heapwood::{Gc, Mutator, Trace};
use serde_json::json;
use std::hint::black_box;
use std::thread::Builder;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "deep",
    about: "A recursion whose every call holds an object, and at its bottom objects that die at once",
    n: N { unit: "number of calls", usual: 1_000_000, most: 1 << 24 },
    threads: Threads::USUALLY_ONE,
    least_bytes: |n| (size_of::<Node>() as u128 + LEAST_FRAME as u128) * u128::from(n),
    figures: &[],
    shared: None,
    run: |m, n, report| report(run(m, n).into()),
};

/// Objects at the bottom.
const OBJECTS: u64 = 1 << 19;
/// Bytes of a frame: the least that a build needs, and room enough for every build.
const LEAST_FRAME: usize = 64;
const MOST_FRAME: usize = 1 << 10;
/// Room for everything else on the stack, in bytes.
const ROOM: usize = 4 << 20;

#[derive(Trace)]
struct Node {
    number: u64,
    above: Option<Gc<Node>>,
}

#[derive(Trace)]
struct Short([u64; 8]);

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Calls made.
    pub calls: u64,
    /// A checksum of what the calls held, from the bottom.
    pub checksum: u64,
    /// Bytes of a frame.
    pub frame_bytes: u64,
}

impl From<Outcome> for Line {
    fn from(Outcome { calls, checksum, frame_bytes }: Outcome) -> Line {
        let checksum = format!("0x{checksum:016x}");
        let check = format!("deep calls {calls} checksum {checksum}");
        let fields = json!({"calls": calls, "checksum": checksum, "frame_bytes": frame_bytes});
        Line { text: format!("{check}\nframe bytes {frame_bytes}"), check, figures: Vec::new(), fields }
    }
}

/// What the bottom finds: the sum of the short objects, and its own place on the stack.
struct Bottom {
    sum: u64,
    place: usize,
}

/// A step of the checksum.
fn mixed(sum: u64, number: u64) -> u64 {
    sum.rotate_left(5).wrapping_mul(31).wrapping_add(number)
}

fn bottom(m: &Mutator) -> Bottom {
    let place = 0u8;
    let sum = (0..OBJECTS).map(|k| black_box(m.alloc(Short([k; 8]))).0[3]).fold(0, mixed);
    Bottom { sum, place: &raw const place as usize }
}

/// A call: its own numbers and object are used after the calls below have returned.
#[inline(never)]
fn descend(m: &Mutator, above: Option<Gc<Node>>, left: u64) -> Bottom {
    let numbers = [left, left.wrapping_mul(3), left ^ 0x55];
    let own = m.alloc(Node { number: left.wrapping_mul(0x9E37_79B9_7F4A_7C15), above });
    black_box(&numbers);
    let below = if left == 0 { bottom(m) } else { descend(m, Some(own), left - 1) };
    let above = own.above.map_or(0, |above| above.number);
    Bottom { sum: mixed(below.sum, own.number ^ above ^ numbers[1]), ..below }
}

/// Makes `calls` calls, each from the one before, on a thread of its own.
pub fn run(m: &Mutator, calls: u64) -> Outcome {
    let heap = m.heap();
    let work = || {
        let m = heap.attach().expect("a thread can be attached");
        let top = 0u8;
        let Bottom { sum, place } = descend(&m, None, calls - 1);
        let frame_bytes = (&raw const top as usize).saturating_sub(place) as u64 / calls;
        Outcome { calls, checksum: sum, frame_bytes }
    };
    m.blocking(|| {
        std::thread::scope(|scope| {
            let builder = Builder::new().stack_size(calls as usize * MOST_FRAME + ROOM);
            let thread = builder.spawn_scoped(scope, work).expect("a thread can be started");
            thread.join().expect("no call panics")
        })
    })
}
