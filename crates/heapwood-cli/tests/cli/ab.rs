//! `heapwood bench --ab`: both settings reach the measured program, all output formats agree, and settings that cannot
//! be compared are errors.

use crate::common::*;
use serde_json::Value;

/// `heapwood bench ARGS` with this in the variable HEAPWOOD.
fn bench(variable: &str, args: &str) -> Ran {
    let ran = Ran::of(command(&format!("bench {args}")).env("HEAPWOOD", variable));
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    ran
}

/// The output of a run that must succeed.
fn printed(args: &str) -> String {
    let ran = bench("", args);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{args}");
    ran.out
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn samples(report: &Value, quantity: &str, side: &str) -> Vec<f64> {
    let quantities = report["quantities"].as_array().unwrap();
    let found = quantities.iter().find(|q| q["name"] == quantity);
    let found = found.unwrap_or_else(|| panic!("no {quantity}: {report}"));
    let samples = found[side]["samples"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap());
    samples.collect()
}

const ARGS: &str = "trees 6 --ab generational=off,auto --runs 3";

#[test]
fn the_table_has_a_line_for_each_quantity() {
    let out = printed(ARGS);
    let lines = squeezed(&out);
    assert!(lines[0].starts_with(&format!("`heapwood bench {ARGS}`, ")), "{out}");
    assert!(
        out.contains("Median of 3 runs") && out.contains("fewer than 6 have no 95 % confidence interval"),
        "{out}"
    );
    let header = "| | generational=off | generational=auto | delta | p | n |";
    let at = lines.iter().position(|line| line == header).unwrap_or_else(|| panic!("{out}"));
    for (k, label) in ["CPU s", "wall s", "max RSS MiB"].iter().enumerate() {
        let cells: Vec<&str> = lines[at + 2 + k].split(" | ").collect();
        assert_eq!((cells[0], cells[5]), (format!("| {label}").as_str(), "3 |"), "{out}");
        // Three runs are too few for an interval or a difference.
        assert!(!cells[1].contains('±') && !cells[2].contains('±') && cells[3] == "~", "{out}");
    }
    assert!(lines[at + 5].starts_with("| geometric mean, s | ") && lines.len() == at + 6, "{out}");
}

#[test]
fn json_has_every_sample() {
    let out = printed(&format!("{ARGS} --json"));
    let report = json_of(&out);
    let of = |key: &str| report[key].clone();
    assert_eq!((of("workload"), of("n"), of("threads")), ("trees".into(), 6.into(), 1.into()));
    assert_eq!((of("runs"), of("setting")), (3.into(), "generational".into()));
    assert_eq!(of("command"), format!("heapwood bench {ARGS}"));
    let names = [&report["settings"][0]["name"], &report["settings"][1]["name"]];
    assert_eq!(names, ["generational=off", "generational=auto"]);
    for quantity in ["cpu_s", "wall_s", "max_rss_bytes"] {
        for side in ["a", "b"] {
            let samples = samples(&report, quantity, side);
            assert!(samples.len() == 3 && samples.iter().all(|&v| v > 0.0), "{quantity}: {report}");
        }
    }
    for quantity in report["quantities"].as_array().unwrap() {
        assert_eq!((&quantity["n"], &quantity["differs"]), (&3.into(), &false.into()), "{quantity}");
        // With three runs each the smallest p is 0.1.
        assert!(
            quantity["p"].as_f64().unwrap() > 0.08 && quantity["delta_percent"].is_number(),
            "{quantity}"
        );
    }
    let means = report["geometric_means"].as_array().unwrap();
    assert_eq!((means.len(), &means[0]["unit"]), (1, &"s".into()), "{report}");
    let by_format = json_of(&printed(&format!("{ARGS} --format json")));
    let keys = |report: &Value| report.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&by_format), keys(&report));
}

/// The names, without the number of processors, and the units of lines in Go's benchmark format.
fn gobench(out: &str) -> Vec<(String, Vec<String>)> {
    let mut lines = out.lines();
    assert!(lines.next().unwrap().starts_with("# `heapwood bench "), "{out}");
    assert_eq!(lines.next(), Some("goos: linux"));
    assert!(lines.next().unwrap().starts_with("goarch: ") && lines.next() == Some("pkg: heapwood"), "{out}");
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            assert!(fields.len() >= 4 && fields.len().is_multiple_of(2) && fields[1] == "1", "{line}");
            let (name, processors) = fields[0].rsplit_once('-').unwrap();
            assert!(processors.parse::<u32>().unwrap() > 0, "{line}");
            for pair in fields[2..].chunks(2) {
                assert!(pair[0].parse::<f64>().unwrap() > 0.0, "{line}");
            }
            (name.to_string(), fields[3..].iter().step_by(2).map(|unit| unit.to_string()).collect())
        })
        .collect()
}

