//! `heapwood doctor` on this machine, and under ulimits that it must find. Unit tests cover findings on other machines.

use crate::common::*;
use serde_json::Value;
use std::process::Command;

const NAMES: [&str; 8] = [
    "page size",
    "transparent huge pages",
    "khugepaged max_ptes_none",
    "released memory",
    "memory",
    "overcommit",
    "address space limit",
    "data limit",
];

/// The findings when a shell runs the command after `first`.
fn after(first: &str) -> Vec<Value> {
    let script = format!("{first} && exec \"$0\" doctor --json");
    let ran = Ran::of(Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_heapwood")]));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    report["findings"].as_array().unwrap().clone()
}

fn finding<'a>(findings: &'a [Value], name: &str) -> &'a Value {
    findings.iter().find(|finding| finding["name"] == name).unwrap()
}

#[test]
fn text_has_every_finding_with_a_remedy_where_one_is_needed() {
    let out = output("doctor");
    let mut names = NAMES.iter();
    let mut lines = out.lines().peekable();
    while let Some(line) = lines.next() {
        let (mark, rest) = line.split_once(' ').unwrap();
        let name = names.next().unwrap();
        assert!(rest.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with(": ")), "{line}");
        let more = lines.next_if(|next| next.starts_with("         "));
        assert!(["ok", "note", "warning"].contains(&mark) && more.is_some() == (mark != "ok"), "{line}");
    }
    assert_eq!(names.next(), None, "{out}");
}

#[test]
fn limits_of_this_process_are_found() {
    let findings = after("ulimit -v 100000");
    let limit = finding(&findings, "address space limit");
    assert_eq!(limit["state"], "warning", "{limit}");
    assert!(limit["found"].as_str().unwrap().starts_with("102400000 bytes"), "{limit}");
    assert!(limit["remedy"].as_str().unwrap().contains("ulimit -v"), "{limit}");
    // 2 MiB to try with do not fit, but the command itself does.
    let findings = after("ulimit -d 2000");
    let limit = finding(&findings, "data limit");
    assert_eq!(limit["state"], "warning", "{limit}");
    let tried = finding(&findings, "released memory");
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
