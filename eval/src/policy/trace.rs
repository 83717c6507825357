//! A program, as the policies see it: epochs, each with its allocated bytes, live bytes and time. Read from the trace
//! lines of a heap, or built in. Invariant: an epoch allocates something.

use heapwood_report::CommandError;
use heapwood_report::input::read_at_most;
use std::path::Path;

const MIB: usize = 1 << 20;

/// One stretch of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epoch {
    /// Bytes that it allocates, and bytes that are alive at its end.
    pub(super) allocated: usize,
    pub(super) live: usize,
    /// Bytes of stacks at its end.
    pub(super) stacks: usize,
    /// CPU nanoseconds of the program for a MiB of allocation.
    pub(super) run_ns_a_mib: u64,
    /// CPU nanoseconds of marking a MiB.
    pub(super) mark_ns_a_mib: u64,
}

/// A program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) epochs: Vec<Epoch>,
    /// The mutators that allocate, and the bytes of the spans that each allocates from.
    pub(super) mutators: usize,
    pub(super) open_bytes: usize,
    /// Additional CPU nanoseconds for a MiB of allocation where its mutators may hold less than their open spans.
    pub(super) starved_ns_a_mib: u64,
    /// The part of the nursery that survives a young collection, in hundredths.
    pub(super) survival: usize,
    /// CPU nanoseconds of a young collection for each MiB of the nursery, for slots that were remembered.
    pub(super) remembered_ns_a_mib: u64,
}

impl Program {
    /// CPU nanoseconds without collections.
    #[cfg(test)]
    pub(super) fn mutator_ns(&self) -> u64 {
        let ns = |epoch: &Epoch| (epoch.allocated / MIB) as u64 * epoch.run_ns_a_mib;
        self.epochs.iter().map(ns).sum()
    }

    /// Programs that once showed a defect. Their numbers are in docs/results/2026-11/threads.tsv and young.tsv.
    pub(super) fn built_in() -> Vec<Program> {
        let epochs = |n: usize, live: fn(usize) -> usize, run, mark| {
            let epoch = |i| {
                let (allocated, live) = (4 * MIB, live(i));
                Epoch { allocated, live, stacks: 0, run_ns_a_mib: run, mark_ns_a_mib: mark }
            };
            (1..=n).map(epoch).collect::<Vec<_>>()
        };
        let mut deep = epochs(12, |i| i * MIB, 900_000, 800_000);
        deep.iter_mut()
            .zip(1..)
            .for_each(|(epoch, i)| (epoch.allocated, epoch.stacks) = (2 * MIB, 8 * i * MIB));
        vec![
            Program {
                name: "rand-small, two threads".into(),
                epochs: epochs(300, |_| MIB, 180_000, 1_000_000),
                mutators: 2,
                open_bytes: 35 * 2 * 8192,
                starved_ns_a_mib: 2_700_000,
                survival: 20,
                remembered_ns_a_mib: 0,
            },
            Program {
                name: "a list that survives".into(),
                epochs: epochs(64, |i| i * 4 * MIB, 900_000, 800_000),
                mutators: 1,
                open_bytes: 2 * 8192,
                starved_ns_a_mib: 0,
                survival: 100,
                remembered_ns_a_mib: 0,
            },
            Program {
                name: "garbage".into(),
                epochs: epochs(1000, |_| 2 * MIB, 900_000, 800_000),
                mutators: 1,
                open_bytes: 2 * 8192,
                starved_ns_a_mib: 0,
                survival: 1,
                remembered_ns_a_mib: 0,
            },
            Program {
                name: "a pipeline whose ring is full at times".into(),
                epochs: epochs(600, |i| if i % 4 == 0 { 4 * MIB } else { MIB / 8 }, 340_000, 50_000),
                mutators: 2,
                open_bytes: 2 * 8192,
                starved_ns_a_mib: 0,
                survival: 40,
                remembered_ns_a_mib: 80_000,
            },
            Program {
                name: "a deep recursion".into(),
                epochs: deep,
                mutators: 1,
                open_bytes: 2 * 8192,
                starved_ns_a_mib: 0,
                survival: 100,
                remembered_ns_a_mib: 0,
            },
        ]
    }

