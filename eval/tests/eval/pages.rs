//! `heapwood-eval pages`: it measures the named operations on heaps of the given sizes, counts correctly, and rejects wrong
//! options. The tests check that times are positive, not how long they are.

use crate::common::*;
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// The cells of a stream, heap by heap.
fn cells<'a>(report: &'a Value, state: &str, what: &str, pages: u64, how: &str) -> &'a [Value] {
    let rows = report["streams"].as_array().unwrap();
    let wanted = |row: &&Value| {
        (&row["state"], &row["what"], &row["pages"], &row["how"])
            == (&state.into(), &what.into(), &pages.into(), &how.into())
    };
    rows.iter().find(wanted).map_or(&[], |row| row["heaps"].as_array().unwrap())
}

fn operations(report: &Value, state: &str, what: &str, pages: u64, how: &str) -> Option<u64> {
    cells(report, state, what, pages, how).first().map(|cell| cell["operations"].as_u64().unwrap())
}

#[test]
fn a_heap_of_one_chunk_is_measured() {
    let report = json("pages --heap 4MiB --runs 1");
    assert_eq!(report["runs"], 1);
    assert_eq!(report["command"], "heapwood-eval pages --heap 4MiB --runs 1");
    let heaps = report["heaps"].as_array().unwrap();
    assert_eq!((heaps.len(), &heaps[0]["bytes"]), (1, &(4 * MIB).into()));
    assert_eq!(heaps[0]["pages"], 512);
    assert!((100..10_000).contains(&heaps[0]["tables_bytes"].as_u64().unwrap()));
    assert_eq!((&report["skipped"], &report["flatness"]), (&Value::Array(vec![]), &Value::Array(vec![])));
    for row in report["streams"].as_array().unwrap() {
        assert_eq!(row["heaps"].as_array().unwrap().len(), 1, "{row}");
        row["heaps"].as_array().unwrap().iter().for_each(|cell| check_spread(&cell["ns"]));
    }

    // 512 pages, until none is left. Fewer than eight operations are not timed.
    for pages in [1, 2, 4, 8, 12, 15, 16, 17, 32, 64] {
        for how in ["bare", "lock"] {
            assert_eq!(operations(&report, "fresh", "allocate", pages, how), Some(512 / pages), "{pages}");
        }
        let cached = operations(&report, "fresh", "allocate", pages, "cached").unwrap();
        assert!(cached <= 512 / pages && cached >= 8 * (64 / pages), "{pages}: {cached}");
    }
    for pages in [128, 256, 512, 1024] {
        for how in ["bare", "lock", "cached"] {
            assert_eq!(operations(&report, "fresh", "allocate", pages, how), None);
        }
    }
    for how in ["bare", "lock"] {
        for (what, freed) in [
            ("free_ascending", 512),
            ("free_random", 512),
            ("free_every_other", 256),
            ("free_every_other_in_batches", 256),
        ] {
            assert_eq!(operations(&report, "full", what, 1, how), Some(freed), "{what}, {how}");
        }
    }
    for how in ["lock", "cached"] {
        // Every other page, and the 32 between the last of them.
        assert_eq!(operations(&report, "checkerboard", "allocate", 1, how), Some(256 + 32));
        let ones = operations(&report, "random_pages", "allocate", 1, how).unwrap();
        let twos = operations(&report, "random_pages", "allocate", 2, how).unwrap();
        assert!((10..150).contains(&ones) && 2 * twos <= ones, "{ones} {twos}");
    }
    for pages in [2, 64] {
        assert!(
            operations(&report, "checkerboard", "allocate_and_free", pages, "lock").is_some_and(|n| n > 0)
        );
    }
}

#[test]
fn several_heaps_are_compared() {
    // The same size twice is one heap.
    let report = json("pages --heap 8MiB,4MiB,8192KiB --runs 2");
    assert_eq!(report["command"], "heapwood-eval pages --heap 8MiB,4MiB --runs 2");
    let heaps: Vec<&Value> = report["heaps"].as_array().unwrap().iter().map(|heap| &heap["pages"]).collect();
    assert_eq!(heaps, [1024, 512]);
    let flatness = report["flatness"].as_array().unwrap();
    assert_eq!(flatness.len(), 3 * 8, "up to 17 pages: bare, with the lock, cached");
    for flat in flatness {
        assert!(flat["ratio"].as_f64().unwrap() >= 1.0, "{flat}");
        let cells = cells(
            &report,
            "fresh",
            "allocate",
            flat["pages"].as_u64().unwrap(),
            flat["how"].as_str().unwrap(),
        );
        assert_eq!(cells.len(), 2);
    }
    let wide = cells(&report, "fresh", "allocate", 128, "bare");
    assert_eq!((wide.len(), &wide[0]["bytes"], &wide[0]["operations"]), (1, &(8 * MIB).into(), &8.into()));
}

#[test]
fn tables_have_heaps_as_columns() {
    let text = output("pages --heap 4MiB,8MiB --runs 1");
    let lines = squeezed(&text);
    assert!(lines[0].starts_with("`heapwood-eval pages --heap 4MiB,8MiB --runs 1`, "), "{text}");
    assert_eq!(lines.iter().filter(|line| *line == "| | 4 MiB | 8 MiB |").count(), 6, "{text}");
    for begin in [
        "| 1 page |",
        "| 128 pages | - |",
        "| random, lock |",
        "| every other, 64 at a time, bare |",
        "| allocate and free 64 pages in the last chunk, lock |",
        "| allocate 2 pages, cached |",
        "| 17 pages, cached |",
        "Flatness",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(begin)), "{begin}: {text}");
    }
    assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
}

#[test]
fn a_heap_that_cannot_be_made_is_skipped() {
    // Its tables do not fit into so little address space, whatever memory there is.
    let bench = |args: &str| {
        let line = format!("ulimit -v 400000; exec '{}' pages {args}", env!("CARGO_BIN_EXE_heapwood-eval"));
        Ran::of(std::process::Command::new("sh").args(["-c", &line]))
    };
    let ran = bench("--heap 16TiB,4MiB --runs 1 --json");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.starts_with("heapwood-eval: skipped: a heap of 16 TiB: "), "{}", ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["skipped"][0]["bytes"], 1u64 << 44);
    assert_eq!(report["heaps"].as_array().unwrap().len(), 1);
    let ran = bench("--heap 16TiB --runs 1");
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("16 TiB") && ran.err.contains("no heap could be made"), "{}", ran.err);
}

#[test]
fn wrong_options_name_the_cause() {
    for (args, words) in [
        ("pages 7", &["'7'"][..]),
        ("pages --heap 0", &["--heap", "'0'", "4 MiB"]),
        ("pages --heap 1MiB", &["--heap", "1MiB", "4 MiB"]),
        ("pages --heap 5MiB", &["--heap", "5MiB", "chunks"]),
        ("pages --heap lots", &["--heap", "lots", "number"]),
        ("pages --heap 17TiB", &["--heap", "17TiB", "at most 16 TiB"]),
        ("pages --heap 99999999999TiB", &["--heap", "99999999999TiB", "memory"]),
        ("pages --heap 4MiB,,8MiB", &["--heap"]),
        ("pages --runs 0", &["--runs", "0"]),
    ] {
        fails(args, 2, words);
    }
}
