//! Binary trees in bumpalo's arenas, as a user in Rust would write them. Each line of short trees has one `Bump`, which
//! is reset between its arenas: that keeps the largest of its chunks, where a new one would begin with small chunks again.

use bumpalo::Bump;
use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::Builder;

const MIN_DEPTH: u32 = 4;
const DEFAULT_DEPTH: u64 = 21;
const DEPTH_LIMIT: u64 = 40;
const MOST_THREADS: u64 = 1024;
/// An arena is full when it holds so many bytes.
const ARENA_BYTES: u64 = 1 << 20;

struct Node<'a> {
    children: Option<(&'a Node<'a>, &'a Node<'a>)>,
}

const NODE_BYTES: u64 = size_of::<Node>() as u64;
const _: () = assert!(NODE_BYTES == 16);

fn bottom_up(arena: &Bump, depth: u32) -> &Node<'_> {
    let children = match depth {
        0 => None,
        _ => {
            let left = bottom_up(arena, depth - 1);
            Some((left, bottom_up(arena, depth - 1)))
        }
    };
    arena.alloc(Node { children })
}

impl Node<'_> {
    fn count(&self) -> u64 {
        match self.children {
            None => 1,
            Some((left, right)) => 1 + left.count() + right.count(),
        }
    }
}

#[derive(Default)]
struct Line {
    arenas: u64,
    nodes: u64,
}

/// Builds the trees of a line, each counted as soon as it is built.
fn fill_line(trees: u64, depth: u32) -> Line {
    let mut line = Line::default();
    let mut arena = Bump::new();
    let mut left = trees;
    while left > 0 {
        let mut nodes = 0;
        while left > 0 && nodes * NODE_BYTES < ARENA_BYTES {
            nodes += bottom_up(&arena, depth).count();
            left -= 1;
        }
        line.nodes += nodes;
        line.arenas += 1;
        arena.reset();
    }
    line
}

fn sizes(arenas: u64, nodes: u64) -> String {
    format!("arenas {arenas} nodes {nodes} MB {:.1}", (nodes * NODE_BYTES) as f64 / f64::from(1 << 20))
}

fn trees_arena(n: u32, threads: usize) {
    let max = n.max(MIN_DEPTH + 2);
    let stretch = bottom_up(&Bump::new(), max + 1).count();

    let long_lived_arena = Bump::new();
    let long_lived = bottom_up(&long_lived_arena, max);

    let depths: Vec<u32> = (MIN_DEPTH..=max).step_by(2).collect();
    let trees = |depth: u32| 1 << (max - depth + MIN_DEPTH);
    let next = AtomicUsize::new(0);
    let fill_lines = || {
        let mut filled = Vec::new();
        while let Some(&depth) = depths.get(next.fetch_add(1, Relaxed)) {
            filled.push((depth, fill_line(trees(depth), depth)));
        }
        filled
    };
    // This thread is one of them. No more than there are lines are of use.
    let mut lines = std::thread::scope(|scope| {
        let start = |t: usize| {
            Builder::new().spawn_scoped(scope, fill_lines).unwrap_or_else(|error| {
                eprintln!("thread {} of {threads} cannot be started: {error}", t + 1);
                exit(1);
            })
        };
        let others: Vec<_> = (1..threads.min(depths.len())).map(start).collect();
        let mut lines = fill_lines();
        lines.extend(others.into_iter().flat_map(|other| other.join().expect("a panic aborts")));
        lines
    });
    lines.sort_by_key(|&(depth, _)| depth);

    println!("stretch tree of depth {} {}", max + 1, sizes(1, stretch));
    for (depth, line) in &lines {
        println!("{} trees of depth {depth} {}", trees(*depth), sizes(line.arenas, line.nodes));
    }
    println!("long lived tree of depth {max} {}", sizes(1, long_lived.count()));
}

/// The version that was built in, as it stands in the lock file.
fn version() -> &'static str {
    let lock = include_str!("../../Cargo.lock");
    let (_, rest) = lock.split_once("name = \"bumpalo\"\nversion = \"").expect("the lock file names bumpalo");
    rest.split_once('"').expect("the version ends").0
}

fn fail() -> ! {
    eprintln!(
        "usage: bumpalo-trees-arena [N, 1..{DEPTH_LIMIT}, default {DEFAULT_DEPTH}] [--threads T, 1..{MOST_THREADS}]"
    );
    exit(2);
}

fn number(text: Option<String>, limit: u64) -> u64 {
    let value = text.and_then(|text| text.parse().ok());
    value.filter(|value| (1..=limit).contains(value)).unwrap_or_else(|| fail())
}

fn main() {
    let mut args = std::env::args().skip(1).peekable();
    let (mut n, mut threads) = (None, 1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--version" if n.is_none() && args.peek().is_none() => return println!("bumpalo {}", version()),
            "--threads" => threads = number(args.next(), MOST_THREADS),
            _ if n.is_none() => n = Some(number(Some(arg), DEPTH_LIMIT)),
            _ => fail(),
        }
    }
    trees_arena(n.unwrap_or(DEFAULT_DEPTH) as u32, threads as usize);
}
