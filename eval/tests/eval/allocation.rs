//! `allocation`: every lock is measured in every program, all have the same results, and the report is complete. Speed is
//! not tested.

use crate::common::*;
use serde_json::Value;

const TINY: &str = "allocation --iterations 1,2 --depth 6 --threads 1,3 --runs 2";
const WAYS: [&str; 4] = ["none", "owned", "mutex", "monitor"];

#[test]
fn every_lock_is_measured_in_every_program() {
    let report = json(TINY);
    assert_eq!(report["runs"], 2);
    assert_eq!(report["command"], format!("heapwood-eval {TINY}"));
    let locks = report["locks"].as_array().unwrap();
    assert!(locks.iter().map(|lock| lock["name"].as_str().unwrap()).eq(WAYS));
    for lock in locks {
        check_spread(&lock["ns"]);
    }

    let cases = report["cases"].as_array().unwrap();
    let mut expected = Vec::new();
    for program in ["rand-large 1", "rand-large 2", "rand-small 1", "rand-small 2", "tree1 6"] {
        // One thread.
        expected.extend(WAYS.map(|way| (program, way, 1)));
        expected.extend(WAYS[1..].iter().map(|way| (program, *way, 3)));
    }
    let found = |case: &'_ Value| (case["program"].clone(), case["lock"].clone(), case["threads"].clone());
    assert_eq!(cases.len(), expected.len());
    for (case, (program, way, threads)) in cases.iter().zip(expected) {
        assert_eq!(found(case), (program.into(), way.into(), threads.into()));
        for figure in ["wall_s", "ns_each", "over_owned", "scaling"] {
            check_spread(&case[figure]);
        }
        for phase in ["prep", "stop", "mark", "sweep", "recovery", "total"] {
            assert!(case["phases_ms"][phase]["median"].as_f64() >= Some(0.0), "{case}");
        }
        if way == "owned" {
            assert_eq!(case["over_owned"]["max"], 1.0);
        }
        if threads == 1 {
            assert_eq!(case["scaling"]["max"], 1.0);
        }
    }
}

#[test]
fn the_tables_name_everything() {
    let text = output("allocation --iterations 1 --depth 6 --threads 2 --runs 1");
    let lines = squeezed(&text);
    for header in [
        "| lock | ns | less than the monitor |",
        "| lock | threads | wall s | x | ns each | scaling | collections | prep ms | mark | sweep | page recovery | grand total |",
    ] {
        assert!(lines.iter().any(|line| line == header), "{header}: {text}");
    }
    for program in ["rand-large 1", "rand-small 1", "tree1 6"] {
        let at = lines.iter().position(|line| line == program).unwrap_or_else(|| panic!("{program}: {text}"));
        // Without a run on one thread there is nothing to scale from.
        for (k, way) in WAYS[1..].iter().enumerate() {
            let row = &lines[at + 4 + k];
            assert!(row.starts_with(&format!("| {way} | 2 | ")) && row.contains(" | - | "), "{row}: {text}");
        }
    }
}

#[test]
fn wrong_options_name_the_cause() {
    for (args, words) in [
        ("--threads 0", &["--threads", "1 to 256"][..]),
        ("--threads 1,many", &["many", "number of threads"]),
        ("--threads 257", &["257", "1 to 256"]),
        ("--iterations 0", &["--iterations", "0"]),
        ("--depth 25", &["--depth", "25"]),
        ("--depth -1", &["--depth", "-1"]),
        ("--runs 0", &["--runs", "0"]),
    ] {
        fails(&format!("allocation {args}"), 2, words);
    }
}
