//! Errors name the cause, without a panic: exit code 2 for a wrong command line, 1 for a run that failed. The help
//! names everything.

use crate::common::*;

/// A run that must end with `code` and print all of `words` on standard error.
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
fn wrong_numbers_name_the_range() {
    for command in ["run", "bench"] {
        for workload in heapwood_workloads::ALL.iter().map(|w| w.name) {
            let fails = |n: &str, words: &[&str]| fails(&format!("{command} {workload} {n}"), 2, words);
            fails("-5", &["-5", "must not be negative"]);
            fails("0", &["'0'", "at least 1"]);
            for text in ["many", "1.5", "10x"] {
                fails(
                    text,
                    &[text, "whole number", "the depth of trees (21)", "gcbench", "churn", "mixed", "mark"],
                );
            }
            fails("99999999999999999999", &["99999999999999999999", "below 2^64"]);
            fails("18446744073709551615", &[workload, "18446744073709551615", "1 to", "usually"]);
        }
        for (args, words) in [
            ("trees 41", "1 to 40"),
            ("gcbench 31", "1 to 30"),
            ("mark 2147483649", "2147483648"),
            ("map 2147483649", "2147483648"),
        ] {
            fails(&format!("{command} {args}"), 2, &[words]);
        }
    }
}

#[test]
fn wrong_numbers_of_threads_name_the_range() {
    for command in ["run", "bench"] {
        for workload in heapwood_workloads::ALL.iter().map(|w| w.name) {
            let fails = |threads: &str, words: &[&str]| {
                fails(&format!("{command} {workload} 6 --threads {threads}"), 2, words)
            };
            fails("0", &["--threads", "'0'", "at least 1"]);
            fails("-2", &["--threads", "must not be negative"]);
            fails("two", &["--threads", "two", "whole number of threads"]);
            fails("99999999999999999999", &["--threads", "below 2^64"]);
            let many = match workload {
                "mark" | "weak" | "finalize" | "weakmap" => [
                    format!("{workload} runs on one thread, not 18446744073709551615"),
                    "the heap as a whole".into(),
                ],
                _ => ["1 to 1024 threads (usually".into(), "18446744073709551615".into()],
            };
            fails("18446744073709551615", &many.each_ref().map(String::as_str));
        }
        fails(&format!("{command} mark 6 --threads 2"), 2, &["mark runs on one thread, not 2"]);
        fails(&format!("{command} trees 6 --threads 1025"), 2, &["trees", "1 to 1024 threads", "1025"]);
        fails(&format!("{command} trees 6 --threads"), 2, &["--threads", "value"]);
    }
}

#[test]
#[ignore = "of the long suite: under load the threads that have started find no addresses for a signal stack, and std panics"]
fn threads_that_cannot_start_are_named() {
    // There are too few addresses for that many stacks.
    let command = format!(
        "ulimit -v 400000; exec '{}' run rand-small 1 --threads 1024",
        env!("CARGO_BIN_EXE_heapwood")
    );
    let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains(" of 1024 cannot be started: ") && err.contains("use fewer"), "{err}");
    assert_eq!((err.lines().count(), output.stdout.len()), (1, 0), "{err}");
}

#[test]
fn sizes_that_the_machine_cannot_hold_are_errors() {
    for command in ["run", "bench"] {
        for depth in [37, 40] {
            let words = [&format!("trees with a depth of {depth}")[..], "memory", "machine"];
            fails(&format!("{command} trees {depth}"), 1, &words);
        }
        // The live data of each thread count.
        let words = ["churn with a number of replacements of 5 on each of 1024 threads", "memory", "machine"];
        fails(&format!("{command} churn 5 --threads 1024"), 1, &words);
    }
}

#[test]
fn limits_that_are_too_small_name_the_cause() {
    for args in [
        "run trees 17 --limit 4MiB",
        "run trees 17 --limit 4MiB --json",
        "run churn 1000 --limit 64MiB",
        "run mixed 1000 --limit 64MiB",
        "run mark 1000000 --limit 16MiB",
        "run graph 1000000 --limit 64MiB",
        "run map 1000000 --limit 32MiB",
    ] {
        let limit = args.split("--limit ").nth(1).unwrap();
        let bytes = (limit.split("MiB").next().unwrap().parse::<u64>().unwrap() << 20).to_string();
        fails(args, 1, &["heapwood: out of memory", "limit", &bytes, "alive"]);
    }
}

#[test]
fn wrong_options_name_the_cause() {
    fails(
        "run trees 8 --limit 1MiB",
        2,
        &["--limit", "1MiB", "option limit is 1 MiB: it must be at least 4 MiB; choose"],
    );
    fails("run trees 8 --limit 0", 2, &["--limit", "at least 4 MiB"]);
    fails("run trees 8 --limit lots", 2, &["--limit", "lots", "number"]);
    fails("run trees 8 --limit 64parsecs", 2, &["--limit", "64parsecs", "64MiB"]);
    fails("run trees 8 --limit -64MiB", 2, &["--limit", "-64MiB"]);
    fails("run trees 8 --limit -1", 2, &["--limit", "-1"]);
    fails("run trees 8 --limit 99999999999GiB", 2, &["--limit", "99999999999GiB", "memory"]);
    fails("run trees 8 --limit", 2, &["--limit", "value"]);
    for percent in ["0", "-50", "100001", "99999999999", "half", "1.5"] {
        fails(&format!("run trees 8 --percent {percent}"), 2, &["--percent", percent, "1 to 100000"]);
    }
    fails(
        "run trees 8 --mask-words 257",
        2,
        &["--mask-words", "option mask_words is 257: it must be 0 to 256"],
    );
    fails("run trees 8 --process-memory 1MiB", 2, &["--process-memory", "at least 16 MiB"]);
    fails("run trees 8 --conservative-stacks", 2, &["--conservative-stacks"]);
    fails("run trees 8 --fast", 2, &["--fast"]);
    fails("run trees 8 9", 2, &["9"]);
    fails("run forests 8", 2, &["forests", "trees", "churn", "mark"]);
    fails("run", 2, &["workload"]);
    fails("walk", 2, &["walk"]);
    fails("", 2, &["usage", "run"]);
}

#[test]
fn a_full_output_is_an_error() {
    for args in ["run trees 6", "run trees 6 --json", "run mark 100", "doctor", "doctor --json"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command(args).stdout(full).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(err.starts_with("heapwood: the output could not be written: No space left"), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
}

#[test]
fn numbers_that_are_not_text_are_errors() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let output = command("run trees").arg(OsStr::from_bytes(b"\xff\xfe")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "));
}

#[test]
fn the_help_names_everything() {
    for (args, words) in [
        (
            "run --help",
            "trees gcbench churn mixed mark graph map --percent --limit --verify --json 64MiB 150 21 20000000 4000000 \
             8000000",
        ),
        (
            "bench --help",
            "trees gcbench churn mixed mark graph map 21 20000000 4000000 --peers java-serial none --runs --json --plot \
             --peers-dir --build-dir 130 median",
        ),
        ("doctor --help", "--json ok note warning 0 2"),
        ("--help", "run bench doctor --help --version"),
    ] {
        let help = output(args);
        for word in words.split(' ') {
            assert!(help.contains(word), "{args}: {word} is missing:\n{help}");
        }
    }
    assert_eq!(output("--version"), format!("heapwood {}\n", env!("CARGO_PKG_VERSION")));
}
