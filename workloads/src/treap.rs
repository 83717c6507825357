//! Treap: an index of byte strings that is never changed, only replaced: each insert copies the path it goes down and
//! shares the rest, and who holds an older index finds it as it was. It is what the Go library gtreap does, in which the
//! search engine Bleve kept its index in memory: treaps (Aragon and Seidel) that are split and united, the new entry being
//! one. So nearly all that is allocated is the path of an index that the next insert replaces, and the few nodes that stay
//! are strewn among those. Invariant: no node changes, and only precise roots hold an index from one batch to the next.

use crate::random::Random;
use crate::workload::{Across, Figure, Line, N, Threads, Workload};
use heapwood::{Gc, Mutator, Root, Slice, Trace};
use heapwood_os::process::clock::monotonic_ns;
use serde_json::json;
use std::cmp::Ordering;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "treap",
    about: "An index of byte strings whose every insert copies a path, in batches, and then lookups",
    n: N { unit: "number of keys", usual: 500_000, most: 1 << 31 },
    threads: Threads::USUALLY_ONE,
    least_bytes: |keys| LEAST_KEY_BYTES as u128 * u128::from(keys),
    figures: FIGURES,
    shared: None,
    run: |m, n, report| report(run(m, n).into()),
};

const FIGURES: &[Figure] = &[
    Figure { name: "insert_s", label: "insert, s", headline: true, across: Across::Largest },
    Figure { name: "lookup_s", label: "lookup, s", headline: true, across: Across::Largest },
];

/// Inserts after which a new index is published, and the one before let go.
const BATCH: u64 = 100;
/// Batches after which the reader takes another snapshot.
const RENEWAL: usize = 10;
/// The bytes of a key.
const SHORTEST: usize = 8;
const LONGEST: usize = 24;

/// A node and a key of the shortest, with the word for its length.
const LEAST_KEY_BYTES: usize = size_of::<Node>() + size_of::<usize>() + SHORTEST;

/// An entry, and where the smaller and the larger ones are. Of a node and those below it this one's priority is the highest.
#[derive(Trace)]
struct Node {
    key: Gc<Slice<u8>>,
    left: Tree,
    right: Tree,
    priority: u32,
    value: u32,
}

type Tree = Option<Gc<Node>>;

const _: () = assert!(size_of::<Node>() == 32);

/// What a treap is in two, around a key.
struct Parts {
    smaller: Tree,
    equal: Tree,
    larger: Tree,
}

/// The entry of this node between other subtrees, with a priority.
fn place(m: &Mutator, entry: Gc<Node>, priority: u32, left: Tree, right: Tree) -> Tree {
    Some(m.alloc(Node { key: entry.key, left, right, priority, value: entry.value }))
}

/// What is in either of two treaps; of two entries with one key the newer one's.
fn unite(m: &Mutator, old: Tree, new: Tree) -> Tree {
    let (Some(a), Some(b)) = (old, new) else { return old.or(new) };
    if a.priority > b.priority {
        let parts = split(m, new, &a.key);
        let left = unite(m, a.left, parts.smaller);
        let right = unite(m, a.right, parts.larger);
        place(m, parts.equal.unwrap_or(a), a.priority, left, right)
    } else {
        let parts = split(m, old, &b.key);
        let left = unite(m, parts.smaller, b.left);
        let right = unite(m, parts.larger, b.right);
        place(m, b, b.priority, left, right)
    }
}

/// Takes a treap apart: a copy of the path to the key, in two.
fn split(m: &Mutator, tree: Tree, key: &[u8]) -> Parts {
    let Some(node) = tree else { return Parts { smaller: None, equal: None, larger: None } };
    match key.cmp(&node.key[..]) {
        Ordering::Equal => Parts { smaller: node.left, equal: tree, larger: node.right },
        Ordering::Less => {
            let parts = split(m, node.left, key);
            Parts { larger: place(m, node, node.priority, parts.larger, node.right), ..parts }
        }
        Ordering::Greater => {
            let parts = split(m, node.right, key);
            Parts { smaller: place(m, node, node.priority, node.left, parts.smaller), ..parts }
        }
    }
}

