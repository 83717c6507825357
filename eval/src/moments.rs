//! The moments of the sample files on the command line. Invariant: an allocator can be made from each. A sample that
//! contradicts itself is refused here, before anything runs.

use heapwood_os::SYSTEM;
use heapwood_pages::{Bits48, ChunkSnapshot, PageAllocator, PageCount, PageIndex, SharedPages, Snapshot};
use heapwood_report::CommandError;
use heapwood_report::legible::legible;
use heapwood_report::page_samples::SampleFile;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The page allocator of this heap.
pub(crate) type Pages = SharedPages<Bits48>;

/// A sample and its source.
pub(crate) struct Moment {
    pub(crate) source: Source,
    pub(crate) sample: Snapshot,
}

/// The source of a sample, and its numbers of pages.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Source {
    file: PathBuf,
    program: String,
    moment: String,
    pub(crate) pages: usize,
    pub(crate) free_pages: usize,
    /// Free pages that may have memory behind them.
    pub(crate) releasable_pages: usize,
}

impl Source {
    /// `trees 18, collected`.
    pub(crate) fn title(&self) -> String {
        format!("{}, {}", legible(&self.program), legible(&self.moment))
    }

    /// The same, and the file.
    pub(crate) fn full_title(&self) -> String {
        format!("{} ({})", self.title(), legible(&self.file))
    }
}

/// All moments of the files, in order.
pub(crate) fn all(files: &[PathBuf]) -> Result<Vec<Moment>, CommandError> {
    let mut moments = Vec::new();
    for path in files {
        moments.extend(read(path)?);
    }
    Ok(moments)
}

/// One moment of each file.
pub(crate) fn named(files: &[PathBuf], name: &str) -> Result<Vec<Moment>, CommandError> {
    let pick = |path: &PathBuf| {
        let moments = read(path)?;
        let names: Vec<String> = moments.iter().map(|m| m.source.moment.clone()).collect();
        moments.into_iter().find(|m| m.source.moment == name).ok_or_else(|| {
            let (file, names) = (legible(path), names.iter().map(legible).collect::<Vec<_>>().join(", "));
            CommandError::run(format!("{file} has no moment {name:?}; choose with --moment one of: {names}"))
        })
    };
    files.iter().map(pick).collect()
}

fn read(path: &Path) -> Result<Vec<Moment>, CommandError> {
    let (program, moments) = SampleFile::read(path)?;
    let moment = |(moment, sample): (String, Snapshot)| {
        check(&sample).map_err(|why| contradiction(path, &moment, why))?;
        let source = Source {
            file: path.to_path_buf(),
            program: program.clone(),
            moment,
            pages: sample.grown_pages().0,
            free_pages: sample.free_pages().0,
            releasable_pages: sample.releasable_pages().0,
        };
        Ok(Moment { source, sample })
    };
    moments.into_iter().map(moment).collect()
}

/// The pages of a chunk.
const CHUNK: usize = 512;

/// The pages of a chunk of which the words say so, one by one.
fn pages_that<'c>(
    chunk: &'c ChunkSnapshot,
    are: impl Fn(u64, u64) -> u64 + 'c,
) -> impl Iterator<Item = PageIndex> + 'c {
    let (base, words) = (chunk.chunk.0 * CHUNK, chunk.in_use.iter().zip(&chunk.scavenged));
    let of_word = move |(at, (&in_use, &scavenged)): (usize, (&u64, &u64))| {
        let set = are(in_use, scavenged);
        (0..64).filter(move |bit| set >> bit & 1 == 1).map(move |bit| PageIndex(base + at * 64 + bit))
    };
    words.enumerate().flat_map(of_word)
}

