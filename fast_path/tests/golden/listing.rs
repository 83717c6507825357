//! A golden file: the compiler it was made by, and a listing a function. Comments, which begin with `#`, are for readers.

use crate::assembly;
use std::fmt;

const HEAD: &str = "\
# What the functions of fast_path/src compile to. If a change is meant, look at it and accept it:
# HEAPWOOD_ACCEPT=1 cargo test -p heapwood-fast-path
";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(crate) compiler: String,
    pub(crate) functions: Vec<(String, Vec<String>)>,
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}compiler: {}", self.compiler)?;
        for (name, code) in &self.functions {
            writeln!(f, "\n{name}:")?;
            for line in code {
                writeln!(f, "    {line}")?;
            }
        }
        Ok(())
    }
}

impl Listing {
    /// Reads what `Display` writes.
    pub(crate) fn parse(text: &str) -> Listing {
        let mut listing = Listing { compiler: String::new(), functions: Vec::new() };
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            match (line.strip_prefix("    "), listing.functions.last_mut()) {
                (Some(code), Some((_, function))) => function.push(code.to_owned()),
                _ => match line.strip_prefix("compiler: ") {
                    Some(compiler) => listing.compiler = compiler.to_owned(),
                    None => listing.functions.push((line.trim_end_matches(':').to_owned(), Vec::new())),
                },
            }
        }
        listing
    }
}

/// The changes, and how to accept them.
pub(crate) fn difference(name: &str, golden: &Listing, now: &Listing) -> String {
    let (golden, now) = (golden.to_string(), now.to_string());
    let difference = similar::TextDiff::from_lines(&golden, &now);
    format!(
        "\nthe machine code of a fast path has changed:\n{}\nIf it is meant: HEAPWOOD_ACCEPT=1 cargo test -p \
         heapwood-fast-path, and say in the commit why.\n",
        difference.unified_diff().context_radius(20).header(&format!("golden/{name}.golden"), "now")
    )
}

/// Checks that no hot path is longer. The error names those that are.
pub(crate) fn not_longer(golden: &Listing, now: &Listing) -> Result<(), String> {
    let mut longer = String::new();
    for (name, code) in &now.functions {
        let Some((_, before)) = golden.functions.iter().find(|(golden, _)| golden == name) else {
            longer += &format!("{name} is not in the golden file\n");
            continue;
        };
        let (before, after) = (assembly::hot_path(before), assembly::hot_path(code));
        if after > before {
            longer += &format!("{name}: {after} instructions, and there were {before}\n");
        }
    }
    if longer.is_empty() { Ok(()) } else { Err(longer) }
}

#[test]
fn a_written_listing_is_read_back() {
    let code = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
    let listing = Listing {
        compiler: "cc 1".into(),
        functions: vec![("f".into(), code(&["ja L1", "ret", "L1:", "jmp g"])), ("g".into(), code(&["ret"]))],
    };
    assert_eq!(Listing::parse(&listing.to_string()), listing);
}

#[test]
fn a_longer_hot_path_is_reported() {
    let listing = |code: &[&str]| Listing {
        compiler: String::new(),
        functions: vec![("f".into(), code.iter().map(|&line| line.to_owned()).collect())],
    };
    let short = listing(&["mov a, b", "ret", "L1:", "jmp slow"]);
    let long = listing(&["mov a, b", "mov c, d", "ret"]);
    assert_eq!(not_longer(&long, &short), Ok(()));
    assert_eq!(not_longer(&short, &long), Err("f: 3 instructions, and there were 2\n".into()));
}