/// The value of a key.
fn find(mut tree: Tree, key: &[u8]) -> Option<u32> {
    while let Some(node) = tree {
        tree = match key.cmp(&node.key[..]) {
            Ordering::Equal => return Some(node.value),
            Ordering::Less => node.left,
            Ordering::Greater => node.right,
        };
    }
    None
}

/// Spells the key that a random number stands for: its bytes, then those of the numbers after it, as many as it says.
fn spell(r: u64, room: &mut [u8; LONGEST]) -> &[u8] {
    for (bytes, k) in room.chunks_exact_mut(8).zip(0..) {
        bytes.copy_from_slice(&r.wrapping_add(k).to_le_bytes());
    }
    &room[..SHORTEST + (r >> 32) as usize % (LONGEST - SHORTEST + 1)]
}

/// What lookups found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Keys that were there.
    pub keys: u64,
    /// Of their values, in order.
    pub sum: u64,
}

impl Found {
    fn look_up(&mut self, tree: Tree, r: u64) {
        if let Some(value) = find(tree, spell(r, &mut [0; LONGEST])) {
            self.keys += 1;
            self.sum = self.sum.wrapping_mul(31).wrapping_add(value.into());
        }
    }
}

/// What a run found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Keys inserted.
    pub keys: u64,
    /// Nodes of the last index, and how many of them are on its longest path.
    pub nodes: u64,
    /// See `nodes`.
    pub depth: u64,
    /// Of the values in the order of their keys.
    pub checksum: u64,
    /// What the reader found in its snapshots.
    pub snapshots: Found,
    /// What was found of all keys.
    pub present: Found,
    /// What was found of keys that were not inserted.
    pub absent: Found,
    /// The time of all inserts, the reader's lookups included.
    pub insert_s: f64,
    /// The time of the lookups after them.
    pub lookup_s: f64,
}

impl From<Outcome> for Line {
    fn from(outcome: Outcome) -> Line {
        let Outcome { keys, nodes, depth, checksum, snapshots, present, absent, insert_s, lookup_s } =
            outcome;
        let hex = |sum: u64| format!("0x{sum:016x}");
        let check = format!(
            "treap keys {keys} nodes {nodes} depth {depth} checksum {} snapshots {} sum {} found {} sum {} absent {}",
            hex(checksum),
            snapshots.keys,
            hex(snapshots.sum),
            present.keys,
            hex(present.sum),
            absent.keys,
        );
        let fields = json!({
            "keys": keys,
            "nodes": nodes,
            "depth": depth,
            "checksum": hex(checksum),
            "found_in_snapshots": snapshots.keys,
            "found": present.keys,
            "found_of_absent": absent.keys,
            "insert_s": insert_s,
            "lookup_s": lookup_s,
        });
        let text = format!("{check}\ninsert s {insert_s:.3}\nlookup s {lookup_s:.3}");
        Line { text, check, figures: vec![("insert_s", insert_s), ("lookup_s", lookup_s)], fields }
    }
}

impl Outcome {
    /// Goes through an index in the order of its keys; `depth` nodes lead there.
    fn walk(&mut self, tree: Tree, depth: u64) {
        let Some(node) = tree else { return self.depth = self.depth.max(depth) };
        self.walk(node.left, depth + 1);
        self.nodes += 1;
        self.checksum = self.checksum.wrapping_mul(31).wrapping_add(node.value.into());
        self.walk(node.right, depth + 1);
    }
}

/// An index that somebody holds.
type Held = Option<Root<Node>>;

fn tree(m: &Mutator, held: &Held) -> Tree {
    held.as_ref().map(|root| root.get(m))
}

fn hold(m: &Mutator, tree: Tree) -> Held {
    tree.map(|node| m.root(node))
}

/// The index with one key more.
fn insert(m: &Mutator, index: Tree, r: u64, random: u64) -> Tree {
    let key = m.alloc_copy(spell(r, &mut [0; LONGEST]));
    let (priority, value) = ((random >> 32) as u32, random as u32);
    unite(m, index, Some(m.alloc(Node { key, left: None, right: None, priority, value })))
}

