//! Graph: a million nodes with four edges each, rewired at random. Nearly every step writes a pointer into an old
//! object. One step in eight makes a new node, which takes the slot and the edges of another. A replaced node lives as
//! long as an edge leads to it. Only a trace can decide that, so the program could not free nodes itself.

use crate::random::Random;
use crate::replacements::{Gaps, Outcome, SAMPLE, figures};
use crate::workload::{Figure, N, Threads, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice, Trace};

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "graph",
    about: "A graph of nodes with four edges each, rewired at random, 10 times as often as there are nodes",
    n: N { unit: "number of nodes", usual: 1_000_000, most: 1 << 31 },
    threads: Threads::USUALLY_ONE,
    least_bytes,
    figures: FIGURES,
    shared: None,
    run: |m, n, report| report(run(m, n).line("graph")),
};

const FIGURES: &[Figure] = &figures("million rewirings a second");

/// Rewirings for each node.
const ROUNDS: u64 = 10;
/// Edges of a node.
const EDGES: usize = 4;

type Edge = GcCell<Option<Gc<Node>>>;

#[derive(Trace)]
struct Node {
    edges: [Edge; EDGES],
    id: u64,
}

const _: () = assert!(size_of::<Node>() == 40);

/// The minimum of bytes alive at once: the nodes in the table, and the table.
fn least_bytes(nodes: u64) -> u128 {
    (size_of::<Node>() + size_of::<Edge>()) as u128 * u128::from(nodes)
}

impl Node {
    /// A replacement of `old` with its edges, except one that leads elsewhere.
    fn instead_of(old: &Node, which: usize, to: Option<Gc<Node>>, id: u64) -> Node {
        let edge = |k: usize| if k == which { to } else { old.edges[k].get() };
        Node { edges: std::array::from_fn(|k| GcCell::new(edge(k))), id }
    }
}

/// A table of `nodes` nodes with random edges.
fn build(m: &Mutator, nodes: u64, random: &mut Random) -> Gc<Slice<Edge>> {
    let table: Gc<Slice<Edge>> = m.alloc_slice(nodes as usize, |_| GcCell::new(None));
    for (slot, id) in table.iter().zip(0..) {
        let edges = std::array::from_fn(|_| GcCell::new(None));
        slot.set(m, Some(m.alloc(Node { edges, id })));
    }
    for node in table.iter().filter_map(|slot| slot.get()) {
        for edge in &node.edges {
            edge.set(m, pick(&table, random.next_u64()).get());
        }
    }
    table
}

/// The slot for a random number.
fn pick(table: &[Edge], r: u64) -> &Edge {
    &table[(r & 0xffff_ffff) as usize % table.len()]
}

/// Rewires a graph of `nodes` nodes.
pub fn run(m: &Mutator, nodes: u64) -> Outcome {
    let (mut random, ops) = (Random::new(), nodes * ROUNDS);
    let table = build(m, nodes, &mut random);
    let (mut checksum, mut gaps) = (0u64, Gaps::start());
    let read = |sum: u64, node: Option<Gc<Node>>| sum.wrapping_mul(31).wrapping_add(node.map_or(0, |n| n.id));
    for op in 0..ops {
        let (r, s) = (random.next_u64(), random.next_u64());
        let (slot, to) = (pick(&table, r), pick(&table, s).get());
        let Some(from) = slot.get() else { continue };
        let which = (r >> 32) as usize % EDGES;
        checksum = read(checksum, from.edges[which].get());
        if (r >> 34) % 8 == 0 {
            slot.set(m, Some(m.alloc(Node::instead_of(&from, which, to, nodes + op))));
        } else {
            from.edges[which].set(m, to);
        }
        if op % SAMPLE == SAMPLE - 1 {
            gaps.sample();
        }
    }
    let (longest_gap_ns, mops) = gaps.end(ops);
    for node in table.iter().filter_map(|slot| slot.get()) {
        checksum = node.edges.iter().map(|edge| edge.get()).fold(read(checksum, Some(node)), read);
    }
    Outcome { ops, checksum, longest_gap_ns, mops, live: None, requested_live_bytes: None }
}
