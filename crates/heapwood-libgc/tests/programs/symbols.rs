//! What the built library exports: the symbols of the list, which are those of libgc 8.2.2, and nothing else.

use crate::built::{library, run, say};
use std::path::Path;
use std::process::Command;

macro_rules! names {
    (functions { $($group:literal {
        $(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $does:path, $state:ident, $note:literal;)*
    })* }
    variables { $(static $variable:ident: $of:ty = $value:expr, $its:ident, $text:literal;)* }) => {
        const NAMES: &[&str] = &[$($(stringify!($name),)*)* $(stringify!($variable),)*];
    };
}

#[path = "../../src/exports/list.rs"]
#[macro_use]
mod list;
symbol_list!(names);

/// The symbols that a library defines for others.
fn exported(file: &Path) -> Vec<String> {
    let output = run(Command::new("nm").args(["-D", "--defined-only"]).arg(file));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut names: Vec<_> =
        text.lines().filter_map(|line| line.split(' ').next_back()).map(str::to_owned).collect();
    names.sort();
    names
}

fn has_nm() -> bool {
    let has = Command::new("nm").arg("--version").output().is_ok();
    if !has {
        say("SKIPPED: the exported symbols: nm is missing (Debian: binutils)");
    }
    has
}

#[test]
fn the_list_is_exported_and_nothing_else() {
    if !has_nm() {
        return;
    }
    let mut names: Vec<_> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    names.sort();
    assert_eq!(exported(&library().join("libgc.so")), names);
}

#[test]
fn the_system_s_library_has_no_symbol_more() {
    let system = [
        "/usr/lib/x86_64-linux-gnu/libgc.so.1",
        "/usr/lib/aarch64-linux-gnu/libgc.so.1",
        "/usr/lib64/libgc.so.1",
    ];
    let Some(file) = system.iter().map(Path::new).find(|file| file.exists()) else {
        return say("SKIPPED: a comparison with the system's libgc: there is none");
    };
    if !has_nm() {
        return;
    }
    let ours = exported(&library().join("libgc.so"));
    // A mark of the linker's.
    let missing: Vec<_> =
        exported(file).into_iter().filter(|name| name != "_end" && !ours.contains(name)).collect();
    let version = file.canonicalize().unwrap();
    // Other versions have some more; 8.2.2, whose file is 1.5.1, has none.
    if version.to_string_lossy().ends_with("libgc.so.1.5.1") {
        assert!(missing.is_empty(), "{missing:?}");
    } else if !missing.is_empty() {
        say(&format!("{} has symbols that are not in the list: {missing:?}", version.display()));
    }
}

#[test]
fn it_has_libgc_s_name_and_stays_loaded() {
    if !has_nm() || Command::new("readelf").arg("--version").output().is_err() {
        return;
    }
    let output = run(Command::new("readelf").arg("-d").arg(library().join("libgc.so")));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("soname: [libgc.so.1]") && text.contains("NODELETE"), "{text}");
}
