//! The table of accidents (docs/design/accidents.md) against the sources: each entry has an outcome, and tests that exist. Invariant: what
//! stands there as impossible is a program that the compiler must refuse, all else a test function.

use std::path::Path;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/design/accidents.md");
const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");

/// Ways into the library: a column each.
const DOORS: [&str; 4] = ["plain", "Watched", "`Scanned`", "`Session`"];

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Why a name in the table leads to no test.
fn lost(name: &str) -> Result<(), String> {
    let tests = Path::new(TESTS);
    if name.starts_with("ui/") {
        let both = ["rs", "stderr"].iter().all(|ending| tests.join(format!("{name}.{ending}")).is_file());
        return if both { Ok(()) } else { Err(format!("no program {name}.rs with its .stderr")) };
    }
    let parts: Vec<&str> = name.split("::").collect();
    let (program, module, function) = match parts[..] {
        [program, function] => (program, None, function),
        [program, module, function] => (program, Some(module), function),
        _ => return Err(format!("{name} is not program::module::function")),
    };
    let roots = [tests.join(format!("{program}.rs")), tests.join(program).join("main.rs")];
    let root = roots.iter().find_map(|root| read(root)).ok_or(format!("no test program {program}"))?;
    let text = match module {
        None => root,
        Some(module) if !root.contains(&format!("\nmod {module};\n")) => {
            return Err(format!("{program} has no module {module}"));
        }
        Some(module) => {
            let files = [tests.join(program).join(format!("{module}.rs")), tests.join(module).join("mod.rs")];
            files.iter().find_map(|file| read(file)).ok_or(format!("no file of {program}::{module}"))?
        }
    };
    let mut lines = text.lines();
    let declared = format!("fn {function}() {{");
    // Attributes may stand between the two.
    while lines.any(|line| line == "#[test]") {
        let mut rest = lines.clone().skip_while(|line| line.starts_with("#["));
        if rest.next() == Some(&declared) {
            return Ok(());
        }
    }
    Err(format!("{name} is no test"))
}

/// What is wrong with an entry.
fn wrong_with(entry: &str, door: &str) -> Result<(), String> {
    let names: Vec<&str> =
        entry.split('`').skip(1).step_by(2).filter(|name| !name.starts_with("Watched<")).collect();
    for name in &names {
        lost(name)?;
    }
    let outcomes = ["impossible", "refused", "named", "right", "rule ", "no: "];
    let Some(outcome) = outcomes.iter().find(|outcome| entry.starts_with(**outcome)) else {
        return Err(format!("it begins with none of {outcomes:?}"));
    };
    let refused_programs = names.iter().filter(|name| name.starts_with("ui/")).count();
    if entry.contains("impossible") != (refused_programs > 0) {
        return Err("impossible is what the compiler refuses, and nothing else".into());
    }
    match *outcome {
        "no: " => return Ok(()),
        "rule " => {
            let rules = if door == "`Scanned`" { 3 } else { 5 };
            let number = entry["rule ".len()..].split(' ').next().and_then(|number| number.parse().ok());
            if door == "`Session`" || !number.is_some_and(|number: u32| (1..=rules).contains(&number)) {
                return Err(format!("{door} has no such rule"));
            }
        }
        _ => {}
    }
    if names.is_empty() { Err("it names no test".into()) } else { Ok(()) }
}

/// The rows of the tables whose columns are the doors.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let mut rows = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if cells[0] == "accident" {
            assert_eq!(cells[1..], DOORS);
            inside = true;
        } else if !line.starts_with('|') {
            inside = false;
        } else if inside && !line.starts_with("|--") {
            rows.push(cells);
        }
    }
    rows
}

fn problems(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for row in rows(text) {
        if row.len() != 1 + DOORS.len() {
            problems.push(format!("{}: {} entries", row[0], row.len() - 1));
        }
        for (entry, door) in row[1..].iter().zip(DOORS) {
            if let Err(problem) = wrong_with(entry, door) {
                problems.push(format!("{}, {door}: {problem}", row[0]));
            }
        }
    }
    problems
}

#[test]
fn the_table_names_tests_that_exist() {
    let text = read(Path::new(TABLE)).expect("docs/design/accidents.md");
    assert!(rows(&text).len() > 25, "{} accidents", rows(&text).len());
    assert_eq!(problems(&text), Vec::<String>::new());
}

/// A table in which each entry is wrong.
#[test]
fn a_table_that_rots_is_noticed() {
    let right = "right `heapwood::accidents::a_table_that_rots_is_noticed`";
    let table = |entry: &str, door: usize| {
        let entries: Vec<&str> = (0..4).map(|i| if i == door { entry } else { right }).collect();
        format!(
            "| accident | {} |\n|---|---|---|---|---|\n| a | {} |\n",
            DOORS.join(" | "),
            entries.join(" | ")
        )
    };
    assert_eq!(problems(&table(right, 0)), Vec::<String>::new());
    for (entry, door, problem) in [
        ("right `heapwood::accidents::gone`", 0, "is no test"),
        ("right `heapwood::accidents::problems`", 1, "is no test"),
        ("right `heapwood::gone::gone`", 2, "has no module gone"),
        ("right `gone::gone`", 3, "no test program gone"),
        ("right `gone`", 3, "is not program::module::function"),
        ("impossible `ui/fail/gone`", 0, "no program ui/fail/gone.rs"),
        ("impossible `heapwood::accidents::a_table_that_rots_is_noticed`", 0, "impossible is what"),
        ("right `ui/fail/packed`", 0, "impossible is what"),
        ("right", 0, "names no test"),
        ("good `heapwood::accidents::a_table_that_rots_is_noticed`", 0, "begins with none of"),
        ("rule 4 `heapwood::accidents::a_table_that_rots_is_noticed`", 2, "no such rule"),
        ("rule 1 `heapwood::accidents::a_table_that_rots_is_noticed`", 3, "no such rule"),
    ] {
        let found = problems(&table(entry, door));
        assert!(found.len() == 1 && found[0].contains(problem), "{entry}: {found:?}");
    }
    assert!(problems(&table(right, 0).replace(&format!(" | {right} |\n"), " |\n"))[0].contains("3 entries"));
}
