//! `heapwood-eval replay` and `simulate`: replays and simulations of real and constructed samples, and the errors for invalid
//! ones. No test checks a measured time.

use crate::common::*;
use serde_json::{Value, json};

/// The sample of a real run.
fn real(name: &str) -> File {
    let file = File::new(name);
    sample_of_trees(10, &file);
    file
}

/// A sample of one moment, each chunk with the same word for all of its pages in use.
fn by_hand(name: &str, chunks: &[(usize, u64)]) -> File {
    let chunk = |&(index, word): &(usize, u64)| {
        let [in_use, scavenged] = [word, 0].map(|word| format!("{word:016x}").repeat(8));
        json!({"chunk": index, "in_use": in_use, "scavenged": scavenged})
    };
    let chunks: Vec<Value> = chunks.iter().map(chunk).collect();
    let moment = json!({"moment": "collected", "window_pages": 1 << 20, "chunks": chunks});
    let sample = json!({
        "format": "heapwood page sample 1", "program": "hands 1", "page_bytes": 8192, "moments": [moment]
    });
    File::with(name, sample.to_string())
}

/// Free at the bottom, in pieces of two pages at the top.
fn fragmented(name: &str) -> File {
    by_hand(name, &[(0, 1), (1, 0), (2, 0xcccc_cccc_cccc_cccc), (3, 0x3333_3333_3333_3333)])
}

const POLICIES: [&str; 3] = ["highest-address-first", "huge-pages-first", "heapwood"];

#[test]
fn every_free_page_is_allocated() {
    let file = real("every.json");
    let replayed = json(&format!("replay {file} --pages 1,3,mix --runs 2"));
    let samples = replayed["samples"].as_array().unwrap();
    assert!(samples.len() >= 2, "{replayed}");
    assert_eq!((&replayed["runs"], &samples[0]["program"]), (&json!(2), &json!("trees 10")));
    for sample in samples {
        let row = |pages: Value, cached: bool| {
            let rows = sample["rows"].as_array().unwrap();
            rows.iter().find(|row| row["pages"] == pages && row["cached"] == cached).unwrap()
        };
        assert!(sample["free_pages"].as_u64().unwrap() > 0, "{sample}");
        for cached in [false, true] {
            let one = row(json!(1), cached);
            assert_eq!((&one["allocations"], &one["free_pages_left"]), (&sample["free_pages"], &json!(0)));
            let three = row(json!(3), cached);
            let taken = three["allocated_pages"].as_u64().unwrap();
            assert_eq!(taken, 3 * three["allocations"].as_u64().unwrap());
            assert_eq!(taken + three["free_pages_left"].as_u64().unwrap(), sample["free_pages"]);
            assert_eq!(row(json!("mix"), cached)["free_pages_left"], 0);
            for key in ["median", "min", "max"] {
                assert!(one["ns"][key].as_f64().unwrap() > 0.0, "{one}");
            }
        }
        for pages in [json!(1), json!("mix")] {
            let [without, with] = [false, true].map(|cached| row(pages.clone(), cached));
            assert_eq!(with["allocated_pages"], without["allocated_pages"]);
            assert!(with["visits"].as_u64() < without["visits"].as_u64(), "{with} {without}");
        }
    }
}

#[test]
fn replays_of_several_files_are_tables() {
    let (file, other) = (real("tables.json"), by_hand("other.json", &[(5, 0xff00)]));
    let out = output(&format!("replay {file} {other} --pages 1,600 --runs 1"));
    let lines = squeezed(&out);
    for words in ["trees 10, exit", "hands 1, collected", "512 pages, 448 free", "| 1 | lock | 448 |"] {
        assert!(lines.iter().any(|line| line.contains(words)), "{words} is missing:\n{out}");
    }
    // Nothing fits, and nothing is timed.
    assert!(lines.contains(&"| 600 | cache | 0 | - | - | 448 |".to_string()), "{out}");
    let usual = json(&format!("replay {other} --runs 1"));
    let pages: Vec<&Value> =
        usual["samples"][0]["rows"].as_array().unwrap().iter().step_by(2).map(|r| &r["pages"]).collect();
    assert_eq!(json!(pages), json!([1, 2, 4, 8, 15, 16, 32, 64, "mix"]));
}

#[test]
fn a_sample_without_free_pages_is_no_error() {
    let file = by_hand("full.json", &[(0, u64::MAX)]);
    assert!(output(&format!("replay {file}")).contains("No page is free"));
    assert_eq!(json(&format!("replay {file}"))["samples"][0]["rows"], json!([]));
    let picture = File::new("full.svg");
    let out = output(&format!("simulate {file} --mutators 1 --plot {picture}"));
    assert!(out.contains("nothing to release") && out.contains("460 pages in use"), "{out}");
    assert!(std::fs::read_to_string(picture.path()).unwrap().contains("nothing to release"));
    let empty = by_hand("empty.json", &[]);
    let out = output(&format!("simulate {empty}"));
    assert!(out.contains("nothing to release") && out.contains("no pages"), "{out}");
    assert!(output(&format!("replay {empty}")).contains("No page is free"));
}

