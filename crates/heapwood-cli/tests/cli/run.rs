//! `heapwood run`: the output of the workloads, for people and machines, and the effect of the options.

use crate::common::*;
use heapwood_report::testing::fails;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

fn nodes(depth: u64) -> u64 {
    (2 << depth) - 1
}

#[test]
fn trees_prints_the_table() {
    let out = output("run trees 10");
    let lines = squeezed(&out);
    let megabytes = |nodes: u64| format!("{:.1}", (nodes * 16) as f64 / (1 << 20) as f64);
    let mut table = vec![("stretch tree".to_string(), 11, nodes(11))];
    for depth in [4, 6, 8, 10] {
        let trees = 1 << (14 - depth);
        table.push((format!("{trees} trees"), depth, trees * nodes(depth)));
    }
    table.push(("long-lived tree".to_string(), 10, nodes(10)));
    for (line, (what, depth, nodes)) in lines.iter().zip(&table) {
        assert_eq!(line, &format!("{what} of depth {depth} nodes: {nodes} MB: {}", megabytes(*nodes)));
    }
    let rest = lines[table.len()..].join("\n");
    for word in
        ["wall", "user", "system", "max RSS", "minor faults", "collections", "pause", "heap: allocated"]
    {
        assert!(rest.contains(word), "{word} is missing:\n{out}");
    }
}

#[test]
fn trees_have_json() {
    let figures = json("run trees 8");
    let keys = "n wall_s user_s sys_s max_rss_bytes minor_faults collections pause_p50_us stop_max_us mark_max_us \
                pause_p99_us pause_max_us gc_cpu_share heap_live_bytes";
    for key in keys.split(' ') {
        assert!(figures[key].is_number(), "{key}: {figures}");
    }
    assert_eq!((&figures["workload"], &figures["n"]), (&json!("trees"), &json!(8)));
    assert!(figures["max_rss_bytes"].as_u64().unwrap() > 1 << 20);
    let line =
        |trees: u64, depth: u64| json!({"trees": trees, "depth": depth, "nodes": trees * nodes(depth)});
    assert_eq!(figures["lines"], json!([line(1, 9), line(256, 4), line(64, 6), line(16, 8), line(1, 8)]));
}

#[test]
fn memory_is_accounted_for() {
    let out = output("run mixed 20000 --memory");
    for word in ["| survived ", "| partial ", "| backed ", "| process ", "| cells of ", " others "] {
        assert!(out.contains(word), "{word} is missing:\n{out}");
    }
    let figures = json("run mixed 20000 --memory");
    for when in ["largest", "end"] {
        let memory = &figures["memory"][when];
        let bytes = |part: &str| memory[part].as_u64().unwrap_or_else(|| panic!("{part}: {memory}"));
        let pages = ["unfinished", "cached_pages", "free_pages", "arenas", "free_arenas", "quarantined"];
        let classes = memory["classes"].as_array().unwrap();
        let spans: u64 = classes.iter().map(|class| class["bytes"].as_u64().unwrap()).sum();
        assert_eq!(spans + pages.map(bytes).into_iter().sum::<u64>(), bytes("backed"), "{memory}");
        assert!(bytes("resident") >= bytes("tables") && bytes("tables") > 0, "{memory}");
    }
    assert!(json("run churn 1000")["memory"].is_null());
}

#[test]
fn churn_agrees_with_the_peers() {
    let expected = expected("churn-100000.txt");
    assert_eq!(output("run churn 100000").lines().next(), Some(expected.trim()));
    let figures = json("run churn 100000");
    let line = &figures["lines"][0];
    assert_eq!((&figures["workload"], &line["ops"]), (&json!("churn"), &json!(100_000)));
    assert!(expected.trim().ends_with(line["checksum"].as_str().unwrap()));
    for key in ["longest_gap_us", "mops", "requested_live_bytes"] {
        assert!(line[key].as_f64().unwrap() > 0.0, "{key}: {line}");
    }
}

