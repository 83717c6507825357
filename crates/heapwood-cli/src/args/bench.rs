//! What `heapwood bench` measures: a workload side by side with its peers, or the page allocator or layouts alone, which
//! take other options.

use super::Bench;
use crate::size::{exact, parse_size};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use heapwood_workloads::Workload;

pub(crate) const HELP: &str = "\
Peers are built into the target folder first; one whose toolchain is missing is named, with what to install, and \
skipped. All programs run in turn (A B C, A B C, ..) after a round that only warms up. Each must print the same check \
values, or nothing is compared. Times, memory and faults are the operating system's, for each process; shown is the \
median with the least and the most, and each program's CPU time over Heapwood's in the same round.

pages measures the page allocator on heaps of which there are only the tables, in nanoseconds an operation: allocations \
of 1 to 1024 pages never used, without the lock, with it, and through a page cache; frees out of a full heap; a \
checkerboard; a heap in use to 90 %; two threads; and the visits of the lock with the time inside. After that, how much \
the size of the heap matters. The tables of 16 TiB take about 600 MiB, four times over; a heap for which memory is \
missing is named and skipped. Of the options it takes --heap, --runs and --json.

layout measures what layouts cost, in nanoseconds an object, for the types of Go's SetType benchmarks: PtrK is K pointers, \
NodeK K words and then two pointers, Dead the same the other way round; slices have 32 elements, PtrSlice 1024. Measured \
are allocation, programs decoded into bits, masks copied, an older recursive form, and finding the pointers by a nest of \
loops; beside them what others measured elsewhere, marked as quoted. It takes --runs and --json.

Exit codes: 0 done, 1 a program failed or differs, 2 the command line is wrong, 130 interrupted.";

/// What stands for no peer at all.
pub(crate) const NO_PEER: &str = "none";

/// The names of the other subjects.
const PAGES: &str = "pages";
const LAYOUT: &str = "layout";

/// What is measured.
#[derive(Clone, Copy)]
pub(crate) enum Subject {
    Workload(&'static Workload),
    Pages,
    Layout,
}

/// The names of all subjects, each with its line of help.
pub(super) fn subjects() -> impl TypedValueParser<Value = Subject> {
    let workloads = heapwood_workloads::ALL.iter().map(|w| PossibleValue::new(w.name).help(w.about));
    let pages =
        PossibleValue::new(PAGES).help("The page allocator alone: nothing is started, no page is touched");
    let layout = PossibleValue::new(LAYOUT).help("Layouts alone: what it costs to say where pointers are");
    PossibleValuesParser::new(workloads.chain([pages, layout])).map(|name| match name.as_str() {
        PAGES => Subject::Pages,
        LAYOUT => Subject::Layout,
        _ => Workload::find(&name)
            .map(Subject::Workload)
            .expect("the parser lets through only the names it was given"),
    })
}

const DEFAULT_HEAPS: [usize; 5] = [4 << 20, 1 << 30, 16 << 30, 1 << 40, 16 << 40];

/// A chunk of pages.
const LEAST_HEAP: usize = 4 << 20;

/// More than that no heap can have.
const MOST_HEAP: usize = heapwood_heap::MAX_WINDOW;

pub(super) fn parse_heap(text: &str) -> Result<usize, String> {
    let bytes = parse_size(text)?;
    if bytes < LEAST_HEAP || !bytes.is_multiple_of(LEAST_HEAP) {
        return Err(format!("a heap has one or more chunks of {}", exact(LEAST_HEAP)));
    }
    if bytes > MOST_HEAP {
        return Err(format!("a heap has at most {}", exact(MOST_HEAP)));
    }
    Ok(bytes)
}

impl Bench {
    /// Whether the options go with what is measured.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.subject {
            Subject::Workload(workload) if self.heap.is_some() => {
                Err(format!("--heap goes with {PAGES} only: {} makes a heap of its own", workload.name))
            }
            Subject::Workload(_) => Ok(()),
            Subject::Pages | Subject::Layout => {
                let (name, takes) = match self.subject {
                    Subject::Layout => (LAYOUT, "--runs and --json"),
                    _ => (PAGES, "--heap, --runs and --json"),
                };
                let given = [
                    (self.n.is_some(), "a number N"),
                    (self.peers.is_some(), "--peers"),
                    (self.equal_rss.is_some(), "--equal-rss"),
                    (self.plot.is_some(), "--plot"),
                    (self.peers_dir.is_some(), "--peers-dir"),
                    (self.build_dir.is_some(), "--build-dir"),
                    (name == LAYOUT && self.heap.is_some(), "--heap"),
                ];
                let wrong: Vec<&str> =
                    given.iter().filter(|(given, _)| *given).map(|&(_, option)| option).collect();
                if wrong.is_empty() {
                    return Ok(());
                }
                let wrong = wrong.join(" and ");
                Err(format!("{wrong} cannot go with {name}: it takes {takes}"))
            }
        }
    }

    /// The peers that were asked for, if not all; none of them have a name of their own.
    pub(crate) fn peers(&self) -> Option<Vec<String>> {
        let names = self.peers.as_ref()?.iter().map(|name| name.trim().to_string());
        Some(names.filter(|name| !matches!(name.as_str(), NO_PEER | "")).collect())
    }

    /// How often everything is measured.
    pub(crate) fn runs(&self) -> u32 {
        self.runs.unwrap_or(match self.subject {
            Subject::Workload(_) => 5,
            Subject::Pages | Subject::Layout => 7,
        })
    }

    /// The sizes of the heaps, each once.
    pub(crate) fn heaps(&self) -> Vec<usize> {
        let mut heaps = Vec::new();
        for &bytes in self.heap.as_deref().unwrap_or(&DEFAULT_HEAPS) {
            if !heaps.contains(&bytes) {
                heaps.push(bytes);
            }
        }
        heaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaps_say_what_is_wrong() {
        assert_eq!(parse_heap("4MiB"), Ok(4 << 20));
        assert_eq!(parse_heap("16TiB"), Ok(1 << 44));
        for wrong in ["0", "1MiB", "5MiB", "4194305"] {
            assert!(parse_heap(wrong).unwrap_err().contains("chunks of 4 MiB"), "{wrong}");
        }
        assert!(parse_heap("17TiB").unwrap_err().contains("at most 16 TiB"));
        assert!(parse_heap("lots").is_err() && parse_heap("-4MiB").is_err() && parse_heap("").is_err());
    }
}
