//! `heapwood bench`: it measures the real use, refuses programs that did other work, names missing tools, and leaves no
//! process behind. The peers are those of `tests/peers`, whose behaviour is known.

use crate::common::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers");

/// `heapwood bench ARGS` with the peers of the tests, built into the folder.
fn bench(folder: &Path, args: &str) -> Command {
    let mut command = command("bench");
    command.args(["--peers-dir", PEERS, "--build-dir"]).arg(folder.join("built"));
    command.args(args.split_whitespace()).env("FAKE_FILE", folder.join("file"));
    command
}

fn ran(command: &mut Command) -> Ran {
    let ran = Ran::of(command);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    ran
}

fn json_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

fn row<'a>(report: &'a Value, name: &str) -> &'a Value {
    let rows = report["results"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}: {report}"))
}

fn names(report: &Value) -> Vec<&str> {
    report["results"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect()
}

#[test]
#[ignore = "of the long suite: times and memory that the kernel counts"]
fn the_report_has_the_real_use_of_a_program() {
    let folder = folder("measure");
    let ran = ran(&mut bench(&folder, "trees 6 --peers burner --runs 3 --json"));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let report = json_of(&ran);
    assert_eq!((&report["workload"], &report["n"], &report["runs"]), (&"trees".into(), &6.into(), &3.into()));
    assert_eq!(names(&report), ["heapwood", "burner"]);
    let burner = row(&report, "burner");
    assert_eq!(burner["version"], "1.2.3");
    let within = |key: &str, least: f64, most: f64| {
        for at in ["min", "median", "max"] {
            let value = burner[key][at].as_f64().unwrap();
            assert!((least..=most).contains(&value), "{key} {at} {value}: not in {least}..={most}");
        }
    };
    // It stops using CPU when its own clock says 400 ms; after that it releases 96 MiB.
    within("cpu_s", 0.400, 0.500);
    within("wall_s", 0.600, f64::MAX);
    within("max_rss_bytes", 96.0 * 1048576.0, 104.0 * 1048576.0);
    within("minor_faults", 24576.0, 25600.0);
    let sum = burner["user_s"]["min"].as_f64().unwrap() + burner["sys_s"]["min"].as_f64().unwrap();
    assert!(sum <= burner["cpu_s"]["max"].as_f64().unwrap());
    let heapwood = row(&report, "heapwood");
    for (key, value) in heapwood.as_object().unwrap().iter().filter(|(key, _)| key.starts_with("ratio")) {
        assert_eq!((&value["min"], &value["max"]), (&1.0.into(), &1.0.into()), "{key}");
    }
    // It takes longer in each of three rounds; more cannot be said with three.
    assert!((burner["p_cpu"].as_f64().unwrap() - 0.1).abs() < 1e-4, "{burner}");
    assert!(heapwood["p_cpu"].is_null() && heapwood["p_rss"].is_null(), "{heapwood}");
    let ratio = &burner["ratio_cpu"];
    let (cpu, base) = (&burner["cpu_s"], &heapwood["cpu_s"]);
    let of = |v: &Value, key: &str| v[key].as_f64().unwrap();
    assert!(of(ratio, "min") >= of(cpu, "min") / of(base, "max") * 0.999);
    assert!(of(ratio, "max") <= of(cpu, "max") / of(base, "min") * 1.001);
}

#[test]
fn a_wrong_check_value_ends_the_benchmark() {
    let folder = folder("liar");
    let svg = folder.join("refused.svg");
    for args in ["trees 6 --peers honest,liar --runs 1", "trees 6 --peers liar --runs 1 --json"] {
        let ran = ran(bench(&folder, args).arg("--plot").arg(&svg));
        assert!(!svg.exists());
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
        for word in
            ["liar", "same work", "64 trees of depth 4 nodes 1985", "but heapwood's first run ", "nodes 1984"]
        {
            assert!(ran.err.contains(word), "{word}: {}", ran.err);
        }
    }
}

#[test]
fn a_peer_that_fails_is_named_and_the_others_are_compared() {
    let folder = folder("failing");
    for (peer, why) in [
        ("failing", "exit status: 3: something broke"),
        ("late", "exit status: 3: something broke"),
        ("silent", "it printed no check value"),
    ] {
        let ran = ran(&mut bench(&folder, &format!("trees 6 --peers honest,{peer} --runs 3 --json")));
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains(&format!("{peer} failed: {why}")), "{}", ran.err);
        let report = json_of(&ran);
        assert_eq!(names(&report), ["heapwood", "honest"]);
        assert_eq!((&report["failed"][0]["name"], &report["failed"][0]["why"]), (&peer.into(), &why.into()));
    }
}