#[test]
fn a_run_as_a_peer_prints_what_peers_print() {
    for (args, file) in [
        ("trees 10", "trees-10.txt"),
        ("gcbench 8", "gcbench-8.txt"),
        ("churn 100000", "churn-100000.txt"),
        ("mixed 100000", "mixed-100000.txt"),
        ("mark 10000", "mark-10000.txt"),
        ("rand-small 20", "rand-small-20.txt"),
        ("rand-large 20", "rand-large-20.txt"),
        ("tree1 8", "tree1-8.txt"),
        ("conalloc 100000", "conalloc-100000.txt"),
        ("conalloc 100000 --threads 1", "conalloc-100000.txt"),
        ("trees 10 --threads 3", "trees-10.txt"),
        ("churn 100000 --threads 2", "churn-100000.txt"),
        ("graph 10000", "graph-10000.txt"),
        ("map 10000", "map-10000.txt"),
        ("deep 10000", "deep-10000.txt"),
        ("graph 10000 --threads 2", "graph-10000.txt"),
        ("map 10000 --threads 3", "map-10000.txt"),
        ("treap 5000", "treap-5000.txt"),
        ("treap 5000 --verify --threads 2", "treap-5000.txt"),
        ("malloc 10", "malloc-10.txt"),
        ("malloc 10 --verify --threads 2", "malloc-10.txt"),
        ("frag 10000", "frag-10000.txt"),
        ("frag 10000 --verify --threads 2", "frag-10000.txt"),
        ("queue 100000", "queue-100000.txt"),
        ("queue 100000 --verify --threads 2", "queue-100000.txt"),
        ("list 100000", "list-100000.txt"),
        ("list 100000 --verify --threads 2", "list-100000.txt"),
        ("pipe 100000", "pipe-100000.txt"),
        ("pipe 100000 --verify --threads 2", "pipe-100000.txt"),
        ("weak 100000", "weak-100000.txt"),
        ("weak 100000 --verify --min-heap 1MiB", "weak-100000.txt"),
        ("finalize 100000", "finalize-100000.txt"),
        ("finalize 100000 --verify --min-heap 1MiB", "finalize-100000.txt"),
        ("weakmap 100000", "weakmap-100000.txt"),
        ("weakmap 100000 --verify --min-heap 1MiB", "weakmap-100000.txt"),
        ("lox 3", "lox-3.txt"),
        ("lox 3 --verify --threads 2", "lox-3.txt"),
        ("trees 10 --arena", "trees-arena-10.txt"),
        ("trees 13 --arena --verify", "trees-arena-13.txt"),
        ("trees 13 --arena --threads 2 --no-huge-pages", "trees-arena-13.txt"),
        ("trees 10 --share", "trees-10.txt"),
        ("trees 10 --share --threads 3 --verify", "trees-10.txt"),
        ("trees 10 --share --threads 64 --min-heap 1MiB", "trees-10.txt"),
        ("trees 13 --arena --share --threads 2", "trees-arena-13.txt"),
        ("trees 10 --arena=small-pages", "trees-arena-10.txt"),
        ("trees 10 --arena=huge-pages", "trees-arena-10.txt"),
        ("trees 10 --arena=early-return", "trees-arena-10.txt"),
        ("trees 10 --arena=bump", "trees-arena-10.txt"),
    ] {
        let out = output(&format!("run --as-peer {args}"));
        let (figures, checks): (Vec<&str>, Vec<&str>) = out.lines().partition(|l| l.starts_with("figure "));
        let expected = expected(file);
        assert_eq!(
            checks,
            expected.lines().filter(|l| !l.contains(" walked ")).collect::<Vec<_>>(),
            "{args}"
        );
        for figure in figures {
            let words: Vec<&str> = figure.split(' ').collect();
            assert!(words.len() == 3 && words[2].parse::<f64>().is_ok_and(|v| v > 0.0), "{args}: {figure}");
        }
    }
    assert_eq!(heapwood("run trees 8 --as-peer --json").code, Some(2));
}

