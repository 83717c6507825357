//! The library, and the folder in which programs find it as libgc.so.1. It has the profile of these tests: with --release it is the one
//! that ships.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

pub(crate) const CRATE: &str = env!("CARGO_MANIFEST_DIR");
/// The directory for compiled programs, in the target directory.
pub(crate) const OUT: &str = env!("CARGO_TARGET_TMPDIR");

/// Prints to the terminal, even if the harness captures output.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("running {command:?}: {e}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?} ended with {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}

/// The directory of libgc.so and libgc.a. Cargo does not build a library without an rlib for the tests of its package.
pub(crate) fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target =
            Path::new(OUT).parent().expect("the directory for temporary files lies in the target directory");
        let (profile, directory) =
            if cfg!(debug_assertions) { ("dev", "debug") } else { ("release", "release") };
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "heapwood-libgc", "--lib", "--profile", profile]);
        run(build.arg("--target-dir").arg(target).current_dir(CRATE));
        target.join(directory)
    })
}

/// A directory in which the library is called as programs ask for it.
pub(crate) fn folder() -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = Path::new(OUT).join(format!("libgc-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let link = folder.join("libgc.so.1");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(library().join("libgc.so"), link).unwrap();
        folder
    });
    made.clone()
}

/// The compiler of C or C++, if it is here and finds gc.h. Says what is missing.
pub(crate) fn compiler(is_cpp: bool) -> Option<Command> {
    static MISSING: [OnceLock<Option<String>>; 2] = [const { OnceLock::new() }; 2];
    let (variable, usual) = if is_cpp { ("CXX", "c++") } else { ("CC", "cc") };
    let name = std::env::var(variable).unwrap_or_else(|_| usual.into());
    let missing = MISSING[usize::from(is_cpp)].get_or_init(|| {
        let source = Path::new(OUT).join("has-gc.c");
        std::fs::write(&source, "#include <gc.h>\n").unwrap();
        match Command::new(&name).arg("-fsyntax-only").arg(&source).output() {
            Err(e) => Some(format!("there is no compiler ({name}: {e})")),
            Ok(output) if !output.status.success() => Some("there is no gc.h (Debian: libgc-dev)".into()),
            Ok(_) => None,
        }
    });
    if let Some(missing) = missing {
        say(&format!("SKIPPED: programs of libgc: {missing}"));
        return None;
    }
    Some(Command::new(name))
}
