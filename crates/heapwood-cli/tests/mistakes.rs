//! What is wrong is said in words, with the cause and without a panic: exit code 2 for a wrong command line, 1 for a
//! run that failed. And the help names everything there is.

mod common;

use common::*;

/// A run that must end with `code`, saying all of `words` on standard error.
fn fails(args: &str, code: i32, words: &[&str]) {
    let ran = heapwood(args);
    assert_eq!(ran.code, Some(code), "heapwood {args}: {ran:?}");
    let err = ran.err.to_lowercase();
    for word in words {
        assert!(err.contains(&word.to_lowercase()), "heapwood {args} does not say {word:?}:\n{}", ran.err);
    }
    for word in ["panicked", "backtrace", "unwrap", "src/"] {
        assert!(!err.contains(word), "heapwood {args} says {word:?}:\n{}", ran.err);
    }
}

#[test]
fn wrong_numbers() {
    for workload in ["trees", "churn", "mark"] {
        fails(&format!("run {workload} -5"), 2, &["-5", "must not be negative"]);
        fails(&format!("run {workload} 0"), 2, &["'0'", "at least 1"]);
        fails(&format!("run {workload} many"), 2, &["many", "whole number"]);
        fails(&format!("run {workload} 1.5"), 2, &["1.5", "whole number"]);
        fails(&format!("run {workload} 10x"), 2, &["10x", "whole number"]);
        fails(&format!("run {workload} 99999999999999999999"), 2, &["99999999999999999999", "larger"]);
    }
}

#[test]
fn sizes_that_the_machine_cannot_hold() {
    for depth in [44u64, 63, 64, 100, 127, 1000, u32::MAX as u64, 1 << 32, (1 << 32) + 8, u64::MAX] {
        fails(&format!("run trees {depth}"), 1, &[&format!("trees of depth {depth}"), "memory", "machine"]);
    }
    fails("run mark 9999999999", 1, &["9999999999", "2147483648"]);
    fails(&format!("run mark {}", u64::MAX), 1, &[&u64::MAX.to_string()]);
}

#[test]
fn limits_that_are_too_small() {
    for args in [
        "run trees 17 --limit 4MiB",
        "run trees 17 --limit 4MiB --json",
        "run churn 1000 --limit 64MiB",
        "run mark 1000000 --limit 16MiB",
    ] {
        let limit = args.split("--limit ").nth(1).unwrap();
        let bytes = (limit.split("MiB").next().unwrap().parse::<u64>().unwrap() << 20).to_string();
        fails(args, 1, &["heapwood: out of memory", "limit", &bytes, "alive"]);
    }
}

#[test]
fn wrong_options() {
    fails("run trees 8 --limit 1MiB", 2, &["--limit", "1MiB", "4.0 MiB"]);
    fails("run trees 8 --limit 0", 2, &["--limit", "4.0 MiB"]);
    fails("run trees 8 --limit lots", 2, &["--limit", "lots", "number"]);
    fails("run trees 8 --limit 64parsecs", 2, &["--limit", "64parsecs", "64MiB"]);
    fails("run trees 8 --limit -64MiB", 2, &["--limit", "-64MiB"]);
    fails("run trees 8 --limit -1", 2, &["--limit", "-1"]);
    fails("run trees 8 --limit 99999999999GiB", 2, &["--limit", "99999999999GiB", "memory"]);
    fails("run trees 8 --limit", 2, &["--limit", "value"]);
    for percent in ["0", "-50", "100001", "99999999999", "half", "1.5"] {
        fails(&format!("run trees 8 --percent {percent}"), 2, &["--percent", percent]);
    }
    fails("run trees 8 --fast", 2, &["--fast"]);
    fails("run trees 8 9", 2, &["9"]);
    fails("run forests 8", 2, &["forests", "trees", "churn", "mark"]);
    fails("run", 2, &["workload"]);
    fails("walk", 2, &["walk"]);
    fails("", 2, &["usage", "run"]);
}

#[test]
fn an_output_that_is_full() {
    for args in ["run trees 6", "run trees 6 --json", "run mark 100", "run churn 1"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command(args).stdout(full).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(err.starts_with("heapwood: the output could not be written: No space left"), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
}

#[test]
fn numbers_that_are_not_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let output = command("run trees").arg(OsStr::from_bytes(b"\xff\xfe")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "));
}

#[test]
fn the_help_names_everything() {
    let help = output("run --help");
    for word in ["trees", "churn", "mark", "--percent", "--limit", "--verify", "--json", "64MiB", "150"] {
        assert!(help.contains(word), "{word} is missing:\n{help}");
    }
    for default in ["21", "20000000", "8000000"] {
        assert!(help.contains(default), "{default} is missing:\n{help}");
    }
    let help = output("--help");
    for word in ["run", "--help", "--version"] {
        assert!(help.contains(word), "{word} is missing:\n{help}");
    }
    assert_eq!(output("--version"), format!("heapwood {}\n", env!("CARGO_PKG_VERSION")));
}
