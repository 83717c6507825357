//! Programs that would not load the library, whatever the environment says. Invariant: nothing of the program runs here but its
//! loader.

use super::elf::Elf;
use super::library::{Library, SONAME};
use heapwood_report::CommandError;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const SET_USER: u32 = 0o4000;
const SET_GROUP: u32 = 0o2000;

/// Refuses a program that would not load the library.
pub(super) fn look(library: &Library, program: &Path) -> Result<(), CommandError> {
    let name = program.display();
    let refuse = |why: std::fmt::Arguments<'_>| Err(CommandError::run(format_args!("{name} {why}")));
    let unread = |e: std::io::Error| CommandError::run(format_args!("{name}: {e}"));
    if std::fs::metadata(program).map_err(unread)?.permissions().mode() & (SET_USER | SET_GROUP) != 0 {
        return refuse(format_args!(
            "is set-user-ID or set-group-ID: the loader ignores LD_LIBRARY_PATH for it; run a copy without that bit"
        ));
    }
    let bytes = std::fs::read(program).map_err(unread)?;
    // A script: what it runs will say whether it has loaded the library.
    let Some(elf) = Elf::new(&bytes) else { return Ok(()) };
    if elf.has_interpreter() == Some(false) {
        return refuse(format_args!(
            "is linked statically: it has its libgc in itself; link it with libgc.so, or with Heapwood's libgc.a"
        ));
    }
    let Some(loaded) = loads(library, program) else { return Ok(()) };
    if loaded.canonicalize().ok().as_ref() == Some(&library.file) {
        return Ok(());
    }
    let rpath = elf.wants().and_then(|wants| wants.rpath.filter(|_| wants.runpath.is_none()));
    match rpath {
        Some(rpath) => refuse(format_args!(
            "has the RPATH {rpath}, which comes before LD_LIBRARY_PATH, and loads {}; remove it (patchelf --remove-rpath)",
            loaded.display()
        )),
        None => refuse(format_args!(
            "would load {} instead of {}: a library that it needs leads there (an RPATH)",
            loaded.display(),
            library.file.display()
        )),
    }
}

/// The libgc that the loader would give a program; `None` if it is not linked with one, and opens one perhaps.
fn loads(library: &Library, program: &Path) -> Option<PathBuf> {
    loaded(Some(library), program)
        .into_iter()
        .find(|file| file.file_name().is_some_and(|name| name == SONAME))
}

/// The libraries that the loader would give a program, if it is led to the library or not.
pub(super) fn loaded(library: Option<&Library>, program: &Path) -> Vec<PathBuf> {
    let mut command = Command::new(program);
    if let Some(library) = library {
        library.lead(&mut command);
    }
    let Ok(output) = command.env("LD_TRACE_LOADED_OBJECTS", "1").output() else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let file = |line: &str| Some(PathBuf::from(line.split_once("=> ")?.1.split_once(" (")?.0));
    text.lines().filter_map(file).collect()
}