#[test]
fn threads_share_the_lines_of_trees() {
    let [one, shared, each] =
        ["", "--threads 4 --share", "--threads 4"].map(|more| json(&format!("run trees 12 {more}")));
    // The lines equal those of one thread, and so do the allocations, apart from unused cells of the threads.
    assert_eq!((&shared["lines"], &shared["threads"]), (&one["lines"], &json!(4)));
    assert_eq!((&shared["workload"], &one["workload"]), (&json!("trees-shared"), &json!("trees")));
    let [one, shared, each] = [one, shared, each].map(|f| f["allocated_bytes"].as_f64().unwrap());
    assert!(shared < 1.05 * one && 0.95 * one < shared && each > 3.9 * one, "{one} {shared} {each}");
    assert!(output("run trees 10 --share --threads 2").contains("\n2 threads shared this among them\n"));
    fails(
        &mut command("run churn 1000 --share"),
        2,
        &["the threads of churn each do the whole work", "--share needs trees"],
    );
}

#[test]
fn trees_in_arenas_print_the_documents_table() {
    let out = output("run trees 13 --arena");
    for words in [
        "   stretch tree of depth 14   arenas: 1      nodes: 32767       MB: 0.5",
        "     8192 trees of depth 4    arenas: 4      nodes: 253952      MB: 3.9",
        "long lived tree of depth 13   arenas: 1      nodes: 16383       MB: 0.2",
        "minor faults",
        "   CPU ",
    ] {
        assert!(out.contains(words), "{words:?} in {out}");
    }
    assert!(output("run trees 10 --arena --threads 2").contains("\n2 threads shared this among them\n"));
    let figures = json("run trees 10 --arena");
    assert_eq!((&figures["workload"], &figures["lines"][1]["arenas"]), (&json!("trees-arena"), &json!(1)));
    for (args, words) in [
        ("run churn 1000 --arena", "churn has no version in arenas"),
        ("run trees 10 --arena=large-pages", "it is small-pages, huge-pages, early-return or bump"),
    ] {
        let done = heapwood(args);
        assert!(done.code == Some(2) && done.err.contains(words), "{}", done.err);
    }
}

#[test]
fn threads_each_do_the_whole_work() {
    let one = json("run tree1 10 --threads 1");
    let three = json("run tree1 10 --threads 3");
    assert_eq!((&one["threads"], &three["threads"]), (&json!(1), &json!(3)));
    assert_eq!(one["lines"], three["lines"]);
    let bytes = |figures: &Value| figures["allocated_bytes"].as_f64().unwrap();
    assert!((2.9..3.1).contains(&(bytes(&three) / bytes(&one))), "{one} {three}");
    assert_eq!(json("run conalloc 1000")["threads"], 4);
    let figures = json("run churn 1000 --threads 2");
    assert!(figures["lines"][0]["mops"].as_f64() > Some(0.0), "{figures}");

    let text = output("run churn 1000 --threads 2");
    for words in
        ["mops of all threads ", "longest_gap_us of all threads ", "\neach of 2 threads did all of this\n"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!output("run tree1 8 --threads 1").contains("threads did"));
}

fn collections(args: &str) -> u64 {
    json(args)["collections"].as_u64().unwrap()
}

#[test]
fn a_lower_percentage_collects_more_often() {
    // Beside the program each part of what is promoted would be a collection.
    let in_stops = "run churn 1000000 --generational off --concurrent off --percent";
    let (rare, often) = (collections(&format!("{in_stops} 200")), collections(&format!("{in_stops} 5")));
    assert!(rare >= 1 && often > 2 * rare, "{rare} and {often}");
    assert_eq!(json("run trees 6 --percent 7")["percent"], 7);
}

