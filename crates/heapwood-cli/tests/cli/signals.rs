//! Signals go to the command's first thread: the library's threads have them blocked.

use crate::common::*;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn threads_of_the_library_take_no_signals() {
    let mut child = command("run trees 20").stdout(Stdio::piped()).spawn().unwrap();
    // The heap has been made when the first tree has been built.
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let tasks: Vec<_> = std::fs::read_dir(format!("/proc/{}/task", child.id()))
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok())
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    let ours: Vec<_> = tasks.iter().filter(|status| status.starts_with("Name:\theapwood-")).collect();
    assert!(!ours.is_empty(), "the heap's thread is missing:\n{line}{}", tasks.concat());
    for status in ours {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap().trim();
        let blocked = u64::from_str_radix(mask, 16).unwrap();
        // SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGPIPE, SIGTERM, SIGCHLD, SIGWINCH.
        for signal in [1, 2, 3, 10, 13, 15, 17, 28] {
            assert_ne!(blocked >> (signal - 1) & 1, 0, "signal {signal} is not blocked: {mask}");
        }
    }
}
