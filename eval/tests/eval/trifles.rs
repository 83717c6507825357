//! Details of input and output: endless files, escape codes in names, unlikely file names, output that cannot be
//! written.

use crate::common::*;
use heapwood_report::testing::fails as command_fails;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

#[test]
fn endless_samples_are_errors() {
    for command in ["replay", "simulate"] {
        let mut endless = EVAL.within(4 << 20, &format!("{command} /dev/zero"));
        command_fails(&mut endless, 1, &["/dev/zero", "larger than 256.0 MiB", "page sample"]);
        let folder = std::env::temp_dir();
        let folder = folder.display();
        command_fails(
            &mut EVAL.within(4 << 20, &format!("{command} {folder}")),
            1,
            &["cannot be read", "directory"],
        );
        let mut piped = EVAL.within(4 << 20, &format!("{command} /dev/stdin"));
        let mut zeros = Command::new("cat").arg("/dev/zero").stdout(Stdio::piped()).spawn().unwrap();
        piped.stdin(OwnedFd::from(zeros.stdout.take().unwrap()));
        command_fails(&mut piped, 1, &["/dev/stdin", "larger than 256.0 MiB"]);
        drop(piped);
        zeros.wait().unwrap();
    }
}

#[test]
fn a_sample_may_come_through_a_pipe() {
    let sample = File::new("piped.json");
    sample_of_trees(8, &sample);
    let file = std::fs::File::open(sample.path()).unwrap();
    let mut cat = Command::new("cat").stdin(file).stdout(Stdio::piped()).spawn().unwrap();
    let mut replay = command("replay /dev/stdin --pages 1 --runs 1");
    let output = replay.stdin(OwnedFd::from(cat.stdout.take().unwrap())).output().unwrap();
    assert!(cat.wait().unwrap().success());
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    for args in ["--help", "--version", "help pages", "simulate -h", "layouts --help"] {
        EVAL.cannot_write(args);
    }
    // Standard error is closed, but the exit code is that of the error.
    for args in ["forests", "pages --heap 0", "replay /nowhere"] {
        EVAL.cannot_complain(args);
    }
}

#[test]
fn names_in_messages_have_no_escape_codes() {
    let sample = File::new("codes.json");
    sample_of_trees(6, &sample);
    for (args, before, after) in [
        ("replay", "", ""),
        ("simulate", "", ""),
        (&format!("simulate {sample} --moment"), "", ""),
        (&format!("simulate {sample} --moment exit --plot"), "/no/", ".svg"),
        (&format!("simulate {sample} --plot"), "", ".png"),
        ("pages --heap", "", ""),
        ("replay x --pages", "", ""),
        ("", "", ""),
    ] {
        EVAL.shows_codes(args, before, after);
    }
    // In a file that is shown.
    let text = std::fs::read_to_string(sample.path()).unwrap().replace("trees 6", "tr\\u001b[31mees");
    let shown = File::with("shown.json", text);
    let out = output(&format!("replay {shown} --pages 1 --runs 1"));
    assert!(out.contains("tr\\u{1b}[31mees") && !out.contains('\x1b'), "{out:?}");
}

#[test]
fn a_name_that_is_plain_is_shown_as_it_is() {
    let ran = ran("replay /no/such/naïve-file.json");
    assert!(ran.err.contains("the page sample /no/such/naïve-file.json cannot"), "{}", ran.err);
}

#[test]
fn unlikely_file_names_are_errors_before_anything_runs() {
    let sample = File::new("meant.json");
    sample_of_trees(6, &sample);
    let folder = folder("meant");
    for (args, code, words) in [
        (&format!("simulate {sample} --plot x.png"), 2, &["--plot", "x.png", "SVG"][..]),
        (&format!("simulate {sample} --plot -"), 2, &["--plot", "standard output"]),
    ] {
        command_fails(command(args).current_dir(&folder), code, words);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{args}");
    }
    for name in ["x.svg", "x.SVG", "x"] {
        let args = format!("simulate {sample} --moment exit --mutators 1 --plot {name}");
        let ran = command(&args).current_dir(&folder).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        std::fs::remove_file(folder.join(name)).unwrap();
    }
}

/// A folder of the test's own.
fn folder(test: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
