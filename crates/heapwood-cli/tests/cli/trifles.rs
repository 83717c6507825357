//! Details of input and output: escape codes in names, unlikely file names, output that cannot be
//! written, options without effect.

use crate::common::*;
use heapwood_report::page_samples::SampleFile;
use heapwood_report::testing::fails;
use std::process::{Command, Stdio};

#[test]
fn help_that_cannot_be_written_is_an_error() {
    for args in ["--help", "--version", "run --help", "help layout", "layout show -h", "bench --help"] {
        HEAPWOOD.cannot_write(args);
    }
    // Standard error is closed, but the exit code is that of the error.
    for args in ["run forests", "run trees 37", "layout show /nowhere"] {
        HEAPWOOD.cannot_complain(args);
    }
}

#[test]
fn names_in_messages_have_no_escape_codes() {
    for (args, before, after) in [
        ("run trees 4 --page-sample", "/no/", ""),
        ("bench trees 4 --peers none --plot", "/no/", ".svg"),
        ("bench trees 4 --peers none --plot", "", ".png"),
        ("bench trees 4 --peers", "", ""),
        ("bench trees 4 --peers-dir", "", ""),
        ("layout show", "", ""),
        ("run", "", ""),
        ("run trees", "", ""),
        ("run trees 4 --limit", "", ""),
        ("run trees 4", "--", ""),
        ("", "", ""),
    ] {
        HEAPWOOD.shows_codes(args, before, after);
    }
}

#[test]
fn unlikely_file_names_are_errors_before_anything_runs() {
    let folder = folder("meant");
    for (args, code, words) in [
        ("run trees 4 --page-sample -", 2, &["--page-sample", "'-'", "standard output", "file"][..]),
        ("bench trees 4 --peers none --plot -", 2, &["--plot", "'-'", "standard output"]),
        ("bench trees 4 --peers none --plot x.png", 2, &["--plot", "x.png", "SVG", "x.svg"]),
        ("bench trees 4 --peers none --plot a.b/x.jpeg", 2, &["--plot", "SVG", "x.svg"]),
    ] {
        fails(command(args).current_dir(&folder), code, words);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{args}");
    }
    for name in ["x.svg", "x.SVG", "x"] {
        let args = format!("bench trees 4 --peers none --runs 1 --plot {name}");
        let ran = command(&args).current_dir(&folder).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        std::fs::remove_file(folder.join(name)).unwrap();
    }
}

#[test]
fn page_samples_are_read_back() {
    let file = File::new("sample.json");
    output(&format!("run trees 10 --page-sample {file}"));
    let (program, moments) = SampleFile::read(file.path()).unwrap();
    assert_eq!(program, "trees 10");
    let names: Vec<&str> = moments.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"peak") && names.contains(&"exit"), "{names:?}");
    for (name, sample) in &moments {
        assert!(sample.grown_pages() > sample.free_pages(), "{name}");
    }
}

#[test]
fn every_spelling_of_no_peers_needs_no_list() {
    let command_of = |peers: &str, more: &str| {
        let mut bench = command(&format!("bench trees 6 --runs 1 {more} --peers"));
        let output = bench.arg(peers).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && err.is_empty(), "{bench:?}: {err}");
        out.lines().next().unwrap().split('`').nth(1).unwrap().to_string()
    };
    for peers in ["", "none", " ", ",", "none,", " none "] {
        for more in ["", "--peers-dir /nonexistent"] {
            let said = command_of(peers, more);
            assert_eq!(said, "heapwood bench trees 6 --peers none --runs 1", "{peers:?} {more}");
        }
    }
    fails(&mut command("bench trees 6 --peers-dir /nonexistent"), 1, &["/nonexistent/peers.toml"]);
}

#[test]
fn the_reservation_and_the_thread_are_options() {
    let figures = json("run trees 10 --address-space 64MiB --no-background-release");
    assert_eq!(figures["lines"][0]["nodes"], 4095);
    fails(&mut command("run trees 22 --address-space 16MiB"), 1, &["would need", "--address-space"]);
    fails(&mut command("run trees 6 --address-space 1MiB"), 2, &["--address-space", "16 MiB", "16 TiB"]);
    fails(&mut command("run trees 6 --address-space 17TiB"), 2, &["--address-space", "16 MiB", "16 TiB"]);
    fails(&mut command("run trees 6 --address-space lots"), 2, &["--address-space", "64MiB"]);
    let help = output("run --help");
    assert!(help.contains("--address-space <SIZE>") && help.contains("--no-background-release"), "{help}");
}

/// The largest number of threads of a run, as seen from outside.
fn threads(args: &str) -> usize {
    let mut child = command(args).stdout(Stdio::null()).spawn().unwrap();
    let tasks = format!("/proc/{}/task", child.id());
    let mut most = 0;
    let status = loop {
        most = most.max(std::fs::read_dir(&tasks).map_or(0, Iterator::count));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
    };
    assert!(status.success(), "{args}: {status}");
    most
}

#[test]
fn without_background_release_there_is_one_thread() {
    assert_eq!(threads("run trees 12"), 2);
    assert_eq!(threads("run trees 12 --no-background-release"), 1);
}

#[test]
fn without_proc_the_error_names_the_next_step() {
    let hidden = |then: &str| {
        let line = format!("mount -t tmpfs none /proc && {then}");
        Command::new("unshare").args(["--map-root-user", "--mount", "sh", "-c", &line]).output()
    };
    if !hidden("true").is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: /proc cannot be hidden: this process may not mount anything");
        return;
    }
    let output = hidden(&format!("exec '{}' run trees 4", env!("CARGO_BIN_EXE_heapwood"))).unwrap();
    // Some C libraries know the end of the main thread's stack without it.
    if output.status.success() {
        return;
    }
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("stack ends") && err.contains("mount -t proc proc /proc"), "{err}");
}

#[test]
fn a_picture_that_cannot_be_written_is_an_error_before_anything_runs() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    for file in [folder, &format!("{folder}/no-such-folder/x"), "/dev/full"] {
        // The measured run would fail, too, with another error.
        let mut command = command(&format!("bench trees 18 --peers none --runs 1 --plot {file}"));
        fails(
            command.env("HEAPWOOD", "limit=4MiB"),
            1,
            &["the picture cannot be written to", file, "(os error "],
        );
    }
}

#[test]
fn a_workload_without_peers_says_so() {
    let err = |args: &str| {
        let ran = heapwood(args);
        assert_eq!(ran.code, Some(0), "{args}: {ran:?}");
        ran.err
    };
    assert!(err("bench trees 6 --share --runs 1").contains("no peer has trees-shared: Heapwood runs alone"));
    assert_eq!(err("bench trees 6 --share --runs 1 --peers none"), "");
}

#[test]
fn an_argument_that_is_neither_has_both_errors_in_order() {
    fails(&mut command("layout show {"), 2, &["\"{\" is neither a type: ", "; nor a file: "]);
    fails(&mut command("bench trees 6 --ab ="), 2, &["names no setting before its values", "KEY=A,B"]);
}