#[test]
fn all_statistics_are_printed() {
    let figures = json("run trees 14 --percent 20 --min-heap 1MiB");
    for statistic in &heapwood_gc::STATISTICS {
        let name = statistic.name.replace("_ns", "_us");
        let value = figures.get(&name).or(figures.get(format!("heap_{name}")));
        assert!(value.is_some_and(Value::is_number), "{name}: {figures}");
    }
    for key in [
        "heap_goal_bytes",
        "heap_backed_bytes",
        "span_lock_acquisitions",
        "page_lock_acquisitions",
        "phase_mark_us",
    ] {
        assert!(figures[key].as_f64().unwrap() > 0.0, "{key}: {figures}");
    }
}

#[test]
fn phases_and_rates_are_in_json_and_in_the_table() {
    let figures = json("run trees 14 --min-heap 1MiB --no-background-release");
    let us = |key: &str| figures[key].as_f64().unwrap_or_else(|| panic!("{key}: {figures}"));
    let sum: f64 =
        ["prep", "mark", "sweep", "recovery"].iter().map(|part| us(&format!("phase_{part}_us"))).sum();
    assert!((us("phase_total_us") - sum).abs() < 0.01, "{figures}");
    assert!(us("phase_stop_us") <= us("phase_prep_us"), "{figures}");
    let count = |key: &str| figures[key].as_u64().unwrap() as f64;
    for key in ["span_lock_acquisitions", "shared_rmws"] {
        let rate = |of: &str| figures[of][key].as_f64().unwrap();
        assert!(count(key) > 0.0, "{key}: {figures}");
        assert!((rate("per_collection") * count("collections") - count(key)).abs() < 0.5, "{key}: {figures}");
        let mib = count("small_bytes") / (1 << 20) as f64;
        assert!((rate("per_small_mib") * mib - count(key)).abs() < 0.5, "{key}: {figures}");
    }
    assert_eq!(
        json("run trees 4")["per_collection"]["shared_rmws"],
        0.0,
        "without collections there is no rate"
    );
    let table = output("run trees 14 --min-heap 1MiB");
    for words in ["phases, ms: prep ", "per MiB of small objects: locks "] {
        assert!(table.contains(words), "{words} is missing:\n{table}");
    }
}

