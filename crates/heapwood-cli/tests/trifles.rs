//! Small things that mislead or surprise: files without an end, escape codes in names, names of files that cannot be
//! meant, percentages of nothing, output that goes nowhere, options that name what nobody needs.

mod common;

use common::*;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output, Stdio};

/// A run that must end with `code`, saying all of `words` on standard error and nothing else anywhere.
fn fails(command: &mut Command, code: i32, words: &[&str]) {
    let output = command.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(code), 0), "{command:?}: {err}");
    for word in words {
        assert!(err.contains(word), "{command:?} does not say {word:?}:\n{err}");
    }
    assert!(!err.contains("panicked"), "{err}");
}

/// The same command with at most so much address space, for those that would take the machine's memory.
fn within(kib: u64, args: &str) -> Command {
    let mut command = Command::new("sh");
    let line = format!("ulimit -v {kib}; exec '{}' {args}", env!("CARGO_BIN_EXE_heapwood"));
    command.args(["-c", &line]);
    command
}

#[test]
fn samples_without_end_are_refused() {
    for command in ["replay", "simulate"] {
        let mut endless = within(4 << 20, &format!("pages {command} /dev/zero"));
        fails(&mut endless, 1, &["/dev/zero", "larger than 256.0 MiB", "page sample"]);
        let folder = std::env::temp_dir();
        let folder = folder.display();
        fails(
            &mut within(4 << 20, &format!("pages {command} {folder}")),
            1,
            &["cannot be read", "directory"],
        );
        let mut piped = within(4 << 20, &format!("pages {command} /dev/stdin"));
        let mut zeros = Command::new("cat").arg("/dev/zero").stdout(Stdio::piped()).spawn().unwrap();
        piped.stdin(OwnedFd::from(zeros.stdout.take().unwrap()));
        fails(&mut piped, 1, &["/dev/stdin", "larger than 256.0 MiB"]);
        drop(piped);
        zeros.wait().unwrap();
    }
}

