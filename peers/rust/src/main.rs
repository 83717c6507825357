//! Heapwood's workloads with other memory managers for Rust, and in a session, each as its own users would write it:
//! `rust-peer MANAGER WORKLOAD N`. Which there are is in `MANAGERS`.

mod boa;
mod gc_arena;
mod map;
mod rc;
mod rc_lox;
mod session;
mod trees;

use heapwood_workloads::protocol;
use heapwood_workloads::workload::Line;
use std::process::exit;

/// Whatever allocates outside a heap of its own does it here. Heapwood's heap is its own.
#[global_allocator]
static MALLOC: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Report<'a> = &'a mut dyn FnMut(Line);

/// A workload with one of the managers.
struct Program {
    name: &'static str,
    run: fn(u64, Report<'_>),
}

struct Manager {
    name: &'static str,
    /// The package of the lock file whose version is told.
    package: &'static str,
    programs: &'static [Program],
}

const MANAGERS: &[Manager] = &[
    Manager {
        name: "session",
        package: "heapwood",
        programs: &[
            Program { name: "trees", run: |n, report| trees::run(&mut session::Trees::new(), n, report) },
            Program { name: "map", run: |n, report| map::run(&mut session::Map::new(n), n, report) },
            Program { name: "lox", run: session::lox },
        ],
    },
    Manager {
        name: "rc",
        package: "mimalloc",
        programs: &[
            Program { name: "trees", run: |n, report| trees::run(&mut rc::Trees::default(), n, report) },
            Program { name: "map", run: |n, report| map::run(&mut rc::Map::new(n), n, report) },
            Program { name: "lox", run: rc_lox::run },
        ],
    },
    Manager {
        name: "gc-arena",
        package: "gc-arena",
        programs: &[
            Program { name: "trees", run: |n, report| trees::run(&mut gc_arena::Trees::new(), n, report) },
            Program { name: "map", run: |n, report| map::run(&mut gc_arena::Map::new(n), n, report) },
        ],
    },
    Manager {
        name: "boa",
        package: "boa_gc",
        programs: &[
            Program { name: "trees", run: |n, report| trees::run(&mut boa::Trees::default(), n, report) },
            Program { name: "map", run: |n, report| map::run(&mut boa::Map::new(n), n, report) },
        ],
    },
];

/// The version of a package that was built in, as the lock file has it.
fn version(package: &str) -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let name = format!("name = \"{package}\"\nversion = \"");
    lock.split_once(&name).and_then(|(_, rest)| rest.split_once('"')).expect("the lock file names it").0
}

fn fail() -> ! {
    eprintln!("usage: rust-peer MANAGER WORKLOAD N, or --version in place of N");
    for manager in MANAGERS {
        let programs: Vec<&str> = manager.programs.iter().map(|program| program.name).collect();
        eprintln!("  {}: {}", manager.name, programs.join(", "));
    }
    exit(2);
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [manager, workload, n] = args.as_slice() else { fail() };
    let found = MANAGERS.iter().find(|known| known.name == manager).and_then(|manager| {
        let program = manager.programs.iter().find(|program| program.name == workload)?;
        Some((manager, program))
    });
    let Some((manager, program)) = found else { fail() };
    if n == "--version" {
        return println!("{} {}", manager.package, version(manager.package));
    }
    let Some(n) = n.parse().ok().filter(|n| *n > 0) else { fail() };
    (program.run)(n, &mut |line| println!("{}", protocol::print(&line)));
}