#[test]
fn the_trace_flag_overrides_the_variable() {
    let told = |args: &str| {
        let output = command(args).env("HEAPWOOD", "trace=1").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let run = "run trees 14 --json --min-heap 1MiB";
    assert!(told(run).lines().count() > 3 && told(run).lines().all(|line| line.starts_with("gc ")));
    assert_eq!(told(&format!("{run} --trace off")), "");
}

/// The JSON and the standard error of a run with this variable.
fn with_variable(variable: &str, args: &str) -> (Value, String) {
    let output = command(args).env("HEAPWOOD", variable).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    (serde_json::from_slice(&output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn flags_override_the_variable() {
    let (figures, told) =
        with_variable("percent=7,limit=1.5GiB,verify=on,background_release=off", "run trees 6 --json");
    assert_eq!((&figures["percent"], &figures["limit_bytes"], &*told), (&json!(7), &json!(3u64 << 29), ""));
    let (figures, told) = with_variable("percent=7,limit=1GiB", "run trees 6 --json --percent 9");
    assert_eq!((&figures["percent"], &figures["limit_bytes"], &*told), (&json!(9), &json!(1 << 30), ""));
    let (figures, told) = with_variable("verify=on", "run trees 12 --json --min-heap 1MiB");
    assert!(figures["verified"].as_u64() > Some(0), "{figures}");
    assert_eq!(told, "");
}

#[test]
fn errors_in_the_variable_are_reported_and_ignored() {
    let (figures, told) =
        with_variable("limits=9GiB,percent=0,stress=\x1b[31m,percent=8", "run trees 6 --json");
    assert_eq!((&figures["percent"], &figures["limit_bytes"]), (&json!(8), &Value::Null));
    let lines: Vec<&str> = told.lines().collect();
    let wanted = [
        "heapwood: ignored in HEAPWOOD: no option is called limits: is limit meant? There are min_heap, limit, ",
        "heapwood: ignored in HEAPWOOD: option percent is 0: it must be 1 to 100000; ",
        "heapwood: ignored in HEAPWOOD: option stress is \\u{1b}[31m: it must be on (1) or off (0)",
    ];
    assert!(lines.len() == 3 && lines.iter().zip(wanted).all(|(line, w)| line.starts_with(w)), "{told}");
    for args in ["run --help", "doctor --json"] {
        let ran = command(args).env("HEAPWOOD", "nonsense").output().unwrap();
        assert!(ran.stderr.is_empty(), "only run makes a heap: {args} {ran:?}");
    }
}

#[test]
fn every_option_has_a_flag() {
    let (short, long) = (output("run -h"), output("run --help"));
    for option in &heapwood_gc::OPTIONS {
        let flag = option.name.replace('_', "-");
        assert_eq!(long.contains(&flag), option.name != "conservative_stacks", "{flag}: {long}");
        let for_tests = ["stress", "mask_words", "mark_stack"].contains(&option.name);
        assert_eq!(
            short.contains(&format!("{flag} ")),
            flag != "conservative-stacks" && !for_tests,
            "{flag}: {short}"
        );
    }
    assert_eq!(long.matches("(for tests and measurements of this library)").count(), 3, "{long}");
    let figures =
        json("run trees 8 --stress --no-huge-pages --mark-stack 5 --mask-words 0 --process-memory 64MiB");
    assert!(
        figures["collections"].as_u64() > Some(1000) && figures["mark_overflows"].as_u64() > Some(0),
        "{figures}"
    );
}

#[test]
fn a_sufficient_limit_is_kept() {
    let figures = json("run trees 13 --limit 6MiB");
    assert_eq!(figures["limit_bytes"], 6 << 20);
    assert_eq!(figures["lines"][0]["nodes"], nodes(14));
    assert!(figures["heap_committed_bytes"].as_u64().unwrap() <= 16 << 20, "{figures}");
    assert!(figures["collections"].as_u64().unwrap() > 0);
    assert_eq!(json("run trees 6")["limit_bytes"], Value::Null);
}

#[test]
fn verify_mode_finds_no_error() {
    let lines = |args| json(args)["lines"].clone();
    assert_eq!(lines("run trees 12 --limit 4MiB --verify"), lines("run trees 12"));
    assert!(collections("run trees 12 --limit 4MiB --verify") > 0);
    assert!(output("run mark 1000 --verify").starts_with("mark in-order objects 1000 reached 1000 "));
}

#[test]
fn a_closed_pipe_is_no_error() {
    // Seven lines are written one after the other; the reader takes the first and closes the pipe.
    for args in ["run trees 12", "run mark 200000", "run trees 10 --json", "--help"] {
        let mut child = command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        let mut out = BufReader::with_capacity(16, child.stdout.take().unwrap());
        if !args.contains("json") {
            out.read_line(&mut first).unwrap();
            assert!(!first.is_empty());
        }
        drop(out);
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        child.wait().unwrap();
        assert_eq!(err, "", "heapwood {args}");
    }
}

#[test]
fn a_small_address_space_is_enough() {
    let command = format!("ulimit -v 100000; exec '{}' run trees 10", env!("CARGO_BIN_EXE_heapwood"));
    let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{err}");
    assert!(out.contains("nodes: 2047"), "{out}");
}

#[test]
fn a_workload_that_cannot_fit_is_refused_before_it_starts() {
    let command = format!("ulimit -v 100000; exec '{}' run mark 3000000", env!("CARGO_BIN_EXE_heapwood"));
    let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("would need") && err.contains("raise `ulimit -v`"), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
}