/// Checks that a heap may have the pages of a sample.
fn check(sample: &Snapshot) -> Result<(), String> {
    let mut next = 0;
    for chunk in &sample.chunks {
        let ChunkSnapshot { chunk: index, in_use, scavenged } = chunk;
        let words = CHUNK / 64;
        if in_use.len() != words || scavenged.len() != words {
            return Err(format!("{index} does not have {words} words of either kind"));
        }
        let end = sample.reservation.0;
        if index.0 < next || index.0 > end / CHUNK {
            return Err(format!("{index} is there twice, not in order, or outside the reservation"));
        }
        if let Some(page) =
            pages_that(chunk, |in_use, scavenged| !(in_use & scavenged)).find(|page| page.0 >= end)
        {
            return Err(format!("{page} is outside the reservation"));
        }
        next = index.0 + 1;
    }
    Ok(())
}

/// An allocator of the pages of a sample that was checked.
pub(crate) fn allocator_of(sample: &Snapshot) -> Result<PageAllocator<Bits48>, CommandError> {
    const ONE: PageCount = PageCount(1);
    let mut pages = PageAllocator::new(&SYSTEM, sample.reservation).map_err(CommandError::run)?;
    for chunk in &sample.chunks {
        // What is free and has memory was in use before.
        for page in pages_that(chunk, |in_use, scavenged| !(in_use & scavenged)) {
            pages.grow(page, ONE).map_err(CommandError::run)?;
        }
        pages_that(chunk, |_, scavenged| !scavenged).for_each(|page| _ = pages.claim(page, ONE));
        for page in pages_that(chunk, |in_use, scavenged| !(in_use | scavenged)) {
            pages.free(page, ONE).map_err(CommandError::run)?;
        }
    }
    Ok(pages)
}

/// The same for several threads.
pub(crate) fn pages_of(sample: &Snapshot) -> Result<Pages, CommandError> {
    Pages::over(&SYSTEM, allocator_of(sample)?).map_err(CommandError::run)
}

fn contradiction(path: &Path, moment: &str, why: String) -> CommandError {
    CommandError::run(format!(
        "{}, moment {}: no heap has such pages: {why}; make the sample again with heapwood run NAME --page-sample FILE",
        legible(path),
        legible(moment)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood_pages::ChunkIndex;

    fn chunk(index: usize, in_use: u64, scavenged: u64) -> ChunkSnapshot {
        ChunkSnapshot { chunk: ChunkIndex(index), in_use: vec![in_use; 8], scavenged: vec![scavenged; 8] }
    }

    fn sample(chunks: Vec<ChunkSnapshot>) -> Snapshot {
        Snapshot { reservation: PageCount(2000), chunks }
    }

    #[test]
    fn an_allocator_of_a_sample_has_its_pages() {
        // Each two bits of a page, in many patterns.
        let words = [0, u64::MAX, 0x0f0f_3333_5555_00ff, 0xffff_0000_1234_5678];
        for (in_use, scavenged) in words.iter().flat_map(|&a| words.map(|b| (a, b))) {
            let one = sample(vec![chunk(0, in_use, scavenged), chunk(2, !in_use, scavenged)]);
            check(&one).unwrap();
            let pages = pages_of(&one).unwrap();
            pages.is_valid().unwrap();
            let there = |chunk: &ChunkSnapshot| pages_that(chunk, |a, b| !(a & b)).next().is_some();
            let chunks = one.chunks.iter().filter(|chunk| there(chunk)).cloned().collect();
            assert_eq!(pages.snapshot(), sample(chunks));
        }
    }

    #[test]
    fn a_sample_that_contradicts_itself_is_refused() {
        let why = |chunks| check(&sample(chunks)).unwrap_err();
        assert!(why(vec![chunk(1, 0, 0), chunk(1, 0, 0)]).contains("chunk 1 is there twice"));
        assert!(why(vec![chunk(usize::MAX / 3, 0, 0)]).contains("outside"));
        assert_eq!(why(vec![chunk(3, 0, 0)]), "page 2000 is outside the reservation");
        let short = ChunkSnapshot { in_use: vec![0; 7], ..chunk(1, 0, 0) };
        assert_eq!(why(vec![short]), "chunk 1 does not have 8 words of either kind");
    }
}
