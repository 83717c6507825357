//! C programs, each linked with the shared library, and some with the archive. Each checks itself, and ends with a line "ok".

use crate::built::{CRATE, OUT, compiler, folder, library, run, say};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Compiles a program; `None` without gc.h.
fn compile(name: &str, is_static: bool) -> Option<PathBuf> {
    let is_cpp = Path::new(CRATE).join("tests/c").join(name).with_extension("cc").exists();
    let mut cc = compiler(is_cpp)?;
    // Several tests compile a source at once: one would find the other's program being written.
    static COMPILED: AtomicUsize = AtomicUsize::new(0);
    let number = COMPILED.fetch_add(1, Ordering::Relaxed);
    let program = Path::new(OUT).join(format!("libgc-{name}-{}-{number}", std::process::id()));
    cc.args([
        if is_cpp { "-std=gnu++17" } else { "-std=gnu11" },
        "-O1",
        "-Wall",
        "-Wextra",
        "-Wno-deprecated-declarations",
        "-Wno-unused-parameter",
    ]);
    cc.arg(Path::new(CRATE).join("tests/c").join(name).with_extension(if is_cpp { "cc" } else { "c" }))
        .arg("-o")
        .arg(&program);
    match is_static {
        true => cc.arg(library().join("libgc.a")),
        // As a program that was built with the system's library: it asks for libgc.so.1, wherever that is.
        false => cc.arg(folder().join("libgc.so.1")),
    };
    run(cc.args(["-lpthread", "-ldl", "-lm"]));
    Some(program)
}

fn passes_with(name: &str, is_static: bool, variables: &[(&str, &str)]) {
    let Some(program) = compile(name, is_static) else { return };
    let mut command = Command::new(&program);
    command.env("LD_LIBRARY_PATH", folder()).envs(variables.iter().copied());
    let output = run(&mut command);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("ok"), "{name} {variables:?}: {text}");
    if text.contains("SKIPPED") {
        say(&format!("{name}: {text}"));
    }
    let _ = std::fs::remove_file(program);
}

fn passes(name: &str) {
    passes_with(name, false, &[]);
}

macro_rules! programs {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                passes(stringify!($name));
            }
        )*
    };
}

programs! {
    trees sizes kinds finalizers links threads settings fork callbacks disable others handover dls displacements queue roots unload
    stacks loader storm collectors idle masked confined threadless nested left waits throws spike limited
}

#[test]
fn programs_are_linked_with_the_archive() {
    for name in ["trees", "kinds", "threads", "dls"] {
        passes_with(name, true, &[]);
    }
}

#[test]
fn heaps_are_verified() {
    for name in ["trees", "kinds", "links", "callbacks", "stacks"] {
        passes_with(name, false, &[("HEAPWOOD", "verify=on")]);
    }
}

#[test]
fn collections_come_at_every_nth_allocation() {
    for name in ["trees", "sizes", "links", "threads", "handover"] {
        passes_with(name, false, &[("HEAPWOOD_LIBGC_STRESS", "20000,3")]);
    }
}

#[test]
fn no_function_is_a_cancellation_point() {
    let variables =
        [("HEAPWOOD", "process_memory=512MiB"), ("GC_PRINT_STATS", "1"), ("GC_LOG_FILE", "/dev/null")];
    passes_with("cancel", false, &variables[..1]);
    passes_with("cancel", false, &variables);
}

#[test]
fn the_environment_is_read() {
    passes_with(
        "trees",
        false,
        &[("GC_MARKERS", "1"), ("GC_INITIAL_HEAP_SIZE", "8M"), ("GC_PRINT_STATS", "1")],
    );
    let Some(program) = compile("trees", false) else { return };
    let ran = |name: &str, value: &str| {
        let mut command = Command::new(&program);
        command.env("LD_LIBRARY_PATH", folder()).env(name, value).output().unwrap()
    };
    // Its own check that it was collected fails.
    for (name, value) in [("GC_DONT_GC", "1"), ("GC_INITIAL_HEAP_SIZE", "4G")] {
        let output = ran(name, value);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && told.contains("GC_get_gc_no() > 0"), "{name}: {told}");
    }
    let told = ran("GC_PRINT_STATS", "1").stderr;
    assert!(String::from_utf8_lossy(&told).contains("World-stopped marking took "));
    let told = ran("HEAPWOOD_LIBGC_STRESS", "many").stderr;
    assert!(String::from_utf8_lossy(&told).contains("must be a number of allocations"));
}
