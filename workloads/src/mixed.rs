//! Mixed: a cache of documents whose sizes reach from 32 bytes to 256 KiB, replaced at random, while what it holds
//! changes over time. In even phases most bodies are small, in odd ones eight times as large, and after each phase 7
//! of 10 documents are dropped, wherever they lie; so the survivors of a phase stand between the documents of the
//! next, as in the heap of a server that has run for hours, and a run ends with a heap that is mostly holes. What is
//! allocated is written whole, since some languages do so anyway. All of it is computed with integers, so that every
//! program has the same documents.

use crate::random::Random;
use crate::workload::{Figure, Line, N, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice, Trace};
use heapwood_os::clock::monotonic_ns;
use serde_json::json;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "mixed",
    about: "A cache of documents of mixed sizes whose contents change over time",
    n: N { unit: "number of replacements", usual: 4_000_000, most: 1 << 48 },
    least_bytes: |_| least_bytes(),
    figures: &[
        Figure { name: "mops", label: "million replacements a second", headline: false },
        Figure { name: "longest_gap_us", label: "longest gap, us", headline: false },
    ],
    run: |m, n, report| report(run(m, n).into()),
};

/// Documents the cache has room for.
pub const SLOTS: usize = 100_000;
/// How often what it holds changes in a run.
pub const PHASES: u64 = 8;
const SAMPLE: u64 = 16;
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

/// What a run found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Replacements made.
    pub ops: u64,
    /// A sum over what was read; the same for every program that does the same work.
    pub checksum: u64,
    /// The longest time between two samples, in nanoseconds.
    pub longest_gap_ns: u64,
    /// Millions of replacements a second, without filling the table.
    pub mops: f64,
    /// Documents that survived the last drop.
    pub live_documents: u64,
    /// Bytes that were asked for and are alive at the end, length words and the table not counted.
    pub requested_live_bytes: u64,
}

impl From<Outcome> for Line {
    fn from(o: Outcome) -> Self {
        let (ops, mops, gap_us) = (o.ops, o.mops, o.longest_gap_ns as f64 / 1e3);
        let checksum = format!("0x{:016x}", o.checksum);
        let check = format!("mixed ops {ops} checksum {checksum}");
        let requested = o.requested_live_bytes as f64 / (1 << 20) as f64;
        Line {
            text: format!(
                "{check}\nlongest gap us {gap_us:.1}\nmops {mops:.3}\n\
                 live documents {} requested live {requested:.1} MiB",
                o.live_documents
            ),
            check,
            figures: vec![("mops", mops), ("longest_gap_us", gap_us)],
            fields: json!({
                "ops": ops,
                "checksum": checksum,
                "longest_gap_us": gap_us,
                "mops": mops,
                "live_documents": o.live_documents,
                "requested_live_bytes": o.requested_live_bytes,
            }),
        }
    }
}

/// The bytes that are alive at once at the least: the table when it has been filled, with documents of 2231 bytes on
/// average, whatever N is.
pub fn least_bytes() -> u128 {
    SLOTS as u128 * (2231 + 8)
}

/// The words of the body that the number asks for, from those octaves up: each is half as likely as the one below.
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
    let (mut checksum, mut longest) = (0u64, 0);
    let start = monotonic_ns();
    let mut last = start;
    let mut sample = || {
        let now = monotonic_ns();
        longest = longest.max(now - last);
        last = now;
    };
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
                sample();
            }
        }
        for slot in table.iter() {
            if (random.next_u64() >> 32) % 10 < 7 {
                slot.set(m, None);
            }
        }
        sample();
    }
    let seconds = (monotonic_ns() - start) as f64 / 1e9;
    let live = || table.iter().filter_map(|slot| slot.get());
    Outcome {
        ops,
        checksum,
        longest_gap_ns: longest,
        mops: ops as f64 / seconds / 1e6,
        live_documents: live().count() as u64,
        requested_live_bytes: live().map(|document| document.requested_bytes()).sum(),
    }
}