/// Inserts so many keys, in batches, while a reader holds older snapshots; gives what is published at the end.
fn insert_all(m: &Mutator, keys: u64, random: &mut Random, snapshots: &mut Found) -> Held {
    let (mut published, mut snapshot): (Held, Held) = (None, None);
    // The first key of each batch.
    let mut firsts = Vec::new();
    for first in (0..keys).step_by(BATCH as usize) {
        let mut index = tree(m, &published);
        for key in first..keys.min(first + BATCH) {
            let r = random.next_u64();
            if key == first {
                firsts.push(r);
            }
            index = insert(m, index, r, random.next_u64());
        }
        published = hold(m, index);
        if firsts.len() % RENEWAL == 0 {
            // Of these batches the first half is in it, unless it is the first snapshot, and the second is not.
            for r in &firsts[firsts.len().saturating_sub(2 * RENEWAL)..] {
                snapshots.look_up(tree(m, &snapshot), *r);
            }
            snapshot = hold(m, index);
        }
    }
    published
}

/// Makes an index of so many keys, looks all of them up, and as many others.
pub fn run(m: &Mutator, keys: u64) -> Outcome {
    let (mut outcome, mut random) = (Outcome { keys, ..Outcome::default() }, Random::new());
    let start = monotonic_ns();
    let published = insert_all(m, keys, &mut random, &mut outcome.snapshots);
    let middle = monotonic_ns();
    let (index, mut again) = (tree(m, &published), Random::new());
    for _ in 0..keys {
        outcome.present.look_up(index, again.next_u64());
        again.next_u64();
    }
    for _ in 0..keys {
        outcome.absent.look_up(index, random.next_u64());
    }
    let seconds = |ns: u64| ns as f64 / 1e9;
    (outcome.insert_s, outcome.lookup_s) = (seconds(middle - start), seconds(monotonic_ns() - middle));
    outcome.walk(index, 0);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood::{Config, Heap};
    use std::collections::BTreeMap;

    /// What a treap has, in order; its priorities must fall from each node to those below.
    fn entries(tree: Tree, most: u32, into: &mut Vec<(Vec<u8>, u32)>) {
        let Some(node) = tree else { return };
        assert!(node.priority <= most);
        entries(node.left, node.priority, into);
        into.push((node.key.to_vec(), node.value));
        entries(node.right, node.priority, into);
    }

    /// Few keys, so that most inserts replace one that is there, above or below the new priority; and every index that ever was
    /// is found as it was.
    #[test]
    fn an_index_is_a_map_that_stays_as_it_was() {
        let config = Config::DEFAULT.min_heap(1 << 18).percent(10).huge_pages(false).verify(true);
        // SAFETY: pointers are on this thread's stack, in objects and in roots.
        let m = unsafe { Heap::new(config) }.unwrap().attach().unwrap();
        let (mut random, mut map) = (Random::new(), BTreeMap::new());
        let mut versions: Vec<(Held, BTreeMap<Vec<u8>, u32>)> = Vec::new();
        let mut index = None;
        for _ in 0..300 {
            let (r, s) = (random.next_u64() % 50, random.next_u64());
            index = insert(&m, index, r, s);
            map.insert(spell(r, &mut [0; LONGEST]).to_vec(), s as u32);
            versions.push((hold(&m, index), map.clone()));
        }
        m.collect();
        for (held, map) in &versions {
            let index = tree(&m, held);
            let mut found = Vec::new();
            entries(index, u32::MAX, &mut found);
            assert!(found.into_iter().eq(map.clone()));
            for r in 0..60 {
                let mut room = [0; LONGEST];
                let key = spell(r, &mut room);
                assert_eq!(find(index, key), map.get(key).copied());
            }
        }
        assert_eq!(map.len(), 50);
    }

    #[test]
    fn keys_are_of_all_lengths() {
        for r in [0, 16 << 32 | 255, 17 << 32] {
            let mut room = [0; LONGEST];
            let key = spell(r, &mut room);
            assert_eq!(key.len(), if r == 16 << 32 | 255 { 24 } else { 8 });
            assert_eq!(key[..8], r.to_le_bytes());
            assert!(key.get(8..16).is_none_or(|next| *next == (r + 1).to_le_bytes()));
        }
    }
}
