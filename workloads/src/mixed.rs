//! Mixed: a cache of documents of 32 bytes to 256 KiB, replaced at random, whose contents change over time. In even
//! phases most bodies are small, in odd phases eight times as large. After each phase 7 of 10 documents are dropped at
//! random, so the survivors of a phase lie between the documents of the next, as in the heap of a server that has run
//! for hours. A run ends with a heap that is mostly holes. Each object is written whole, since some languages do that
//! anyway. All sizes are computed with integers, so that every program has the same documents.

use crate::random::Random;
use crate::replacements::{FIGURES, Gaps, Outcome, SAMPLE};
use crate::workload::{N, Threads, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice, Trace};

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "mixed",
    about: "A cache of documents of mixed sizes whose contents change over time",
    n: N { unit: "number of replacements", usual: 4_000_000, most: 1 << 48 },
    threads: Threads::USUALLY_ONE,
    least_bytes: |_| least_bytes(),
    figures: FIGURES,
    shared: None,
    run: |m, n, report| report(run(m, n).line("mixed")),
};

/// Documents in a full cache.
pub const SLOTS: usize = 100_000;
/// The number of phases.
pub const PHASES: u64 = 8;
/// The lowest octave of bodies, in bytes, in the phases of small ones and of large ones, and the highest.
const SMALL: u32 = 5;
const LARGE: u32 = 8;
const HIGHEST: u32 = 17;

/// A body, whose word 0 is the number of its words, or a fragment.
type Words = Slice<u64>;

#[derive(Trace)]
struct Document {
    body: Gc<Words>,
    fragments: Option<Gc<Slice<Gc<Words>>>>,
}

const _: () = assert!(size_of::<Document>() == 16);

type Table = Slice<GcCell<Option<Gc<Document>>>>;

/// The minimum of bytes alive at once: the full table, with documents of 2231 bytes on average, for any N.
pub fn least_bytes() -> u128 {
    SLOTS as u128 * (2231 + 8)
}

/// The words of the body for a random number, from `octaves` up. Each octave is half as likely as the one below.
fn body_words(r: u64, lowest: u32) -> u64 {
    let octave = (lowest + (r | 1 << 12).trailing_zeros()).min(HIGHEST);
    let least = (1 << octave) / 8;
    least + (r >> 32) % least
}

fn document(m: &Mutator, r: u64, lowest: u32) -> Gc<Document> {
    let words = body_words(r, lowest);
    let body = m.alloc_slice(words as usize, |k| if k == 0 { words } else { r.wrapping_add(k as u64) });
    // Half of the documents have 1 to 8 fragments of 16 to 64 bytes.
    let count = 1 + (r >> 16) % 16;
    let fragments = (count <= 8).then(|| {
        m.alloc_slice(count as usize, |i| {
            let r = (r >> 20) + i as u64;
            m.alloc_slice((2 + r % 7) as usize, |k| r + k as u64)
        })
    });
    m.alloc(Document { body, fragments })
}

impl Document {
    fn fragments(&self) -> &[Gc<Words>] {
        self.fragments.as_deref().map_or(&[], |list| list)
    }

    fn requested_bytes(&self) -> u64 {
        let words: usize = self.fragments().iter().map(|fragment| 1 + fragment.len()).sum();
        (size_of::<Document>() + 8 * (self.body.len() + words)) as u64
    }
}

/// Makes `ops` replacements.
pub fn run(m: &Mutator, ops: u64) -> Outcome {
    let mut random = Random::new();
    let table: Gc<Table> = m.alloc_slice(SLOTS, |_| GcCell::new(None));
    for slot in table.iter() {
        slot.set(m, Some(document(m, random.next_u64(), LARGE)));
    }
    let (mut checksum, mut gaps) = (0u64, Gaps::start());
    for phase in 0..PHASES {
        let lowest = if phase % 2 == 0 { SMALL } else { LARGE };
        for op in ops * phase / PHASES..ops * (phase + 1) / PHASES {
            let slot = &table[(random.next_u64() & 0xffff_ffff) as usize % SLOTS];
            if let Some(old) = slot.get() {
                let (body, fragments) = (old.body, old.fragments().len() as u64);
                checksum = checksum.wrapping_mul(31).wrapping_add(body[0]).wrapping_add(body[body.len() - 1]);
                checksum = checksum.wrapping_add(fragments);
            }
            slot.set(m, Some(document(m, random.next_u64(), lowest)));
            if op % SAMPLE == SAMPLE - 1 {
                gaps.sample();
            }
        }
        for slot in table.iter() {
            if (random.next_u64() >> 32) % 10 < 7 {
                slot.set(m, None);
            }
        }
        gaps.sample();
    }
    let (longest_gap_ns, mops) = gaps.end(ops);
    let live = || table.iter().filter_map(|slot| slot.get());
    Outcome {
        ops,
        checksum,
        longest_gap_ns,
        mops,
        live: Some(("documents", live().count() as u64)),
        requested_live_bytes: Some(live().map(|document| document.requested_bytes()).sum()),
    }
}