    /// The program whose trace is in a file.
    pub(super) fn read(file: &Path) -> Result<Program, CommandError> {
        let name = file.display().to_string();
        let bytes = read_at_most(file, 64 << 20).map_err(|e| CommandError::run(format!("{name}: {e}")))?;
        let text = String::from_utf8_lossy(&bytes);
        Program::parse(&name, &text).map_err(|why| {
            CommandError::run(format!("{name}: {why}: record one by HEAPWOOD=trace=1 PROGRAM 2> FILE"))
        })
    }

    /// The program of these trace lines. Other lines are skipped.
    pub(super) fn parse(name: &str, text: &str) -> Result<Program, String> {
        let (mut epochs, mut at, mut allocated) = (Vec::new(), 0.0, 0);
        let (mut promoted, mut young) = (0, 0);
        for line in text.lines().filter(|line| line.starts_with("gc ") && line.contains(" | kind=")) {
            let fields = Fields::of(line).ok_or_else(|| format!("a trace line is cut: {line:?}"))?;
            allocated += fields.small;
            if !fields.full {
                (promoted, young) = (promoted + fields.freed_not(), young + fields.small);
                continue;
            }
            if allocated > 0 {
                let ns = ((fields.at - at) * 1e9) as u64;
                let mib = |bytes: usize| (bytes as f64 / MIB as f64).max(0.01);
                epochs.push(Epoch {
                    allocated,
                    live: fields.live,
                    stacks: fields.stacks,
                    run_ns_a_mib: (ns as f64 / mib(allocated)) as u64,
                    mark_ns_a_mib: {
                        let ns = fields.mark_ns.saturating_sub(stack_ns(fields.stacks));
                        (ns as f64 / mib(fields.live.max(MIB / 4))) as u64
                    },
                });
            }
            (at, allocated) = (fields.at, 0);
        }
        if epochs.is_empty() {
            return Err("it has no full collection".into());
        }
        let survival = (promoted * 100).checked_div(young).unwrap_or(5).min(100);
        Ok(Program {
            name: name.into(),
            epochs,
            mutators: 1,
            open_bytes: 2 * 8192,
            starved_ns_a_mib: 0,
            survival,
            remembered_ns_a_mib: 0,
        })
    }
}

/// The used fields of a trace line.
struct Fields {
    /// Seconds since the heap was made.
    at: f64,
    full: bool,
    mark_ns: u64,
    /// Bytes before, and alive.
    before: usize,
    live: usize,
    /// Bytes of stacks that it scanned.
    stacks: usize,
    /// Bytes of small objects since the last collection.
    small: usize,
}

/// CPU nanoseconds of scanning stacks: a recursion a million calls deep, 91 MiB, took 13 to 29 ms (2026-11-26).
pub(super) fn stack_ns(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(7)
}

impl Fields {
    fn of(line: &str) -> Option<Fields> {
        let at = line.split_once('@')?.1.split_once("s ")?.0.parse().ok()?;
        let clock = line.split_once(": ")?.1.split_once(" ms clock")?.0;
        let mark_ms: f64 = clock.split('+').nth(1)?.parse().ok()?;
        let sizes = line.split_once(" ms cpu, ")?.1.split_once(" MB")?.0;
        let mut sizes = sizes.split("->").map(|mb| mb.parse::<usize>().ok());
        let (before, live) = (sizes.next()??, sizes.nth(1)??);
        let stacks: usize = line.split_once(" MB stacks")?.0.rsplit(' ').next()?.parse().ok()?;
        let value = |key: &str| line.split_whitespace().find_map(|word| word.strip_prefix(key));
        let beside_ms: f64 = value("beside_ms=").map_or(Some(0.0), |ms| ms.parse().ok())?;
        Some(Fields {
            at,
            // A marking beside the program ends like a full collection.
            full: ["full", "end", "degenerated"].contains(&value("kind=")?),
            // What was marked beside the program is told when that ends.
            mark_ns: ((mark_ms + beside_ms) * 1e6) as u64,
            before: before * MIB,
            live: live * MIB,
            stacks: stacks * MIB,
            small: value("small_KiB=")?.parse::<usize>().ok()? << 10,
        })
    }

    /// Live bytes, rounded to MiB.
    fn freed_not(&self) -> usize {
        self.small.saturating_sub(self.before.saturating_sub(self.live))
    }
}