#[test]
fn simulations_are_repeatable() {
    let (hand, real) = (fragmented("repeat.json"), real("repeat-real.json"));
    for args in
        [format!("simulate {hand} --mutators 1,16"), format!("simulate {real} --moment exit --mutators 2")]
    {
        let first = json(&args);
        assert_eq!(json(&args), first);
        assert_eq!(first["samples"].as_array().unwrap().len(), 1);
    }
    // Earlier files of the same run do not matter.
    let two = json(&format!("simulate {hand} {hand} --mutators 1,16"));
    assert_eq!(two["samples"][0], two["samples"][1]);
}

#[test]
fn caches_are_reported_for_each_number_of_mutators() {
    let file = fragmented("caches.json");
    let simulated = json(&format!("simulate {file} --mutators 8,1,64"));
    let sample = &simulated["samples"][0];
    assert_eq!(sample["live_pages"], 2048 * 9 / 10);
    let rows = sample["caches"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["mutators"].as_u64().unwrap()).collect::<Vec<_>>(), [8, 1, 64]);
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap();
        let added = number("footprint_pages") - number("uncached_footprint_pages");
        assert!((number("added_kib") - added * 8.0).abs() < 1e-6, "{row}");
        assert!(number("cached_pages") <= 64.0 * number("mutators"), "{row}");
        assert_eq!(row["uncached_footprint_pages"], rows[0]["uncached_footprint_pages"]);
    }
}

#[test]
fn simulations_are_tables_and_a_picture() {
    let (file, picture) = (fragmented("picture.json"), File::new("picture.svg"));
    let out = output(&format!("simulate {file} {file} --mutators 1,2 --plot {picture}"));
    for words in ["1000 ns", "hands 1, collected", "50 %", "huge pages split", "added KiB", "mutators"] {
        assert!(out.contains(words), "{words} is missing:\n{out}");
    }
    let svg = std::fs::read_to_string(picture.path()).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    for name in POLICIES {
        // With the number of huge pages split behind it, once a panel.
        assert!(out.contains(name) && svg.matches(&format!("{name} (")).count() == 2, "{name}");
    }
    assert!(svg.contains("hands 1, collected") && svg.contains("footprint that caches add"));
}

#[test]
fn files_that_are_no_samples_are_errors() {
    let (missing, text) = (File::new("missing.json"), File::with("text.json", "no sample"));
    let other = File::with("object.json", "{}");
    let twice = by_hand("twice.json", &[(3, 0), (3, 0)]);
    let outside = by_hand("outside.json", &[(0, 0), (4000, 0)]);
    for command in ["replay", "simulate"] {
        let fails = |file: &File, words: &[&str]| fails(&format!("{command} {file}"), 1, words);
        fails(&missing, &["missing.json cannot be read", "No such file"]);
        fails(&text, &["text.json is no page sample", "--page-sample FILE", "line 1"]);
        fails(&other, &["object.json is no page sample", "missing field"]);
        fails(&twice, &["twice.json, moment collected", "chunk 3", "is there twice", "--page-sample FILE"]);
        fails(&outside, &["outside.json", "chunk 4000", "outside the reservation"]);
    }
    let folder = std::env::temp_dir();
    fails(&format!("replay {}", folder.display()), 1, &["cannot be read", "directory"]);
}

#[test]
fn unknown_moments_list_the_existing_ones() {
    let file = real("moments.json");
    let words = ["moments.json has no moment \"noon\"", "--moment one of: ", "exit"];
    fails(&format!("simulate {file} --moment noon"), 1, &words);
}

#[test]
fn wrong_options_name_the_cause() {
    let file = fragmented("wrong.json");
    let fails = |args: &str, words: &[&str]| fails(&args.replace("FILE", &file.to_string()), 2, words);
    fails("", &["Usage", "replay", "simulate"]);
    fails("replay", &["<FILE>"]);
    fails("simulate", &["<FILE>"]);
    for list in ["=", "=0", "=1,,2", "=-1", "=1.5", "=few"] {
        fails(&format!("replay FILE --pages{list}"), &["--pages", "number of pages from 1", "mix"]);
        fails(&format!("simulate FILE --mutators{list}"), &["--mutators", "number of mutators from 1"]);
    }
    fails("simulate FILE --mutators 1,0", &["'0'", "from 1 to 4096"]);
    fails("replay FILE --runs 0", &["--runs"]);
    fails("replay FILE --plot x.svg", &["--plot"]);
}

#[test]
fn pictures_that_cannot_be_written_are_errors() {
    let file = fragmented("unwritable.json");
    let args = format!("simulate {file} --plot /nowhere/picture.svg");
    fails(&args, 1, &["picture cannot be written to /nowhere/picture.svg", "No such file"]);
}

#[test]
fn the_help_names_everything() {
    for (command, words) in [
        ("replay", &["--pages", "--runs", "--json", "mix", "1,2,4,8,15,16,32,64,mix", "7"][..]),
        ("simulate", &["--moment", "collected", "--mutators", "--plot"]),
        ("simulate", &POLICIES),
    ] {
        let help = output(&format!("{command} --help"));
        for word in words.iter().chain(&["--page-sample", "Exit codes: 0"]) {
            assert!(help.contains(word), "{word} is missing:\n{help}");
        }
    }
    assert!(output("--help").contains("page samples"));
}
