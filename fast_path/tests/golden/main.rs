//! Compares the machine code of the fast paths with the golden files, for x86-64 and aarch64: an additional instruction is
//! an error here before it is a slower benchmark. Another compiler than that of a file may use another order and other
//! registers; then only the lengths of hot paths are compared. A skipped comparison is reported on the terminal.
//!
//! | module | what it does |
//! |---|---|
//! | [`compiler`] | makes assembly of the crate's functions, or says what is missing |
//! | [`assembly`] | makes listings of it that do not change with labels, addresses and hashes |
//! | [`listing`] | compares them with a golden file, or writes that |
//! | [`barriers`] | looks for barriers in the whole library |

mod assembly;
mod barriers;
mod compiler;
mod listing;

use compiler::Compiled;
use listing::Listing;
use std::io::Write;
use std::path::Path;

const FUNCTIONS_RUST: &[&str] = &[
    "alloc_pair",
    "alloc_leaf",
    "cell_set",
    "cell_get",
    "follow",
    "read_leaf",
    "safepoint",
    "arena_alloc_pair",
];
const FUNCTIONS_C: &[&str] = &[
    "alloc",
    "alloc_known",
    "alloc_bytes",
    "alloc_24_bytes",
    "write_pointer",
    "safepoint",
    "frame",
    "arena_alloc",
    "arena_alloc_bytes",
];

const FUNCTIONS_LIBGC: &[&str] = &["GC_malloc", "GC_malloc_atomic"];

/// Prints to the terminal, even if the harness captures output.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn check(name: &str, functions: &[&str], compiled: Result<Compiled, String>) {
    let Compiled { compiler, assembly } = match compiled {
        Ok(compiled) => compiled,
        Err(missing) => return say(&format!("SKIPPED: the golden machine code {name}: {missing}")),
    };
    let now = Listing { compiler, functions: assembly::functions(&assembly, functions) };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(format!("{name}.golden"));
    if std::env::var_os("HEAPWOOD_ACCEPT").is_some() {
        std::fs::write(&path, now.to_string()).unwrap();
        return say(&format!("{name}: accepted"));
    }
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let golden = Listing::parse(&text);
    if golden.compiler == now.compiler {
        if golden != now {
            panic!("{}", listing::difference(name, &golden, &now));
        }
        return;
    }
    say(&format!(
        "{name}: the golden file is {}'s and this is {}: only the lengths of hot paths are compared",
        golden.compiler, now.compiler
    ));
    if let Err(longer) = listing::not_longer(&golden, &now) {
        panic!("{longer}{}", listing::difference(name, &golden, &now));
    }
}

#[test]
#[ignore = "of the long suite: release builds for two machines"]
fn rust_fast_paths_are_golden_on_x86_64() {
    check("rust.x86_64", FUNCTIONS_RUST, compiler::rust("x86_64-unknown-linux-gnu"));
}

#[test]
#[ignore = "of the long suite: release builds for two machines"]
fn rust_fast_paths_are_golden_on_aarch64() {
    check("rust.aarch64", FUNCTIONS_RUST, compiler::rust("aarch64-unknown-linux-gnu"));
}

#[test]
#[ignore = "of the long suite: release builds for two machines"]
fn libgc_fast_paths_are_golden_on_x86_64() {
    check("libgc.x86_64", FUNCTIONS_LIBGC, compiler::libgc("x86_64-unknown-linux-gnu"));
}

#[test]
#[ignore = "of the long suite: release builds for two machines"]
fn libgc_fast_paths_are_golden_on_aarch64() {
    check("libgc.aarch64", FUNCTIONS_LIBGC, compiler::libgc("aarch64-unknown-linux-gnu"));
}

#[test]
#[ignore = "of the long suite: release builds for two machines"]
fn c_fast_paths_are_golden_on_x86_64() {
    check("c.x86_64", FUNCTIONS_C, compiler::c("x86_64"));
}

#[test]
#[ignore = "of the long suite: release builds for two machines"]
fn c_fast_paths_are_golden_on_aarch64() {
    check("c.aarch64", FUNCTIONS_C, compiler::c("aarch64"));
}
