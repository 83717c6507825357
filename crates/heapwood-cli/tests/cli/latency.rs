//! `heapwood bench latency`: Heapwood's own program, its report and files, a peer that did other work, and errors.

use crate::common::*;
use heapwood_report::testing::fails;
use heapwood_workloads::latency::record::Record;
use std::path::Path;
use std::process::Command;

const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers");
const TINY: &str = "bench latency --live 16MiB --seconds 0.2 --runs 2";

/// `heapwood bench latency` with the peers of the tests, built into the folder.
fn bench(folder: &Path, peers: &str) -> Command {
    let mut command = command(TINY);
    command.args(["--peers", peers, "--peers-dir", PEERS, "--build-dir"]).arg(folder.join("built"));
    command.env("FAKE_FILE", folder.join("file"));
    command
}

/// A run of Heapwood's own program.
fn record(args: &str) -> Record {
    let out = output(&format!("bench latency --as-peer {args}"));
    Record::parse(&out).unwrap_or_else(|why| panic!("{why}: {out}"))
}

#[test]
fn the_own_program_notes_every_gap() {
    let record = record("--live 16MiB --seconds 0.2");
    assert_eq!((record.entries, record.threads.len()), ((16 << 20) / 192, 1));
    // The value that the programs in Go, C and Java print, too.
    assert_eq!(record.check, CHECK_OF_16_MIB, "0x{:016x}", record.check);
    let thread = &record.threads[0];
    assert!(thread.ns >= 200_000_000 && thread.steps > 0 && record.cpu_ns > 0, "{thread:?}");
    assert_eq!(thread.counts.iter().sum::<u64>() * 4, thread.steps, "a gap for every four steps");
    let longest = thread.long.iter().map(|(_, length)| *length).max().unwrap_or(thread.max_ns);
    assert_eq!(longest, thread.max_ns);
}

/// Printed by the peers in Go, C and Java for one thread and for two.
const CHECK_OF_16_MIB: u64 = 0xb8a5_5430_6612_8abd;
const CHECK_OF_TWO_THREADS: u64 = 0x438c_63cf_eee4_ce48;

#[test]
fn threads_and_frames_do_the_same_work() {
    let record = record("--live 16MiB --seconds 0.05 --threads 2 --depth 20000");
    assert_eq!((record.threads.len(), record.check), (2, CHECK_OF_TWO_THREADS), "0x{:016x}", record.check);
}

