//! Mark: a static graph of 32-byte objects with two pointers each, collected in full. Three graphs: a balanced tree
//! whose objects lie in preorder, the same tree with the objects shuffled, and a random graph.

use crate::random::Random;
use crate::workload::{self, Figure, N, Workload};
use heapwood::{Gc, GcCell, Mutator, Root, Slice, Trace};
use heapwood_os::clock::monotonic_ns;
use serde_json::json;

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "mark",
    about: "A static graph of 32-byte objects, collected in full",
    // Indices have 32 bits, and one of them means none.
    n: N { unit: "number of objects", usual: 8_000_000, most: 1 << 31 },
    least_bytes,
    figures: &[
        Figure { name: "in_order_ns", label: "in order, ns an object", headline: true },
        Figure { name: "shuffled_ns", label: "shuffled, ns an object", headline: true },
        Figure { name: "random_ns", label: "random, ns an object", headline: true },
    ],
    run: |m, n, report| run(m, n, |line| report(line.of(n))),
};

const COLLECTIONS: usize = 3;
const ROOT_STRIDE: usize = 64;
const NONE: u32 = u32::MAX;

#[derive(Trace)]
struct Object {
    links: [GcCell<Option<Gc<Object>>>; 2],
    _id: u64,
    _seen: u64,
}

const _: () = assert!(size_of::<Object>() == 32);

/// The time of full collections of one graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The graph's name.
    pub graph: &'static str,
    /// Objects that the roots lead to.
    pub reached: u64,
    /// The fastest collection, per object reached.
    pub best_ns: f64,
    /// The one in the middle.
    pub median_ns: f64,
    /// What the last collection found alive.
    pub live_objects: u64,
}

impl Line {
    fn of(self, objects: u64) -> workload::Line {
        let Line { graph, reached, best_ns, median_ns, live_objects } = self;
        let check = format!("mark {graph} objects {objects} reached {reached}");
        let figure = match graph {
            "in-order" => "in_order_ns",
            "shuffled" => "shuffled_ns",
            _ => "random_ns",
        };
        workload::Line {
            text: format!("{check} best_ns_per_object {best_ns:.3} median_ns_per_object {median_ns:.3}"),
            check,
            figures: vec![(figure, best_ns)],
            fields: json!({
                "graph": graph,
                "objects": objects,
                "reached": reached,
                "best_ns_per_object": best_ns,
                "median_ns_per_object": median_ns,
                "live_objects": live_objects,
            }),
        }
    }
}

/// The bytes that are alive at once at the least: the objects, the table they are built from, and the plan with its
/// order.
pub fn least_bytes(objects: u64) -> u128 {
    objects as u128 * (32 + 8 + 8 + 4)
}

/// A graph over indices, in the ordinary heap.
struct Plan {
    links: Vec<[u32; 2]>,
    roots: Vec<u32>,
}

impl Plan {
    /// A balanced binary tree with `order` as its preorder.
    fn tree(order: &[u32]) -> Plan {
        let mut links = vec![[NONE; 2]; order.len()];
        let mut stack = vec![(0, order.len())];
        while let Some((first, size)) = stack.pop() {
            let left = size / 2;
            for (k, child) in [(first + 1, left), (first + 1 + left, size - 1 - left)].into_iter().enumerate()
            {
                if child.1 > 0 {
                    links[order[first] as usize][k] = order[child.0];
                    stack.push(child);
                }
            }
        }
        Plan { links, roots: vec![order[0]] }
    }

    fn random(n: usize) -> Plan {
        let mut random = Random::new();
        let links = (0..n).map(|_| [(); 2].map(|()| (random.next_u64() % n as u64) as u32)).collect();
        Plan { links, roots: (0..n as u32).step_by(ROOT_STRIDE).collect() }
    }

    fn reached(&self) -> u64 {
        let mut seen = vec![false; self.links.len()];
        let mut stack = self.roots.clone();
        let mut reached = 0;
        while let Some(i) = stack.pop() {
            if i != NONE && !core::mem::replace(&mut seen[i as usize], true) {
                reached += 1;
                stack.extend(self.links[i as usize]);
            }
        }
        reached
    }

    /// Allocates the objects in index order and links them. In a frame of its own, which takes the table of all
    /// objects with it.
    #[inline(never)]
    fn build(self, m: &Mutator) -> Root<Slice<Option<Gc<Object>>>> {
        let table: Gc<Slice<GcCell<Option<Gc<Object>>>>> =
            m.alloc_slice(self.links.len(), |_| GcCell::new(None));
        for (i, slot) in table.iter().enumerate() {
            let links = [const { None }; 2].map(GcCell::new);
            slot.set(m, Some(m.alloc(Object { links, _id: i as u64, _seen: 0 })));
        }
        for (slot, links) in table.iter().zip(&self.links) {
            let Some(object) = slot.get() else { continue };
            for (cell, &to) in object.links.iter().zip(links) {
                if to != NONE {
                    cell.set(m, table[to as usize].get());
                }
            }
        }
        m.root(m.alloc_slice(self.roots.len(), |r| table[self.roots[r] as usize].get()))
    }
}

fn in_order(n: usize) -> Vec<u32> {
    (0..n as u32).collect()
}

fn shuffled(n: usize) -> Vec<u32> {
    let mut random = Random::new();
    let mut order = in_order(n);
    for i in (1..n).rev() {
        order.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
    }
    order
}

fn measure(m: &Mutator, graph: &'static str, plan: Plan) -> Line {
    let reached = plan.reached();
    let root = plan.build(m);
    let mut times = [(); COLLECTIONS].map(|()| {
        let start = monotonic_ns();
        m.collect();
        (monotonic_ns() - start) as f64 / reached as f64
    });
    times.sort_by(f64::total_cmp);
    drop(root);
    Line {
        graph,
        reached,
        best_ns: times[0],
        median_ns: times[COLLECTIONS / 2],
        live_objects: m.heap().stats().live_objects as u64,
    }
}

/// Builds and collects each graph with `objects` objects (at least one), reporting each as soon as it is known.
pub fn run(m: &Mutator, objects: u64, mut report: impl FnMut(Line)) {
    let n = objects as usize;
    report(measure(m, "in-order", Plan::tree(&in_order(n))));
    report(measure(m, "shuffled", Plan::tree(&shuffled(n))));
    report(measure(m, "random", Plan::random(n)));
}
