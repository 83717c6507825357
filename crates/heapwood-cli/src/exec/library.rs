//! The library that programs are led to, and the folder that has it by the name that they ask for, and nothing else. Invariant: the
//! file is Heapwood's: it has the section that tells the states of its symbols.

use super::elf::Elf;
use heapwood_report::CommandError;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name by which programs ask for the library.
pub(super) const SONAME: &str = "libgc.so.1";
/// The section with the states of its symbols.
const SECTION: &str = ".heapwood_symbols";

pub(super) struct Library {
    /// The file, without links.
    pub(super) file: PathBuf,
    /// A folder in which `libgc.so.1` is this file.
    pub(super) folder: PathBuf,
    /// A line for each symbol: its name and its state.
    pub(super) states: String,
}

impl Library {
    /// The library that is named, or the one that was built or installed with this command.
    pub(super) fn find(named: Option<&Path>) -> Result<Library, CommandError> {
        let file = match named {
            Some(file) => file.to_owned(),
            None => beside()?,
        };
        let unread = |why: &dyn std::fmt::Display| {
            CommandError::usage(format_args!(
                "{}: {why}; name Heapwood's library with --library",
                file.display()
            ))
        };
        let file = file.canonicalize().map_err(|e| unread(&e))?;
        let bytes = std::fs::read(&file).map_err(|e| unread(&e))?;
        let elf = Elf::new(&bytes).ok_or_else(|| unread(&"this is no library"))?;
        let states = elf.section(SECTION).ok_or_else(|| unread(&"this is not Heapwood's libgc"))?;
        let states = String::from_utf8_lossy(states).into_owned();
        let folder = folder_of(&file).map_err(|e| unread(&e))?;
        Ok(Library { file, folder, states })
    }

    /// Leads a program, and those that it starts, to the library.
    pub(super) fn lead(&self, command: &mut Command) {
        let mut path = self.folder.clone().into_os_string();
        if let Some(more) = std::env::var_os("LD_LIBRARY_PATH").filter(|more| !more.is_empty()) {
            path.push(":");
            path.push(more);
        }
        command.env("LD_LIBRARY_PATH", path);
    }

    /// What the library says of a symbol; `None` if it has none of this name.
    pub(super) fn state(&self, symbol: &str) -> Option<&str> {
        self.states.lines().find_map(|line| line.strip_prefix(symbol)?.strip_prefix(' '))
    }
}

fn beside() -> Result<PathBuf, CommandError> {
    let command = std::env::current_exe().map_err(CommandError::run)?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    let places = [SONAME, "libgc.so", "../lib/heapwood/libgc.so.1", "../lib/libgc.so.1"];
    places.iter().map(|place| folder.join(place)).find(|file| file.is_file()).ok_or_else(|| {
        CommandError::usage(format_args!(
            "there is no library beside {}: build it with `cargo build --release -p heapwood-libgc`, or name it with \
             --library",
            command.display()
        ))
    })
}

/// A folder that has the file by the name that programs ask for, and no other library: they would load that, too.
fn folder_of(file: &Path) -> std::io::Result<PathBuf> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    if file.file_name().is_some_and(|name| name == SONAME) && is_alone(folder)? {
        return Ok(folder.to_owned());
    }
    // A folder of this user's alone.
    // SAFETY: it has no arguments.
    let user = unsafe { libc::getuid() };
    let folder = std::env::temp_dir().join(format!("heapwood-libgc-{user}-{:x}", hash(file)));
    match std::fs::create_dir(&folder) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    let metadata = std::fs::symlink_metadata(&folder)?;
    if !metadata.is_dir() || std::os::unix::fs::MetadataExt::uid(&metadata) != user {
        return Err(std::io::Error::other(format!("{} is another user's", folder.display())));
    }
    std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    let link = folder.join(SONAME);
    if std::fs::read_link(&link).ok().as_deref() != Some(file) {
        // Another command may make it at the same time.
        let new = folder.join(format!("new-{}", std::process::id()));
        std::os::unix::fs::symlink(file, &new)?;
        std::fs::rename(&new, &link)?;
    }
    Ok(folder)
}

fn is_alone(folder: &Path) -> std::io::Result<bool> {
    let mut count = 0;
    for entry in std::fs::read_dir(folder)? {
        count += u32::from(entry?.file_name().to_string_lossy().contains(".so"));
    }
    Ok(count == 1)
}

fn hash(file: &Path) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    file.hash(&mut hasher);
    hasher.finish()
}
