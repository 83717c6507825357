//! The moments of the sample files on the command line. Invariant: an allocator can be made from each. A sample that
//! contradicts itself is refused here, before anything runs.

use heapwood_os::SYSTEM;
use heapwood_pages::{Bits48, SharedPages, Snapshot, SnapshotError};
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
        Pages::from_snapshot(&SYSTEM, &sample).map_err(|why| contradiction(path, &moment, why))?;
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

fn contradiction(path: &Path, moment: &str, why: SnapshotError) -> CommandError {
    CommandError::run(format!(
        "{}, moment {}: no heap has such pages: {why}; make the sample again with heapwood run NAME --page-sample FILE",
        legible(path),
        legible(moment)
    ))
}