#[test]
fn benchstat_gets_a_line_for_each_run() {
    let units = ["ns/op", "cpu-ns/op", "max-RSS-bytes"].map(String::from).to_vec();
    let lines = gobench(&printed(&format!("{ARGS} --format gobench")));
    let line = |setting: &str| (format!("BenchmarkTrees/n=6/generational={setting}"), units.clone());
    assert_eq!(lines, [vec![line("off"); 3], vec![line("auto"); 3]].concat());
    let lines = gobench(&printed("trees 6 --threads 2 --peers none --runs 2 --format gobench"));
    assert_eq!(lines, vec![("BenchmarkTrees/n=6/threads=2/program=heapwood".into(), units.clone()); 2]);
    let lines =
        gobench(&printed("trees 6 --share --threads 2 --ab generational=off,auto --runs 1 --format gobench"));
    let line = |setting: &str| format!("BenchmarkTreesShared/n=6/threads=2/generational={setting}");
    assert_eq!([&lines[0].0, &lines[1].0], [&line("off"), &line("auto")]);
    // Figures in nanoseconds are lines of their own.
    let lines = gobench(&printed("mark 1000 --ab mark-threads=1,2 --runs 1 --format gobench"));
    assert_eq!(lines[0], ("BenchmarkMark/n=1000/mark_threads=1".into(), units));
    for setting in [1, 2] {
        let row = format!("BenchmarkMark/n=1000/row=shuffled/mark_threads={setting}");
        assert!(lines.contains(&(row, vec!["ns/op".into()])), "{lines:?}");
    }
}

/// A heap that may collect from 1 MiB on keeps less than half of one that never does. (Young collections would.)
#[test]
#[ignore = "of the long suite: memory that the kernel counts"]
fn both_settings_are_measured() {
    let ran = bench("generational=off", "trees 14 --ab min_heap=1MiB,1GiB --runs 2 --json");
    let report = json_of(&ran.out);
    let [small, large] = ["a", "b"].map(|side| samples(&report, "max_rss_bytes", side));
    for (small, large) in small.iter().zip(&large) {
        assert!(2.0 * small < *large, "{report}");
    }
}

#[test]
fn a_setting_that_fails_is_named() {
    for (variable, settings, failing) in [
        ("", "limit=1GiB,32MiB", "limit=32MiB"),
        ("", "limit=32MiB,1GiB", "limit=32MiB"),
        // The user's variable stays, except for the compared option.
        ("limit=32MiB", "percent=7,8", "percent=7"),
        ("limit=1GiB", "limit=2GiB,32MiB", "limit=32MiB"),
    ] {
        let ran = bench(variable, &format!("churn 1 --ab {settings} --runs 1"));
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{settings}: {}", ran.err);
        assert!(ran.err.starts_with(&format!("heapwood: {failing} (")), "{settings}: {}", ran.err);
        assert!(ran.err.contains("out of memory") && ran.err.contains("33554432"), "{}", ran.err);
    }
    let out = bench("verify=on", "trees 6 --ab percent=7,8 --runs 1").out;
    assert!(
        out.starts_with("`HEAPWOOD=verify=on heapwood bench trees 6 --ab percent=7,8 --runs 1`"),
        "{out}"
    );
}

#[test]
fn settings_that_cannot_be_compared_are_errors() {
    for (args, words) in [
        ("--ab percent", &["--ab", "names no values", "KEY=A,B"][..]),
        ("--ab percent=7", &["one value of percent", "two are compared"]),
        ("--ab percent=7,8,9", &["more than two values of percent"]),
        ("--ab percent=7,7", &["the same value of percent", "give two that differ"]),
        ("--ab percent=0,7", &["option percent is 0", "1 to 100000"]),
        ("--ab percnt=7,8", &["percnt", "is percent meant", "prefetch"]),
        ("--ab prefetch=off,most", &["prefetch cannot be most", "off, object"]),
        ("--ab percent=7,8 --peers none", &["--ab", "--peers"]),
        ("--ab percent=7,8 --equal-rss go", &["--ab", "--equal-rss"]),
        ("--ab percent=7,8 --plot x.svg", &["--ab", "--plot"]),
        ("--json --format table", &["--json", "--format"]),
        ("--format csv", &["csv", "table", "json", "gobench"]),
    ] {
        let ran = bench("", &format!("trees 6 {args}"));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{args}: {}", ran.err);
        for word in words {
            assert!(ran.err.contains(word), "{args} does not say {word:?}: {}", ran.err);
        }
    }
}

#[test]
fn a_build_without_cargo_names_what_is_missing() {
    let ran =
        Ran::of(command("bench trees 6 --ab prefetch=off,object --runs 1").env("PATH", "/no/such/folder"));
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
    for word in ["heapwood with prefetch=off could not be built", "cargo is not on PATH", "rustup"] {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
}

#[test]
fn the_help_names_the_settings() {
    let help = output("bench --help");
    for word in
        ["--ab <KEY=A,B>", "huge_pages=on,off", "prefetch", "object (", "gobench", "benchstat", "confidence"]
    {
        assert!(help.contains(word), "{word} is missing:\n{help}");
    }
}
