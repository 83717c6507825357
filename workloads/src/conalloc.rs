//! Conalloc, after the program of that name in D's suite: independent threads, four by default, hash small blocks and
//! allocate new ones. With its own memory each should be as fast as alone.

use crate::random::Random;
use crate::workload::{Line, N, Threads, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice};
use serde_json::json;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "conalloc",
    about: "Threads, 4 by default, that hash blocks of 16 to 256 bytes and allocate new ones",
    n: N { unit: "number of blocks", usual: 10_000_000, most: 1 << 48 },
    threads: Threads { usual: 4, ..Threads::USUALLY_ONE },
    least_bytes: |_| SLOTS as u128 * 8,
    figures: &[],
    shared: None,
    run: |m, n, report| report(run(m, n).into()),
};

/// Blocks that a thread keeps.
const SLOTS: usize = 4096;

type Block = Slice<u64>;

/// A thread's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Blocks allocated.
    pub blocks: u64,
    /// The hash of the words of all replaced blocks.
    pub hash: u64,
}

impl From<Outcome> for Line {
    fn from(Outcome { blocks, hash }: Outcome) -> Line {
        let hash = format!("0x{hash:016x}");
        let check = format!("conalloc blocks {blocks} hash {hash}");
        let fields = json!({"blocks": blocks, "hash": hash});
        Line { text: check.clone(), check, figures: Vec::new(), fields }
    }
}

/// FNV-1a of Fowler, Noll and Vo, by words of 64 bits.
fn fnv(hash: u64, block: &[u64]) -> u64 {
    block.iter().fold(hash, |hash, word| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3))
}

/// One thread's work: hashes and replaces `blocks` blocks.
pub fn run(m: &Mutator, blocks: u64) -> Outcome {
    let (mut random, mut hash) = (Random::new(), 0xcbf2_9ce4_8422_2325);
    let table: Gc<Slice<GcCell<Option<Gc<Block>>>>> = m.alloc_slice(SLOTS, |_| GcCell::new(None));
    for _ in 0..blocks {
        let r = random.next_u64();
        let slot = &table[(r & 0xffff_ffff) as usize % SLOTS];
        if let Some(old) = slot.get() {
            hash = fnv(hash, &old);
        }
        let words = 2 + (r >> 32) % 31;
        slot.set(m, Some(m.alloc_slice(words as usize, |k| r.wrapping_add(k as u64))));
    }
    Outcome { blocks, hash }
}