#[test]
fn a_report_has_tables_a_line_for_each_run_and_a_picture() {
    let folder = folder("latency");
    let (tsv, svg) = (folder.join("gaps.tsv"), folder.join("gaps.svg"));
    let mut command = command(TINY);
    let ran = Ran::of(command.args(["--peers", "none", "--tsv"]).arg(&tsv).arg("--svg").arg(&svg));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines = squeezed(&ran.out);
    let again =
        "`heapwood bench latency --live 16MiB --threads 1 --depth 0 --seconds 0.2 --runs 2 --peers none`, ";
    assert!(lines[0].starts_with(again), "{}", ran.out);
    assert!(lines.iter().any(|line| line == "## 16.0 MiB, 1 thread, 0 frames"), "{}", ran.out);
    for header in [
        "| | 50 % | 99 % | 99.9 % | 99.99 % | 99.999 % | max | MMU 1 ms | 10 ms | 100 ms |",
        "| | version | memory | max RSS MiB | CPU ns a step | million steps a second |",
    ] {
        let at =
            lines.iter().position(|line| line == header).unwrap_or_else(|| panic!("{header}: {}", ran.out));
        assert!(lines[at + 2].starts_with("| heapwood"), "{}", ran.out);
    }
    assert!(lines.iter().any(|line| line.contains(", worst run |")), "{}", ran.out);

    let text = std::fs::read_to_string(tsv).unwrap();
    let rows: Vec<Vec<&str>> =
        text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect()).collect();
    let own = rows.iter().skip(1).filter(|row| row[4].starts_with("heapwood")).count();
    assert!(own >= 2 && own % 2 == 0 && rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
    let column = |name: &str| {
        rows[0].iter().position(|cell| *cell == name).unwrap_or_else(|| panic!("{name}: {text}"))
    };
    let gaps = ["50", "99", "99.9", "99.99", "99.999", "max"].map(|share| column(&format!("gap_{share}_ns")));
    for row in &rows[1..] {
        let gaps = gaps.map(|at| row[at].parse::<u64>().unwrap());
        assert!(gaps[0] > 0 && gaps.is_sorted(), "{row:?}");
        let [at_1, at_10] = ["mmu_1ms", "mmu_10ms"].map(|name| row[column(name)].parse::<f64>().unwrap());
        assert!((0.0..=1.0).contains(&at_1) && (0.0..=1.0).contains(&at_10), "{row:?}");
        assert!(row[column("max_rss_bytes")].parse::<u64>().unwrap() > 16 << 20, "{row:?}");
    }
    let svg = std::fs::read_to_string(svg).unwrap();
    for word in ["<svg", "heapwood", "gap, us", "CPU ns a step", "max RSS, MiB", "worst run", "99.99 %"] {
        assert!(svg.contains(word), "{word}: {svg}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[test]
fn a_peer_with_the_same_checksum_is_compared() {
    let folder = folder("latency-copier");
    let record = output("bench latency --as-peer --live 16MiB --seconds 0.2");
    std::fs::write(folder.join("file"), record.replacen(" cpu_ns", " collector=fake cpu_ns", 1)).unwrap();
    let ran = Ran::of(&mut bench(&folder, "copier"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines = squeezed(&ran.out);
    assert!(lines.iter().any(|line| line.starts_with("| copier | 1.2.3, fake | -Xmx")), "{}", ran.out);
}

#[test]
fn a_peer_that_did_other_work_ends_the_benchmark() {
    let folder = folder("latency-liar");
    let record = output("bench latency --as-peer --live 16MiB --seconds 0.2");
    let wrong = record.replacen(&format!("{CHECK_OF_16_MIB:016x}"), "00000000000000ff", 1);
    assert_ne!(wrong, record);
    std::fs::write(folder.join("file"), wrong).unwrap();
    let words = ["copier did not do the same work, so nothing is compared", "0x00000000000000ff"];
    fails(&mut bench(&folder, "copier"), 1, &words);
}

#[test]
fn a_peer_that_fails_or_is_missing_is_named() {
    let folder = folder("latency-failing");
    std::fs::write(folder.join("file"), "nonsense\n").unwrap();
    let ran = Ran::of(&mut bench(&folder, "copier,missing"));
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    for (said, words) in [
        (&ran.out, "Failed: copier: it printed \"nonsense\" in place of a line that begins with latency"),
        (&ran.err, "copier failed at 16.0 MiB, 1 thread, 0 frames: it printed"),
        (&ran.out, "Skipped: missing: needs what nobody has"),
        (&ran.err, "skipped: missing: needs what nobody has"),
    ] {
        assert!(said.contains(words), "{words}: {ran:?}");
    }
}

#[test]
fn wrong_arguments_name_the_range() {
    for (args, words) in [
        ("--live 1KiB", &["1KiB", "at least 1MiB"][..]),
        ("--live 16MiB,2TiB", &["2TiB", "at most 1TiB"]),
        ("--live much", &["much"]),
        ("--live -5", &["-5"]),
        ("--seconds 0", &["0.001 to 86400"]),
        ("--seconds -1", &["0.001 to 86400"]),
        ("--threads 0", &["1 to 1024"]),
        ("--threads 1,two", &["two", "1 to 1024"]),
        ("--depth -1", &["0 to 100000000"]),
        ("--runs 0", &["--runs"]),
        ("--gogc 0", &["--gogc", "1..=100000"]),
        ("--peers python", &["no peer python", "java-zgc", "mimalloc"]),
        ("--peers ocaml", &["ocaml has no latency", "go"]),
        ("--svg x.png", &["x.svg"]),
        ("--tsv -", &["standard output"]),
        ("trees", &["trees"]),
        ("--as-peer --live 16MiB,32MiB", &["--as-peer takes one size"]),
    ] {
        fails(&mut command(&format!("bench latency {args}")), 2, words);
    }
    fails(
        &mut command("bench latency --live 1TiB --peers none"),
        1,
        &["a cache of 1.0 TiB would need", "but "],
    );
    fails(
        &mut command("bench latency --peers none --tsv /no/such/x.tsv"),
        1,
        &["/no/such/x.tsv", "No such file"],
    );
    fails(&mut command("bench latency --peers-dir /nowhere"), 1, &["/nowhere/peers.toml"]);
    // The arguments of a workload are not for it.
    fails(&mut command("bench trees latency"), 2, &["latency"]);
}

#[test]
fn the_help_says_what_a_gap_is() {
    assert!(output("bench --help").contains("latency"));
    let help = output("bench latency --help");
    for word in [
        "--live",
        "--threads",
        "--depth",
        "--seconds",
        "--gogc",
        "--tsv",
        "--svg",
        "20 us",
        "MMU",
        "Exit codes",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert!(!help.contains("--as-peer"), "{help}");
}
