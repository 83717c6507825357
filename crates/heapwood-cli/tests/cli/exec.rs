//! `heapwood exec`: a C program against gc.h on the built library. Without gc.h (Debian: libgc-dev) the tests are skipped, with a line
//! that says so; refusals need none.

use crate::common::*;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const PROGRAM: &str = r#"
#include <gc.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **arguments) {
    GC_INIT();
    void **list = 0;
    for (int i = 0; i < 300000; i++) { void **n = GC_MALLOC(32); if (i % 1000 == 0) *n = list, list = n; }
    int length = 0;
    for (; list; list = *list) length++;
    printf("%d elements\nversion %lx\n", length, (unsigned long)&length);
    return count > 1 ? atoi(arguments[1]) : 0;
}
"#;

/// Heapwood's libgc, built for these tests.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "heapwood-libgc", "--lib", "--target-dir"]).arg(target);
        assert!(build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
        target.join("debug/libgc.so")
    })
}

/// A program of libgc; `None` without gc.h and the system's library.
fn program() -> Option<&'static Path> {
    static MADE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = folder("exec");
        let (source, program) = (folder.join("program.c"), folder.join("program"));
        std::fs::write(&source, PROGRAM).unwrap();
        let cc = Command::new("cc").arg(source).arg("-o").arg(&program).arg("-lgc").output();
        cc.is_ok_and(|cc| cc.status.success()).then_some(program)
    });
    if made.is_none() {
        let _ =
            writeln!(std::io::stderr(), "SKIPPED: heapwood exec: no cc, gc.h or libgc (Debian: libgc-dev)");
    }
    made.as_deref()
}

struct Ended {
    code: Option<i32>,
    out: String,
    told: String,
}

fn exec(arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heapwood"));
    command.arg("exec").arg("--library").arg(library()).args(arguments);
    let output = command.env_remove("LD_LIBRARY_PATH").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { code: output.status.code(), out: text(output.stdout), told: text(output.stderr) }
}

#[test]
fn a_program_runs_on_heapwood_and_its_exit_code_is_the_command_s() {
    let Some(program) = program().and_then(Path::to_str) else { return };
    let ended = exec(&["--", program, "7"]);
    assert_eq!((ended.code, ended.out.lines().next()), (Some(7), Some("300 elements")), "{}", ended.told);
    assert!(
        ended.told.contains("1 process(es) with a heap, ") && ended.told.contains(" collections"),
        "{}",
        ended.told
    );
    let quiet = exec(&["--quiet", "--", program]);
    assert_eq!((quiet.code, quiet.told.as_str()), (Some(0), ""));
    let inside = exec(&["--", "sh", "-c", &format!("{program}; {program}")]);
    assert!(inside.told.contains("2 process(es)"), "{}", inside.told);
}

#[test]
fn imports_are_listed_with_their_states() {
    let Some(program) = program().and_then(Path::to_str) else { return };
    let ended = exec(&["--check", program]);
    assert_eq!(ended.code, Some(0), "{}", ended.told);
    assert!(ended.out.contains("GC_malloc ") && ended.out.contains("complete (program)"), "{}", ended.out);
    assert!(exec(&["--check", "true"]).out.contains("imports a symbol of libgc"));
}

#[test]
fn runs_are_compared_with_the_system_s() {
    let Some(program) = program().and_then(Path::to_str) else { return };
    let different = exec(&["--compare", "1", "--", program]);
    assert_eq!(different.code, Some(1), "{}{}", different.out, different.told);
    assert!(different.out.contains("standard output, line 2: Heapwood \"version "), "{}", different.out);
    let equal = exec(&["--compare", "2", "--ignore", "^version [0-9a-f]+$", "--", program]);
    assert_eq!(equal.code, Some(0), "{}{}", equal.out, equal.told);
    for line in
        ["medians of 2 pairs", "CPU ", "largest RSS ", "pause, longest ", "outputs: equal in all pairs"]
    {
        assert!(equal.out.contains(line), "{line}: {}", equal.out);
    }
}

#[test]
fn what_does_not_load_the_library_is_told_and_fails() {
    let ended = exec(&["--", "true"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.told.contains("no process of it has made a heap with"), "{}", ended.told);
    assert_eq!(exec(&["--", "there-is-no-such-program"]).code, Some(2));
    assert_eq!(exec(&["--compare", "0", "--", "true"]).code, Some(2));
    assert_eq!(exec(&["--compare", "1", "--ignore", "(", "--", "true"]).code, Some(2));
    let not = Command::new(env!("CARGO_BIN_EXE_heapwood"))
        .args(["exec", "--library", "/bin/sh", "--", "true"])
        .output();
    assert!(String::from_utf8_lossy(&not.unwrap().stderr).contains("this is not Heapwood's libgc"));
}

#[test]
fn programs_that_ignore_the_variable_are_refused() {
    let Some(program) = program() else { return };
    let copy = folder("exec-refused").join("set-user");
    std::fs::copy(program, &copy).unwrap();
    std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o4755)).unwrap();
    let ended = exec(&["--", copy.to_str().unwrap()]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.told.contains("is set-user-ID or set-group-ID"), "{}", ended.told);
    // An RPATH to the system's library.
    let folder = copy.parent().unwrap();
    let system =
        String::from_utf8(Command::new("cc").arg("-print-file-name=libgc.so").output().unwrap().stdout)
            .unwrap();
    let system = Path::new(system.trim()).canonicalize().unwrap();
    std::fs::copy(&system, folder.join("libgc.so.1")).unwrap();
    let led = folder.join("led");
    let mut cc = Command::new("cc");
    cc.arg(program.with_extension("c")).arg("-o").arg(&led);
    cc.arg(format!("-Wl,--disable-new-dtags,-rpath,{}", folder.display())).arg("-lgc");
    assert!(cc.status().unwrap().success());
    let ended = exec(&["--", led.to_str().unwrap()]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.told.contains("has the RPATH"), "{}", ended.told);
    // A static program.
    let fixed = folder.join("static");
    let cc = Command::new("cc")
        .args(["-static", "-o"])
        .arg(&fixed)
        .arg(program.with_extension("c"))
        .args(["-lgc"])
        .output();
    if cc.is_ok_and(|cc| cc.status.success()) {
        let ended = exec(&["--", fixed.to_str().unwrap()]);
        assert!(ended.told.contains("is linked statically"), "{}", ended.told);
    }
}