#[test]
fn a_sample_may_come_through_a_pipe() {
    let sample = File::new("piped.json");
    output(&format!("run trees 8 --page-sample {sample}"));
    let file = std::fs::File::open(sample.path()).unwrap();
    let mut cat = Command::new("cat").stdin(file).stdout(Stdio::piped()).spawn().unwrap();
    let mut replay = command("pages replay /dev/stdin --pages 1 --runs 1");
    let output = replay.stdin(OwnedFd::from(cat.stdout.take().unwrap())).output().unwrap();
    assert!(cat.wait().unwrap().success());
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn nothing_is_a_percentage_of_nothing() {
    for args in ["run trees 4", "run mark 1"] {
        let out = output(args);
        assert!(!out.contains("taken with a lock") && !out.contains("allocated 0 bytes"), "{out}");
        let line = out.lines().find(|line| line.starts_with("spans ")).unwrap();
        assert!(line.contains("locks taken ") && !line.contains('%'), "{line}");
        let figures = json(args);
        assert!(figures["allocated_bytes"].as_u64().unwrap() > 0, "{figures}");
        assert!(figures["spans"].as_u64().unwrap() > 0, "{figures}");
    }
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    for args in ["--help", "--version", "run --help", "help pages", "pages simulate -h", "bench --help"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command(args).stdout(full).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args}: {err}");
        assert!(err.starts_with("heapwood: the output could not be written: No space left"), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
        let closed = format!("exec '{}' {args} >&-", env!("CARGO_BIN_EXE_heapwood"));
        let closed = Command::new("sh").args(["-c", &closed]).output().unwrap();
        assert!(
            closed.stderr.is_empty() && closed.status.success(),
            "Rust opens /dev/null there: {closed:?}"
        );
    }
    // Nobody can be told, but the exit code is that of the mistake.
    for args in ["run forests", "run trees 37", "pages replay /nowhere"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let code = command(args).stderr(full).output().unwrap().status.code();
        assert_eq!(code, heapwood(args).code, "{args}");
        assert!(code == Some(1) || code == Some(2), "{args}: {code:?}");
    }
}

/// A run whose last argument has escape codes and a line end in it.
fn with_codes(args: &str, before: &str, after: &str) -> Output {
    let name = [before.as_bytes(), b"a\x1b]0;title\x07b\x1b[31mc\nd", after.as_bytes()].concat();
    command(args).arg(std::ffi::OsStr::from_bytes(&name)).output().unwrap()
}

#[test]
fn names_in_messages_have_no_escape_codes() {
    let sample = File::new("codes.json");
    output(&format!("run trees 6 --page-sample {sample}"));
    for (args, before, after) in [
        ("pages replay", "", ""),
        ("pages simulate", "", ""),
        (&format!("pages simulate {sample} --moment"), "", ""),
        (&format!("pages simulate {sample} --moment exit --plot"), "/no/", ".svg"),
        (&format!("pages simulate {sample} --plot"), "", ".png"),
        ("run trees 4 --page-sample", "/no/", ""),
        ("bench trees 4 --peers none --plot", "/no/", ".svg"),
        ("bench trees 4 --peers", "", ""),
        ("bench trees 4 --peers-dir", "", ""),
        ("bench trees 4 --peers none --equal-rss", "", ""),
        ("layout check", "", ""),
        ("layout show", "", ""),
        ("run", "", ""),
        ("run trees", "", ""),
        ("run trees 4 --limit", "", ""),
        ("run trees 4", "--", ""),
        ("", "", ""),
        ("bench pages --heap", "", ""),
        ("pages replay x --pages", "", ""),
    ] {
        let output = with_codes(args, before, after);
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(matches!(output.status.code(), Some(1 | 2)), "{args}: {err}");
        assert!(err.contains("\\u{1b}") && err.contains("c\\nd"), "{args}: {err:?}");
        assert!(err.chars().all(|c| c == '\n' || !c.is_control()), "{args}: {err:?}");
    }
    // In a file that is shown.
    let text = std::fs::read_to_string(sample.path()).unwrap().replace("trees 6", "tr\\u001b[31mees");
    let shown = File::with("shown.json", text);
    let out = output(&format!("pages replay {shown} --pages 1 --runs 1"));
    assert!(out.contains("tr\\u{1b}[31mees") && !out.contains('\x1b'), "{out:?}");
}

#[test]
fn a_name_that_is_plain_is_shown_as_it_is() {
    let ran = heapwood("pages replay /no/such/naïve-file.json");
    assert!(ran.err.contains("the page sample /no/such/naïve-file.json cannot"), "{}", ran.err);
}

#[test]
fn files_that_cannot_be_meant_are_refused_before_anything_runs() {
    let sample = File::new("meant.json");
    output(&format!("run trees 6 --page-sample {sample}"));
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("meant");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for (args, code, words) in [
        ("run trees 4 --page-sample -", 2, &["--page-sample", "'-'", "standard output", "file"][..]),
        ("bench trees 4 --peers none --plot -", 2, &["--plot", "'-'", "standard output"]),
        ("bench trees 4 --peers none --plot x.png", 2, &["--plot", "x.png", "SVG", "x.svg"]),
        ("bench trees 4 --peers none --plot a.b/x.jpeg", 2, &["--plot", "SVG", "x.svg"]),
        (&format!("pages simulate {sample} --plot x.png"), 2, &["--plot", "x.png", "SVG"]),
        (&format!("pages simulate {sample} --plot -"), 2, &["--plot", "standard output"]),
    ] {
        fails(command(args).current_dir(&folder), code, words);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{args}");
    }
    for name in ["x.svg", "x.SVG", "x"] {
        let args = format!(
            "pages simulate {sample} --moment exit --mutators 1 --cost-base-ns 5 --cost-page-ns 5 --plot {name}"
        );
        let ran = command(&args).current_dir(&folder).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        std::fs::remove_file(folder.join(name)).unwrap();
    }
}

#[test]
fn a_heap_larger_than_any_is_refused() {
    for heap in ["17TiB", "4MiB,256TiB"] {
        fails(&mut command(&format!("bench pages --heap {heap} --runs 1")), 2, &["--heap", "at most 16 TiB"]);
    }
}

#[test]
fn no_peers_can_be_said_in_any_way_and_need_no_list() {
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
    let none =
        |equal: &str| format!("bench trees 6 --peers none --peers-dir /nonexistent --equal-rss {equal}");
    fails(&mut command(&none("go")), 2, &["--equal-rss go", "none"]);
    fails(&mut command("bench trees 6 --peers-dir /nonexistent"), 1, &["/nonexistent/peers.toml"]);
}

#[test]
fn the_window_and_the_thread_are_options() {
    let figures = json("run trees 10 --reserve 64MiB --no-background-release");
    assert_eq!(figures["lines"][0]["nodes"], 4095);
    fails(&mut command("run trees 22 --reserve 16MiB"), 1, &["would need", "--reserve"]);
    fails(&mut command("run trees 6 --reserve 1MiB"), 2, &["--reserve", "16 MiB", "16 TiB"]);
    fails(&mut command("run trees 6 --reserve 17TiB"), 2, &["--reserve", "16 MiB", "16 TiB"]);
    fails(&mut command("run trees 6 --reserve lots"), 2, &["--reserve", "64MiB"]);
    let help = output("run --help");
    assert!(help.contains("--reserve <SIZE>") && help.contains("--no-background-release"), "{help}");
}

/// How many threads a run has at the most, as far as that is seen from outside.
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
fn without_proc_it_says_what_to_do() {
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
