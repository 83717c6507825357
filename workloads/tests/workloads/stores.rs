//! Workloads that store into old objects have the results of plain Rust, while the heap is collected and verified.

use crate::attach;
use heapwood::{Config, Mutator};
use heapwood_workloads::random::Random;
use heapwood_workloads::{graph, map};

/// Collects often: verify mode compares what each collection finds with the one before.
const SMALL: Config = Config::DEFAULT.min_heap(1 << 18).percent(10).huge_pages(false);

fn nothing_went_around_the_barrier(m: &Mutator, collected: bool) {
    let stats = m.heap().stats();
    assert_eq!(stats.barrier_violations, 0);
    assert!(stats.collections > 3 || !collected, "{stats:?}");
}

/// The map by its definition, with lists for chains.
#[test]
fn map_equals_a_plain_map() {
    for entries in [1, 2, 3, 30_000] {
        let mut random = Random::new();
        let mut chains = vec![Vec::new(); (entries as usize / 2).max(1)];
        let chain = |key: u64| (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % (entries / 2).max(1);
        for key in (0..entries).map(|entry| 2 * entry) {
            chains[chain(key) as usize].insert(0, (key, random.next_u64()));
        }
        let add = |sum: u64, r: u64| sum.wrapping_mul(31).wrapping_add(r).wrapping_add(r.wrapping_add(1));
        let mut checksum = 0;
        for _ in 0..10 * entries {
            let r = random.next_u64();
            let key = (r & 0xffff_ffff) % (2 * entries);
            let chain = &mut chains[chain(key) as usize];
            let found = chain.iter().position(|entry| entry.0 == key);
            checksum = found.map_or(checksum, |at| add(checksum, chain[at].1));
            match (found, (r >> 32) % 2) {
                (Some(at), 0) => chain[at].1 = r,
                (None, 0) => chain.insert(0, (key, r)),
                (Some(at), _) => drop(chain.remove(at)),
                (None, _) => {}
            }
        }
        let live = chains.iter().map(Vec::len).sum::<usize>() as u64;
        for (key, r) in chains.into_iter().flatten() {
            checksum = add(checksum, r).wrapping_add(key);
        }
        let m = attach(SMALL.verify(entries == 30_000));
        let outcome = map::run(&m, entries);
        assert_eq!((outcome.ops, outcome.checksum), (10 * entries, checksum));
        assert_eq!((outcome.live, outcome.requested_live_bytes), (Some(("entries", live)), Some(40 * live)));
        nothing_went_around_the_barrier(&m, entries == 30_000);
    }
}

/// The graph by its definition, with indices into a list of all nodes that ever were.
#[test]
fn graph_equals_a_plain_graph() {
    for nodes in [1, 2, 3, 30_000] {
        let mut random = Random::new();
        let slot = |r: u64| ((r & 0xffff_ffff) % nodes) as usize;
        let mut table: Vec<usize> = (0..nodes as usize).collect();
        let mut all: Vec<(u64, [usize; 4])> =
            (0..nodes).map(|id| (id, std::array::from_fn(|_| slot(random.next_u64())))).collect();
        let add = |sum: u64, id: u64| sum.wrapping_mul(31).wrapping_add(id);
        let mut checksum = 0;
        for op in 0..10 * nodes {
            let (r, s) = (random.next_u64(), random.next_u64());
            let (from, to, edge) = (table[slot(r)], table[slot(s)], (r >> 32) as usize % 4);
            checksum = add(checksum, all[all[from].1[edge]].0);
            let mut changed = from;
            if (r >> 34) % 8 == 0 {
                changed = all.len();
                all.push((nodes + op, all[from].1));
                table[slot(r)] = changed;
            }
            all[changed].1[edge] = to;
        }
        for node in table {
            checksum = all[node].1.iter().fold(add(checksum, all[node].0), |sum, to| add(sum, all[*to].0));
        }
        let m = attach(SMALL.verify(nodes == 30_000));
        let outcome = graph::run(&m, nodes);
        assert_eq!((outcome.ops, outcome.checksum), (10 * nodes, checksum));
        nothing_went_around_the_barrier(&m, nodes == 30_000);
    }
}
