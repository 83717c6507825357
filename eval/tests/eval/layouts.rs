//! `heapwood-eval layouts`: it has a row for every type and pattern, with published measurements. No test checks a measured
//! time.

use crate::common::*;
use heapwood_layout::describe::{Item, compile, parse};
use heapwood_layout::program::{Builder, ProgramBuf};
use serde_json::json;

/// The types of the benchmarks with their words, and with what a builder makes of them where that is written down here.
const TYPES: [(&str, u64, Option<u64>); 26] = [
    ("Ptr", 1, Some(3)),
    ("Ptr8", 8, None),
    ("Ptr16", 16, None),
    ("Ptr32", 32, None),
    ("Ptr64", 64, None),
    ("Ptr126", 126, None),
    ("Ptr128", 128, None),
    ("PtrSlice", 1024, None),
    ("Node1", 3, Some(3)),
    ("Node1Slice", 96, None),
    ("Node8", 10, Some(4)),
    ("Node8Slice", 320, None),
    ("Node64", 66, None),
    ("Node64Slice", 2112, None),
    ("Node64Dead", 66, None),
    ("Node64DeadSlice", 2112, None),
    ("Node124", 126, None),
    ("Node124Slice", 4032, None),
    ("Node126", 128, None),
    ("Node126Slice", 4096, None),
    ("Node128", 130, Some(7)),
    ("Node128Slice", 4160, None),
    ("Node130", 132, None),
    ("Node130Slice", 4224, None),
    ("Node1024", 1026, None),
    ("Node1024Slice", 32832, None),
];

/// The type in the syntax of `heapwood layout show`.
fn written(name: &str) -> String {
    let slice = name.ends_with("Slice");
    let base = name.trim_end_matches("Slice");
    let (dead, base) = (base.ends_with("Dead"), base.trim_end_matches("Dead"));
    let element = match base.split_at(if base.starts_with("Ptr") { 3 } else { 4 }) {
        ("Ptr", "") => "ptr".into(),
        ("Ptr", k) => format!("[{k}]ptr"),
        (_, k) if dead => format!("{{[2]ptr [{k}]word}}"),
        (_, k) => format!("{{[{k}]word [2]ptr}}"),
    };
    let n = if base == "Ptr" { 1024 } else { 32 };
    if slice { format!("[{n}]{element}") } else { element }
}

/// The program of a type as it is written, and its pointers, counted one by one.
fn made(ty: &str) -> (ProgramBuf<64>, usize) {
    let mut items = vec![Item::Scalars(0); 16];
    let mut builder = Builder::<64>::new();
    compile(parse(ty, &mut items).unwrap(), &mut builder).unwrap();
    let program = builder.try_finish().unwrap();
    let of = program.program();
    let pointers = (0..of.words()).filter(|word| of.is_pointer(*word)).count();
    (program, pointers)
}

#[test]
fn layouts_are_measured() {
    let report = json("layouts --runs 1");
    assert_eq!(report["runs"], 1);
    assert_eq!(report["command"], "heapwood-eval layouts --runs 1");
    let rows = report["types"].as_array().unwrap();
    assert_eq!(rows.len(), TYPES.len());
    for (row, (name, words, program_bytes)) in rows.iter().zip(TYPES) {
        assert_eq!((&row["name"], &row["words"]), (&json!(name), &json!(words)));
        assert_eq!((&row["bytes"], &row["mask_bytes"]), (&json!(words * 8), &json!(words.div_ceil(8))));
        for key in
            ["allocate_ns", "allocate_no_pointers_ns", "decode_ns", "copy_mask_ns", "recursive_ns", "find_ns"]
        {
            check_spread(&row[key]);
        }
        // The output of `heapwood layout show` for the same type.
        let (program, pointers) = made(&written(name));
        for (key, of_type) in [
            ("words", json!(program.words())),
            ("pointers", json!(pointers)),
            ("program_bytes", json!(program.bytes().len())),
        ] {
            assert_eq!(row[key], of_type, "{name}: {key}");
        }
        if let Some(bytes) = program_bytes {
            assert_eq!(row["program_bytes"], bytes, "{name}");
        }
        for key in ["go_2015_before_ns", "go_2015_after_ns", "go_1_26_ns"] {
            assert!(row["quoted"][key].as_f64().unwrap() > 0.0, "{row}");
        }
    }
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    assert_eq!(
        row("Node1024Slice")["quoted"],
        json!({"go_2015_before_ns": 15500.0, "go_2015_after_ns": 17800.0, "go_1_26_ns": 6.98})
    );
    for (name, by, zeroed) in [
        ("Ptr", "mask", false),
        ("Node124Slice", "slice of masks", true),
        ("Node1024", "program", false),
        ("Node1024Slice", "slice of programs", true),
    ] {
        let row = row(name);
        assert_eq!((&row["described_by"], &row["zeroed"]), (&json!(by), &json!(zeroed)), "{name}");
    }

    let rates = report["rates"].as_array().unwrap();
    assert_eq!(rates.len(), 15);
    for (name, bits, go) in [
        ("2^20 ones", 1 << 20, Some(7.3)),
        ("65 x 10K", 650_000, None),
        ("100 x 100 x 3", 30_000, Some(6.2)),
        ("Node1024Slice", 32_832, Some(6.5)),
    ] {
        let rate = rates.iter().find(|rate| rate["name"] == name).unwrap();
        assert_eq!((&rate["bits"], &rate["quoted_go_1_26_best_bits_per_ns"]), (&json!(bits), &json!(go)));
        assert!(rate["program_bytes"].as_u64().unwrap() > 0);
        check_spread(&rate["bits_per_ns"]);
        check_spread(&rate["older_bits_per_ns"]);
    }
}

#[test]
fn layouts_are_tables_for_people() {
    let out = output("layouts --runs 1");
    let lines = squeezed(&out);
    assert_eq!(lines.iter().filter(|line| line.starts_with("| Node1024Slice | ")).count(), 3, "{out}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("|")).count(), 2 * (26 + 2) + 15 + 2);
    for words in [
        "quoted: Go 1.26",
        "quoted: 2015 cached mask",
        "quoted: 2015 program",
        "published measurements",
        "find:",
    ] {
        assert!(out.contains(words), "{words} is missing:\n{out}");
    }
    assert!(
        lines.iter().any(|line| line.starts_with("| Ptr8 |") && line.ends_with("| 21.0 | 21.4 | 5.43 |")),
        "{out}"
    );
}

#[test]
fn wrong_options_name_the_cause() {
    for (args, words) in [
        ("layouts 5", "'5'"),
        ("layouts --heap 4MiB", "--heap"),
        ("layouts --plot x.svg", "--plot"),
        ("layouts --runs 0", "--runs"),
    ] {
        fails(args, 2, &[words]);
    }
    let help = output("layouts --help");
    for word in ["SetType", "quoted", "--runs", "--json", "Exit codes: 0"] {
        assert!(help.contains(word), "{word} is missing:\n{help}");
    }
}
