//! Where a heap's memory is during a run: looked at ten times a second, of which the largest is kept, and at the end, before
//! the workload's thread leaves. Invariant: an account is the heap's own; the table only leaves out what is nothing.

use heapwood::{Attached, ClassParts, Heap, MEMORY_PARTS, MemoryAccount, MemoryParts, Misuse, PartGroup};
use heapwood_os::process::clock::monotonic_ns;
use heapwood_report::say;
use heapwood_report::tables::{number, table};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The size classes of the table: those with the most memory that holds no object. The others share a row.
const SHOWN: usize = 10;
/// The time between two looks.
const EVERY: Duration = Duration::from_millis(100);

/// Looks at a heap until it is stopped.
pub(crate) struct Watch {
    /// Dropped, it stops the thread.
    stop: Sender<()>,
    thread: JoinHandle<Result<MemoryAccount, Misuse>>,
}

/// The memory of a run.
pub(crate) struct Memory {
    largest: MemoryAccount,
    end: MemoryAccount,
    /// Microseconds that the last look took, in which the calling thread alone ran.
    look_us: f64,
}

/// The memory that counts to which account is the largest: all that the kernel names, or what the heap knows.
fn size(account: &MemoryAccount) -> usize {
    account.parts.resident.max(account.parts.backed)
}

impl Watch {
    pub(crate) fn start(heap: &Heap) -> Self {
        let (heap, (stop, stopped)) = (heap.clone(), channel::<()>());
        let thread = std::thread::spawn(move || {
            let mut largest = heap.memory_account()?;
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                let now = heap.memory_account()?;
                if size(&now) > size(&largest) {
                    largest = now;
                }
            }
            Ok(largest)
        });
        Watch { stop, thread }
    }

    /// Ends it, and looks once more.
    pub(crate) fn stop(self, m: &Attached) -> Result<Memory, Misuse> {
        let Watch { stop, thread } = self;
        drop(stop);
        // The thread may be looking, and wait for this one to stop.
        let largest = m.blocking(|| thread.join()).unwrap_or_else(|panic| resume_unwind(panic))?;
        let began = monotonic_ns();
        let end = m.heap().memory_account()?;
        let look_us = (monotonic_ns() - began) as f64 / 1e3;
        let largest = if size(&end) > size(&largest) { end } else { largest };
        Ok(Memory { largest, end, look_us })
    }
}

impl Memory {
    pub(crate) fn print(&self) {
        say!("");
        let mut parts = table(&["MiB", "largest", "end"]);
        let values = self.largest.parts.values().into_iter().zip(self.end.parts.values());
        let mut rows: Vec<_> = MEMORY_PARTS.iter().zip(values).collect();
        // Parts, and below them their sums.
        rows.sort_by_key(|(part, _)| part.group == PartGroup::Sum);
        for (part, (largest, end)) in rows.into_iter().filter(|(_, (largest, end))| largest + end > 0) {
            parts.add_row([part.name.to_string(), mib(largest as usize), mib(end as usize)]);
        }
        say!("{parts}");
        say!("");
        let mut classes: Vec<_> = self.largest.classes().copied().collect();
        classes.sort_by_key(|class| core::cmp::Reverse(class.bytes - class.old - class.young));
        let others = classes.split_off(SHOWN.min(classes.len()));
        let names = parts_of(&ClassParts::default()).map(|(name, _)| name);
        let mut rows = table(&[&["cells of", "spans", "MiB"][..], &names].concat());
        for class in classes {
            let name = if class.cell == 0 { "large".into() } else { class.cell.to_string() };
            rows.add_row(row(name, &class));
        }
        if !others.is_empty() {
            let mut sum = ClassParts::default();
            others.iter().for_each(|class| sum.add(class));
            rows.add_row(row(format!("{} others", others.len()), &sum));
        }
        say!("{rows}");
    }
}

/// Nothing, if it is nothing.
fn mib(bytes: usize) -> String {
    if bytes == 0 { String::new() } else { number(bytes as f64 / (1 << 20) as f64) }
}

fn row(name: String, class: &ClassParts) -> Vec<String> {
    let parts = parts_of(class).map(|(_, bytes)| mib(bytes));
    [name, class.spans.to_string(), mib(class.bytes)].into_iter().chain(parts).collect()
}

/// The parts of a class.
fn parts_of(class: &ClassParts) -> [(&'static str, usize); 8] {
    let ClassParts { old, young, freed, unswept, partial, cached, open, tails, .. } = *class;
    [
        ("old", old),
        ("young", young),
        ("freed", freed),
        ("unswept", unswept),
        ("partial", partial),
        ("cached", cached),
        ("open", open),
        ("tails", tails),
    ]
}

impl Serialize for Memory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("look_us", &self.look_us)?;
        map.serialize_entry("largest", &Account(&self.largest))?;
        map.serialize_entry("end", &Account(&self.end))?;
        map.end()
    }
}

/// An account, as `--json` prints it: bytes.
struct Account<'a>(&'a MemoryAccount);

impl Serialize for Account<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(MEMORY_PARTS.len() + 1))?;
        let values: &MemoryParts = &self.0.parts;
        for (part, bytes) in MEMORY_PARTS.iter().zip(values.values()) {
            map.serialize_entry(part.name, &bytes)?;
        }
        let classes: Vec<_> = self.0.classes().map(Class).collect();
        map.serialize_entry("classes", &classes)?;
        map.end()
    }
}

struct Class<'a>(&'a ClassParts);

impl Serialize for Class<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in [("cell", self.0.cell), ("spans", self.0.spans), ("bytes", self.0.bytes)] {
            map.serialize_entry(name, &value)?;
        }
        parts_of(self.0).iter().try_for_each(|(name, bytes)| map.serialize_entry(name, bytes))?;
        map.end()
    }
}