#[test]
fn a_peer_that_cannot_be_built_is_named_with_what_to_install() {
    let folder = folder("missing");
    let text = ran(&mut bench(&folder, "trees 6 --peers missing,honest --runs 1"));
    assert_eq!(text.code, Some(0), "{}", text.err);
    let why = "needs what nobody has; install the Debian package: nothing";
    assert!(text.out.contains(&format!("Skipped: missing: {why}")), "{}", text.out);
    assert!(text.err.contains(&format!("skipped: missing: {why}")), "{}", text.err);
    let json = json_of(&ran(&mut bench(&folder, "trees 6 --peers missing,honest --runs 1 --json")));
    assert_eq!((&json["skipped"][0]["name"], &json["skipped"][0]["why"]), (&"missing".into(), &why.into()));
    assert_eq!(names(&json), ["heapwood", "honest"]);
}

/// All programs do the whole work on the same number of threads, or are skipped.
#[test]
fn threads_are_passed_to_peers_that_take_them() {
    let folder = folder("threads");
    for (args, threads) in [("trees 6", 1), ("trees 6 --threads 1", 1), ("trees 6 --threads 3", 3)] {
        let mut command = bench(&folder, &format!("{args} --peers honest,threaded --runs 1 --json"));
        let ran = ran(command.env("FAKE_THREADS", threads.to_string()));
        assert_eq!(ran.code, Some(0), "{args}: {}", ran.err);
        let report = json_of(&ran);
        assert_eq!(report["threads"], threads, "{args}");
        let shown = report["command"].as_str().unwrap();
        assert_eq!(shown.contains(" 6 --threads 3 "), threads == 3, "{shown}");
        if threads == 1 {
            assert_eq!(names(&report), ["heapwood", "honest", "threaded"]);
            continue;
        }
        assert_eq!(names(&report), ["heapwood", "threaded"]);
        assert_eq!(report["skipped"][0]["name"], "honest");
        assert!(report["skipped"][0]["why"].as_str().unwrap().contains("--threads"), "{report}");
        assert!(ran.err.contains("skipped: honest: its programs have one thread"), "{}", ran.err);
    }
}

