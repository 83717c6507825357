//! Page samples as files, which `heapwood run --page-sample` writes and the evaluation reads. They are JSON, with the
//! bits of each chunk as hexadecimal words, the lowest page in the lowest bit of the first word. Invariant: a written
//! file reads back unchanged, and any other file is refused with the reason.

use crate::error::CommandError;
use crate::input::read_at_most;
use crate::legible::legible;
use crate::output::write_file;
use heapwood::Heap;
use heapwood_pages::{ChunkIndex, ChunkSnapshot, PAGE_SIZE, PageCount, Snapshot};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Larger files are refused. A chunk of 4 MiB takes 300 bytes: this is a heap of 1 TiB at three moments.
const MOST_BYTES: u64 = 256 << 20;

/// The format's name in a file.
const FORMAT: &str = "heapwood page sample 1";

/// The samples of one run of one program.
#[derive(Serialize, Deserialize)]
pub struct SampleFile {
    format: String,
    /// The program and its arguments, such as `trees 18`.
    program: String,
    page_bytes: usize,
    moments: Vec<PageSample>,
}

/// The pages at one moment.
#[derive(Serialize, Deserialize)]
struct PageSample {
    moment: String,
    #[serde(rename = "window_pages")]
    reservation_pages: usize,
    chunks: Vec<ChunkBits>,
}

/// One chunk; a page with both bits does not exist.
#[derive(Serialize, Deserialize)]
struct ChunkBits {
    chunk: usize,
    in_use: String,
    scavenged: String,
}

impl SampleFile {
    /// The samples of a run, each with its moment's name.
    fn new(program: String, moments: Vec<(&str, Snapshot)>) -> Self {
        let moments = moments.into_iter().map(|(moment, sample)| PageSample {
            moment: moment.into(),
            reservation_pages: sample.reservation.0,
            chunks: sample.chunks.iter().map(ChunkBits::new).collect(),
        });
        SampleFile { format: FORMAT.into(), program, page_bytes: PAGE_SIZE, moments: moments.collect() }
    }

    /// The heap's pages at its peak, now, and after the collection that freed most. The first and the last exist if
    /// the heap [keeps them](Heap::keep_page_snapshots) and has collected.
    pub fn of(heap: &Heap, program: String) -> Self {
        let moments = [
            ("peak", heap.peak_page_snapshot()),
            ("exit", Some(heap.page_snapshot())),
            ("collected", heap.collected_page_snapshot()),
        ];
        let taken = moments.into_iter().filter_map(|(moment, sample)| Some((moment, sample?)));
        SampleFile::new(program, taken.collect())
    }

    /// Writes the file.
    ///
    /// # Errors
    /// It cannot be written, and why.
    pub fn write(&self, path: &Path) -> Result<(), CommandError> {
        let text = serde_json::to_string(self).map_err(CommandError::run)?;
        write_file(path, "page sample", text + "\n")
    }

    /// Reads a file: the program, and each sample with its moment's name.
    ///
    /// # Errors
    /// It cannot be read, or is no page sample, and why.
    pub fn read(path: &Path) -> Result<(String, Vec<(String, Snapshot)>), CommandError> {
        let wrong = |why: String| {
            CommandError::run(format!(
                "{} is no page sample (made by heapwood run NAME --page-sample FILE): {why}",
                legible(path)
            ))
        };
        let text = read_at_most(path, MOST_BYTES).map_err(|e| {
            CommandError::run(format!("the page sample {} cannot be read: {e}", legible(path)))
        })?;
        let file: SampleFile = serde_json::from_slice(&text).map_err(|e| wrong(e.to_string()))?;
        if file.format != FORMAT || file.page_bytes != PAGE_SIZE {
            return Err(wrong(format!(
                "its format is {:?} with pages of {} bytes, not {FORMAT:?} with {PAGE_SIZE}",
                file.format, file.page_bytes
            )));
        }
        let sample = |moment: PageSample| {
            let chunks = moment.chunks.iter().map(ChunkBits::read).collect::<Result<_, _>>()?;
            Ok((moment.moment, Snapshot { reservation: PageCount(moment.reservation_pages), chunks }))
        };
        let moments = file.moments.into_iter().map(sample).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        if moments.is_empty() {
            return Err(wrong("it has no moment".into()));
        }
        Ok((file.program, moments))
    }
}

impl ChunkBits {
    fn new(sample: &ChunkSnapshot) -> Self {
        let hex = |words: &[u64]| words.iter().map(|word| format!("{word:016x}")).collect();
        ChunkBits { chunk: sample.chunk.0, in_use: hex(&sample.in_use), scavenged: hex(&sample.scavenged) }
    }

    fn read(&self) -> Result<ChunkSnapshot, String> {
        let words = |hex: &str| {
            let word = |digits: &[u8]| u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok();
            hex.as_bytes()
                .chunks(16)
                .map(|digits| word(digits).filter(|_| digits.len() == 16))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| format!("chunk {} has bits that are not words of 16 digits", self.chunk))
        };
        Ok(ChunkSnapshot {
            chunk: ChunkIndex(self.chunk),
            in_use: words(&self.in_use)?,
            scavenged: words(&self.scavenged)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_sample_is_read_back() {
        let chunk = |index, in_use: u64, scavenged: u64| ChunkSnapshot {
            chunk: ChunkIndex(index),
            in_use: (0..8).map(|k| in_use.rotate_left(k)).collect(),
            scavenged: vec![scavenged; 8],
        };
        let chunks =
            vec![chunk(0, 1, 1 << 63), chunk(77, u64::MAX, 0), chunk(1 << 20, 0x0123_4567_89ab_cdef, 16)];
        let sample = Snapshot { reservation: PageCount(1 << 31), chunks };
        let empty = Snapshot { reservation: PageCount(5), chunks: vec![] };
        let path = std::env::temp_dir().join(format!("heapwood-sample-{}", std::process::id()));
        let moments = vec![("peak", sample.clone()), ("exit", empty.clone())];
        SampleFile::new("trees 7".into(), moments).write(&path).unwrap();
        let (program, read) = SampleFile::read(&path).unwrap();
        assert_eq!(program, "trees 7");
        assert_eq!(read, [("peak".to_string(), sample), ("exit".to_string(), empty)]);

        let text = std::fs::read_to_string(&path).unwrap();
        let mistakes = [
            ("sample 1", "sample 9", "its format is"),
            ("8192", "4096", "pages of 4096 bytes"),
            ("0123456789abcdef", "x123456789abcdef", "chunk 1048576 has bits"),
            ("0123456789abcdef", "0123456789abcde", "chunk 1048576 has bits"),
            ("\"chunks\"", "\"chunk\"", "missing field `chunks`"),
        ];
        for (right, wrong, message) in mistakes {
            assert!(text.contains(right));
            std::fs::write(&path, text.replace(right, wrong)).unwrap();
            let said = SampleFile::read(&path).unwrap_err().message;
            assert!(said.contains(message) && said.contains("--page-sample"), "{said}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(SampleFile::read(&path).unwrap_err().message.contains("cannot be read"));
    }
}
