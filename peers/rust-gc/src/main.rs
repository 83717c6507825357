//! The small programs with other collectors for Rust, as users of each would write them: `rust-gc-peer gc-arena trees 18`.

mod boa;
mod dumpster;
mod gc_arena;
#[path = "../../../examples/small/src/work.rs"]
mod work;

use std::process::exit;

/// The collectors, and what paces them.
const PEERS: [(&str, &str, work::Work, work::Work); 3] = [
    ("gc-arena", "default pacing, collect_debt after each tree or batch", gc_arena::trees, gc_arena::tables),
    ("dumpster", "unsync, default condition", dumpster::trees, dumpster::tables),
    ("boa_gc", "default threshold", boa::trees, boa::tables),
];

/// The version that was built in, as it stands in the lock file.
fn version(name: &str) -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let (_, rest) =
        lock.split_once(&format!("name = \"{name}\"\nversion = \"")).expect("the lock file names it");
    rest.split_once('"').expect("the version ends").0
}

fn main() {
    let args = work::arguments();
    let peer = args.first().and_then(|name| PEERS.iter().find(|(peer, ..)| peer == name));
    let Some(&(name, pacing, trees, tables)) = peer else {
        eprintln!("usage: rust-gc-peer {} --version, or WORKLOAD N", PEERS.map(|(peer, ..)| peer).join("|"));
        exit(2);
    };
    if args[1..] == ["--version"] {
        println!("{name} {}, {pacing}", version(name));
        return;
    }
    work::main(&args[1..], trees, tables);
}
