//! `heapwood-eval simulate`: two experiments on samples of real heaps: orders of returning free pages to the kernel,
//! and the pages that page caches add to a heap. Invariant: the result depends only on the samples.
//! Simulated time over samples of real heaps is from "Proposal: Scaling the Go page allocator" (Knyszek and Clements,
//! 2019).
//!
//! | module | content |
//! |---|---|
//! | `policies` | the choice of the next chunk, and of its pages |
//! | `heap` | the pages, and the policies' view of them |
//! | `live` | the runs in use of a program |
//! | `releases` | the experiment about releases |
//! | `mutators` | the experiment about caches |
//! | `report` | the report, as tables and JSON |
//! | `plot` | the same as a picture |

mod heap;
mod live;
mod mutators;
mod plot;
mod policies;
mod releases;
mod report;

use crate::args::Simulate;
use crate::moments::{self, Moment};
use heapwood_report::CommandError;
use heapwood_report::output::{check_writable, write_picture};
use report::{Report, SampleReport};

pub(crate) fn run(args: &Simulate) -> Result<(), CommandError> {
    let moments = moments::named(&args.files, &args.moment)?;
    if let Some(path) = &args.plot {
        check_writable(path, "picture")?;
    }
    let simulate = |Moment { source, sample }: Moment| {
        let releases = match source.releasable_pages {
            0 => Vec::new(),
            _ => releases::simulate(&sample)?,
        };
        let live_pages = mutators::live_pages(&sample);
        let caches = mutators::simulate(&sample, &args.mutators)?;
        Ok(SampleReport { source, releases, live_pages, caches })
    };
    let samples = moments.into_iter().map(simulate).collect::<Result<_, CommandError>>()?;
    let report = Report { samples };
    if let Some(path) = &args.plot {
        write_picture(path, plot::draw(&report))?;
    }
    args.output.show(&report)
}

/// Constructed samples.
#[cfg(test)]
mod tests {
    use heapwood_pages::{ChunkIndex, ChunkSnapshot, PageCount, Snapshot};

    /// A chunk with runs in use, each a place and a length; all else is free and has memory.
    pub(super) fn chunk(index: usize, in_use: &[(usize, usize)]) -> ChunkSnapshot {
        let mut words = vec![0; 8];
        for at in in_use.iter().flat_map(|&(first, count)| first..first + count) {
            words[at / 64] |= 1u64 << (at % 64);
        }
        ChunkSnapshot { chunk: ChunkIndex(index), in_use: words, scavenged: vec![0; 8] }
    }

    pub(super) fn sample(chunks: Vec<ChunkSnapshot>) -> Snapshot {
        Snapshot { reservation: PageCount(1 << 20), chunks }
    }

    /// Two chunks with free huge pages, and above them two in small pieces.
    pub(super) fn fragmented() -> Snapshot {
        let pieces: Vec<(usize, usize)> = (0..128).map(|k| (k * 4, 1)).collect();
        sample(vec![chunk(0, &[(0, 40)]), chunk(1, &[]), chunk(2, &pieces), chunk(3, &pieces)])
    }
}
