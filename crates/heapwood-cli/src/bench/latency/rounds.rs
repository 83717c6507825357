//! The programs in turn at one size: a round runs each of them once. Before the rounds a run of the first program, Heapwood,
//! gives the reference checksum and the memory that peers get. A peer that fails is left out of the size and named.

use super::super::build::Skipped;
use super::super::children::Children;
use super::super::equal_rss;
use super::super::manifest::MemoryBy;
use super::programs::{Memory, Program};
use super::summary::Summary;
use super::warm;
use crate::args::Latency;
use heapwood_report::size::show;
use heapwood_report::{CommandError, Header, Progress};
use heapwood_workloads::latency::Setup;
use heapwood_workloads::latency::record::Record;

/// The most time of a run in the search for equal memory.
const MOST_SEARCH_MS: u64 = 3_000;

/// All sizes.
pub(crate) struct Report {
    /// Once all is measured.
    pub(crate) header: Option<Header>,
    pub(crate) sizes: Vec<AtSize>,
    /// Programs that cannot run here, and why.
    pub(crate) skipped: Vec<Skipped>,
}

/// The runs at a size.
pub(crate) struct AtSize {
    pub(crate) setup: Setup,
    /// Heapwood first.
    pub(crate) entries: Vec<Entry>,
    /// Programs that failed, and why.
    pub(crate) failed: Vec<Skipped>,
}

/// A program's runs at a size; there is at least one.
pub(crate) struct Entry {
    pub(crate) program: Program,
    pub(crate) memory: Memory,
    pub(crate) runs: Vec<Summary>,
}

impl Report {
    pub(crate) fn new(skipped: Vec<Skipped>) -> Report {
        Report { header: None, sizes: Vec::new(), skipped }
    }

    pub(crate) fn add(&mut self, size: AtSize) {
        self.sizes.push(size);
    }

    /// The error at the end if a program failed.
    pub(crate) fn failure(&self) -> Option<CommandError> {
        let each: Vec<String> = self
            .sizes
            .iter()
            .flat_map(|size| {
                size.failed
                    .iter()
                    .map(|Skipped { name, why }| format!("{name} failed at {}: {why}", described(size.setup)))
            })
            .collect();
        (!each.is_empty()).then(|| CommandError::run(each.join("\nheapwood: ")))
    }
}

/// A size in words.
pub(crate) fn described(setup: Setup) -> String {
    let many = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    format!(
        "{}, {}, {}",
        show(setup.live_bytes),
        many(setup.threads.into(), "thread"),
        many(setup.depth, "frame")
    )
}

/// Measures all programs at a size.
pub(crate) fn measure(
    children: &Children,
    bar: &Progress,
    programs: &[Program],
    setup: Setup,
    args: &Latency,
) -> Result<AtSize, CommandError> {
    let mut size = AtSize { setup, entries: Vec::new(), failed: Vec::new() };
    let mut turn = Turn { children, bar, expected: None };
    let (first, _) = programs.split_first().expect("Heapwood is among the programs");
    let reference =
        turn.once(first, setup, Memory::Itself, "warm-up")?.map_err(|why| failed(first, setup, &why))?;
    for program in programs {
        let memory = match program.memory {
            MemoryBy::Itself => Ok(Memory::Itself),
            MemoryBy::Heap => Ok(Memory::HeapMib(reference.rss_bytes.div_ceil(1 << 20))),
            MemoryBy::Gogc => match args.gogc {
                Some(percent) => Ok(Memory::Gogc(percent)),
                None => turn.equal(program, setup, reference.rss_bytes)?.map(Memory::Gogc),
            },
        };
        match memory {
            Ok(memory) => size.entries.push(Entry { program: program.clone(), memory, runs: Vec::new() }),
            Err(why) => size.failed.push(Skipped { name: program.name.clone(), why }),
        }
    }
    bar.expect(u64::from(args.runs) * size.entries.len() as u64);
    for round in 1..=args.runs {
        let mut at = 0;
        while at < size.entries.len() {
            let entry = &mut size.entries[at];
            let what = format!("round {round} of {}", args.runs);
            match turn.once(&entry.program, setup, entry.memory, &what)? {
                Ok(run) => {
                    entry.runs.push(run);
                    at += 1;
                }
                Err(why) if entry.program.ours => return Err(failed(&entry.program, setup, &why)),
                Err(why) => {
                    let gone = size.entries.remove(at);
                    size.failed.push(Skipped { name: gone.program.name, why });
                }
            }
            bar.advance();
        }
    }
    Ok(size)
}

fn failed(program: &Program, setup: Setup, why: &str) -> CommandError {
    CommandError::run(format!("{} failed at {}: {why}", program.name, described(setup)))
}

/// Runs of programs at a size.
struct Turn<'a> {
    children: &'a Children,
    bar: &'a Progress,
    /// The entries and the checksum of the first run.
    expected: Option<(u64, u64)>,
}

impl Turn<'_> {
    /// Runs a program. The inner error is its failure; the outer one ends the benchmark.
    fn once(
        &mut self,
        program: &Program,
        setup: Setup,
        memory: Memory,
        what: &str,
    ) -> Result<Result<Summary, String>, CommandError> {
        self.bar.show(format!("{}: {what}: {}", described(setup), program.name));
        warm::memory_for(setup.live_bytes);
        let ended = match self.children.run(&mut program.command(setup, memory))? {
            Ok(ended) => ended,
            Err(e) => return Ok(Err(format!("it cannot be started: {e}"))),
        };
        if let Some(why) = ended.failure() {
            return Ok(Err(why));
        }
        let record = match Record::parse(&ended.stdout) {
            Ok(record) if record.threads.len() == setup.threads as usize => record,
            Ok(record) => {
                return Ok(Err(format!("it ran {} threads, not {}", record.threads.len(), setup.threads)));
            }
            Err(why) => return Ok(Err(why)),
        };
        let did = (record.entries, record.check);
        let expected = *self.expected.get_or_insert(did);
        if did != expected {
            return Err(CommandError::run(format!(
                "{} did not do the same work, so nothing is compared: it has {} entries and the checksum 0x{:016x}, \
                 Heapwood {} and 0x{:016x}",
                program.name, did.0, did.1, expected.0, expected.1
            )));
        }
        Ok(Ok(Summary::of(&record, ended.used.max_rss_bytes)))
    }

    /// The GOGC with which the program's memory is nearest to so many bytes.
    fn equal(
        &mut self,
        program: &Program,
        setup: Setup,
        bytes: u64,
    ) -> Result<Result<u32, String>, CommandError> {
        let setup = Setup { ms: setup.ms.min(MOST_SEARCH_MS), ..setup };
        let mut ended = None;
        let found = equal_rss::search(bytes, |percent| {
            match self.once(program, setup, Memory::Gogc(percent), &format!("equal RSS: GOGC {percent}")) {
                Ok(Ok(run)) => Ok(run.rss_bytes),
                Ok(Err(why)) => Err(why),
                Err(error) => {
                    ended = Some(error);
                    Err(String::new())
                }
            }
        });
        ended.map_or(Ok(found.map(|found| found.percent)), Err)
    }
}
