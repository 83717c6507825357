//! `heapwood doctor` on this machine, and under a ulimit that it must find. Unit tests cover findings on other
//! machines.

use crate::common::*;
use serde_json::Value;
use std::process::Command;

const NAMES: [&str; 19] = [
    "kernel",
    "page size",
    "transparent huge pages",
    "huge page defrag",
    "huge page size",
    "huge pages, tried",
    "khugepaged max_ptes_none",
    "memory",
    "overcommit",
    "swap",
    "address space limit",
    "reservation",
    "data limit",
    "mappings",
    "MADV_DONTNEED",
    "MADV_FREE",
    "MADV_COLLAPSE",
    "MADV_POPULATE_WRITE",
    "membarrier",
];

/// Each finding of a report for machines, checked for its form.
fn checked(report: &Value) -> &[Value] {
    let findings = report["findings"].as_array().unwrap();
    let names: Vec<_> = findings.iter().map(|finding| finding["name"].as_str().unwrap()).collect();
    assert_eq!(names, NAMES);
    for finding in findings {
        assert_eq!(finding.as_object().unwrap().len(), 5, "{finding}");
        for key in ["found", "consequence"] {
            let text = finding[key].as_str().unwrap();
            assert!(!text.trim().is_empty() && !text.contains('\n'), "{finding}");
        }
        match finding["state"].as_str().unwrap() {
            "ok" => assert!(finding["remedy"].is_null(), "{finding}"),
            "note" | "warning" => {
                assert!(!finding["remedy"].as_str().unwrap().trim().is_empty(), "{finding}")
            }
            other => panic!("{other}: {finding}"),
        }
    }
    findings
}

/// The output of the command when a shell runs it after `first`.
fn after(first: &str, args: &str) -> Ran {
    let script = format!("{first} && exec \"$0\" {args}");
    Ran::of(Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_heapwood")]))
}

fn after_json(first: &str) -> Value {
    let ran = after(first, "doctor --json");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

fn finding<'a>(findings: &'a [Value], name: &str) -> &'a Value {
    findings.iter().find(|finding| finding["name"] == name).unwrap()
}

#[test]
fn text_has_every_finding() {
    let out = output("doctor");
    let mut names = NAMES.iter();
    let mut lines = out.lines().peekable();
    while let Some(line) = lines.next() {
        let (mark, rest) = line.split_once(' ').unwrap();
        let name = names.next().unwrap();
        assert!(rest.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with(": ")), "{line}");
        let more = lines.next_if(|next| next.starts_with("         "));
        match mark {
            "ok" => assert_eq!(more, None, "{line}"),
            "note" | "warning" => assert!(more.is_some_and(|more| more.len() > 20), "{line}"),
            _ => panic!("{line}"),
        }
    }
    assert_eq!(names.next(), None, "{out}");
}

#[test]
fn json_has_every_finding() {
    checked(&json("doctor"));
}

#[test]
fn an_address_space_limit_is_found() {
    let report = after_json("ulimit -v 100000");
    let findings = checked(&report);
    let limit = finding(findings, "address space limit");
    assert_eq!(limit["state"], "warning", "{limit}");
    assert!(limit["found"].as_str().unwrap().starts_with("102400000 bytes"), "{limit}");
    assert!(limit["remedy"].as_str().unwrap().contains("ulimit -v"), "{limit}");
    // A reservation takes up none of it before it is used.
    let reservation = finding(findings, "reservation");
    assert_eq!(reservation["state"], "ok", "{reservation}");

    let ran = after("ulimit -v 100000", "doctor");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.out.contains("\nwarning  address space limit: 102400000 bytes"), "{}", ran.out);
}

#[test]
fn a_trial_that_a_limit_prevents_is_reported() {
    // 4 MiB to try with do not fit, but the command itself does.
    let report = after_json("ulimit -d 3000");
    let findings = checked(&report);
    let limit = finding(findings, "data limit");
    assert_eq!(limit["state"], "warning", "{limit}");
    assert!(limit["found"].as_str().unwrap().starts_with("3072000 bytes"), "{limit}");
    let tried = finding(findings, "huge pages, tried");
    assert_eq!(tried["state"], "warning", "{tried}");
    assert!(tried["found"].as_str().unwrap().contains("refused to commit"), "{tried}");
}

#[test]
fn wrong_command_lines_name_the_cause() {
    for (args, word) in
        [("doctor --fast", "--fast"), ("doctor trees", "trees"), ("doctor --json=1", "--json")]
    {
        let ran = heapwood(args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.err.contains(word), "{ran:?}");
    }
}

#[test]
fn a_full_output_is_an_error() {
    for args in ["doctor", "doctor --json"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(err.starts_with("heapwood: the output could not be written"), "{err}");
    }
}