/// Peers with threads run a workload of one thread, too, without --threads.
#[test]
fn a_workload_of_one_thread_says_nothing_of_threads() {
    let folder = folder("one-thread");
    let lines = output("run --as-peer mark 500");
    std::fs::write(folder.join("file"), lines).unwrap();
    let ran = ran(&mut bench(&folder, "mark 500 --peers copier --runs 1 --json"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(names(&json_of(&ran)), ["heapwood", "copier"]);
}

/// A PATH with these programs and no others.
fn path_with(folder: &Path, programs: &[&str]) -> PathBuf {
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for program in programs {
        let found = std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.exists());
        std::os::unix::fs::symlink(found.expect(program), bin.join(program)).unwrap();
    }
    bin
}

#[test]
fn missing_toolchains_are_named() {
    // The real peers, without a compiler for any of them.
    let folder = folder("hidden");
    let tools = ["sh", "make", "awk", "mkdir", "mktemp", "rm", "cp", "chmod", "echo"];
    let bare = |path: PathBuf| {
        let mut command = command("bench trees 6 --runs 1 --json --build-dir");
        ran(command.arg(folder.join("built")).env("PATH", path))
    };
    let ran = bare(path_with(&folder, &tools));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let report = json_of(&ran);
    assert_eq!(names(&report), ["heapwood"]);
    for (name, words) in [
        ("go", "Go 1.26"),
        ("libgc", "libgc-dev"),
        ("mimalloc", "libmimalloc-dev"),
        ("glibc", "gcc libc6-dev"),
        ("java-serial", "default-jdk-headless"),
        ("ocaml", "ocaml"),
        ("bump", "gcc libc6-dev"),
        ("d", "ldc libphobos2-ldc-shared-dev"),
    ] {
        let line = ran.err.lines().find(|line| line.contains(&format!("skipped: {name}: ")));
        assert!(line.is_some_and(|line| line.contains(words)), "{name}: {}", ran.err);
    }
    let ran = bare(folder.join("nothing"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(names(&json_of(&ran)), ["heapwood"]);
    assert!(ran.err.lines().all(|line| line.contains("Debian package: make")), "{}", ran.err);
}

#[test]
fn unknown_names_list_the_existing_ones() {
    let folder = folder("unknown");
    for (args, words) in [
        ("trees 6 --peers python", &["no peer python", "honest", "burner", "liar"][..]),
        ("trees 6 --peers honest,marker", &["marker has no trees", "honest"]),
        ("forests 6", &["forests", "trees", "gcbench", "churn", "mixed", "mark"]),
        ("trees 6 --runs 0", &["--runs", "0"]),
        ("trees 6 --runs -1", &["--runs", "-1"]),
    ] {
        let ran = ran(&mut bench(&folder, args));
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{args}: {}", ran.err);
        for word in words {
            assert!(ran.err.contains(word), "{args} does not say {word}: {}", ran.err);
        }
    }
    let ran = ran(command("bench trees 6 --peers-dir").arg(folder.join("nowhere")));
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("nowhere/peers.toml") && ran.err.contains("No such file"), "{}", ran.err);
}

#[test]
fn text_and_picture_show_every_program() {
    let folder = folder("shown");
    // A single run of each has no p value.
    let one = ran(&mut bench(&folder, "trees 6 --peers honest --runs 1")).out;
    assert!(one.lines().any(|line| line.starts_with("| honest ") && line.contains("| - ")), "{one}");
    let svg = folder.join("a picture.svg");
    let mut command = bench(&folder, "trees 6 --peers honest,burner --runs 2 --plot");
    let ran = ran(command.arg(&svg));
    // No progress bar, without a terminal.
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let lines = squeezed(&ran.out);
    assert!(lines[0].starts_with("`heapwood bench trees 6 --peers honest,burner --runs 2`, "), "{}", ran.out);
    for header in [
        "| | version | CPU s | x | p | wall s | x | p | user s | system s |",
        "| | max RSS MiB | x | p | minor faults |",
    ] {
        let at =
            lines.iter().position(|line| line == header).unwrap_or_else(|| panic!("{header}: {}", ran.out));
        for (k, name) in ["heapwood", "honest", "burner"].iter().enumerate() {
            assert!(lines[at + 2 + k].starts_with(&format!("| {name} |")), "{}", ran.out);
        }
    }
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
    for word in
        ["heapwood bench trees 6", "honest", "burner", "CPU seconds", "max RSS, MiB", "median of 2 runs"]
    {
        assert!(svg.contains(word), "{word}: {svg}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[test]
fn figures_of_the_workload_are_compared_too() {
    let folder = folder("figures");
    let report = json_of(&ran(&mut bench(&folder, "churn 1000 --peers none --runs 2 --json")));
    let figures = &row(&report, "heapwood")["figures"];
    for name in ["mops", "longest_gap_us"] {
        assert!(figures[name]["median"].as_f64().unwrap() > 0.0 && figures[name]["ratio"]["median"] == 1.0);
    }
    // Many figures are rows of their table.
    let text = ran(&mut bench(&folder, "mark 1000 --peers none --runs 1")).out;
    let rows = squeezed(&text);
    for label in ["shuffled", "one list", "8 lists", "64 lists", "one list, shuffled", "64 lists, shuffled"] {
        let row = format!("| {label}, ns an object | ");
        assert!(rows.iter().any(|line| line.starts_with(&row)), "{label}: {text}");
    }
}

/// Whether the process has gone; a zombie has.
fn gone(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with(['Z', 'X']))
}

/// Whether it becomes true within a minute.
fn soon(mut condition: impl FnMut() -> bool) -> bool {
    (0..6000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        condition()
    })
}

#[test]
fn an_interrupted_run_leaves_no_process_behind() {
    for (signal, code) in [("INT", Some(130)), ("TERM", Some(143)), ("HUP", Some(129)), ("KILL", None)] {
        let folder = folder(&format!("interrupted-{signal}"));
        let mut command = bench(&folder, "trees 6 --peers sleeper --runs 1");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut pids = String::new();
        assert!(soon(|| {
            pids = std::fs::read_to_string(folder.join("file")).unwrap_or_default();
            pids.ends_with('\n')
        }));
        let pids: Vec<&str> = pids.split_whitespace().collect();
        assert!(pids.len() == 2 && pids.iter().all(|pid| !gone(pid)));
        let kill = |pid: &str, signal: &str| {
            Command::new("sh").args(["-c", &format!("kill -{signal} {pid}")]).status().unwrap()
        };
        kill(&child.id().to_string(), signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), code, "{signal}");
        assert!(output.stdout.is_empty());
        // A command that is killed at once cannot end what its child has started.
        let ended = if signal == "KILL" { &pids[..1] } else { &pids[..] };
        assert!(soon(|| ended.iter().all(|pid| gone(pid))), "{signal}");
        if signal == "KILL" {
            kill(pids[1], "KILL");
        } else {
            assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"), "{output:?}");
        }
    }
}
