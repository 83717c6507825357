//! Binary trees in arenas, as the program of the document on arena performance (golang/go#51667): a stretch tree and a
//! long-lived one, each in its own arena, and many short-lived ones. An arena takes a MiB of short-lived trees, and is
//! then dropped. A node is two references. Several threads share the lines of the table, as in the document.
//!
//! The arenas are Heapwood's, those of the document (`arena_document`), which repeat its table, or bump arenas written
//! for this program (`arena_bump`).

use crate::arena_bump::BumpArena;
use crate::arena_document::{Document, DocumentArena, Node as DocumentNode};
use crate::threads::share_out;
use crate::threads_error::ThreadsError;
use crate::trees::{MIN_DEPTH, NODE_BYTES, least_bytes, max_depth};
use crate::workload::{self, N, Threads, Workload};
use heapwood::{Arena, ArenaRef, Mutator, Trace};
use serde_json::json;

/// Trees in Heapwood's arenas.
pub const WORKLOAD: Workload = workload("trees-arena", "Binary trees in arenas", run::<Heapwood>);
/// In arenas as in Go's first prototype: chunks of 64 MiB, without advice about huge pages.
pub const SMALL_PAGES: Workload = workload(
    "trees-arena-small-pages",
    "Binary trees in arenas of the document, without huge pages",
    run::<Small>,
);
/// The same with each 2 MiB of a chunk advised to be a huge page, and cleared at once.
pub const HUGE_PAGES: Workload = workload(
    "trees-arena-huge-pages",
    "Binary trees in arenas of the document, with huge pages",
    run::<Huge>,
);
/// The same, and a chunk is returned to the kernel after 8 MiB of use.
pub const EARLY_RETURN: Workload = workload(
    "trees-arena-early-return",
    "Binary trees in arenas of the document, with huge pages and early return",
    run::<Early>,
);

/// In bump arenas written for this program, the lower bound of their cost in Rust.
pub const BUMP: Workload =
    workload("trees-arena-bump", "Binary trees in bump arenas written for them", run::<BumpArenas>);

const fn workload(name: &'static str, about: &'static str, share: workload::Share) -> Workload {
    Workload {
        name,
        about,
        n: N { unit: "depth", usual: 21, most: 40 },
        threads: Threads::USUALLY_ONE,
        least_bytes: |n| least_bytes(n as u32),
        figures: &[],
        shared: Some(share),
        run: |_, _, _| unreachable!("its lines are shared among threads"),
    }
}

/// The bytes of nodes in a full arena.
const FULL: u64 = 1 << 20;

/// A kind of arena.
trait Memory {
    /// An arena of a thread.
    type Arena<'m>;

    /// Builds a tree, and counts its nodes.
    fn tree(arena: &Self::Arena<'_>, depth: u32) -> u64;

    /// Begins an arena.
    fn arena<'m>(m: &'m Mutator) -> Self::Arena<'m>;

    /// Counts the nodes of a tree that was built before.
    fn long_lived(m: &Mutator, depth: u32, meanwhile: impl FnOnce()) -> u64;
}

struct Heapwood;

#[derive(Trace)]
struct Node<'a> {
    left: Option<ArenaRef<'a, Node<'a>>>,
    right: Option<ArenaRef<'a, Node<'a>>>,
}

fn build<'a>(arena: &'a Arena<'_>, depth: u32) -> ArenaRef<'a, Node<'a>> {
    // One place that allocates, as in C. Two would cost a sixth more, by mispredicted branches.
    let (left, right) = match depth {
        0 => (None, None),
        _ => (Some(build(arena, depth - 1)), Some(build(arena, depth - 1))),
    };
    arena.alloc(Node { left, right })
}

fn count(node: ArenaRef<'_, Node<'_>>) -> u64 {
    match (node.left, node.right) {
        (Some(left), Some(right)) => 1 + count(left) + count(right),
        _ => 1,
    }
}

impl Memory for Heapwood {
    type Arena<'m> = Arena<'m>;

    fn tree(arena: &Arena<'_>, depth: u32) -> u64 {
        count(build(arena, depth))
    }

    fn arena(m: &Mutator) -> Arena<'_> {
        Arena::new(m)
    }

    fn long_lived(m: &Mutator, depth: u32, meanwhile: impl FnOnce()) -> u64 {
        let arena = Arena::new(m);
        let tree = build(&arena, depth);
        meanwhile();
        count(tree)
    }
}

/// The document's arenas, by their use of huge pages.
struct Of<D>(D);
type Small = Of<crate::arena_document::SmallPages>;
type Huge = Of<crate::arena_document::HugePages>;
type Early = Of<crate::arena_document::EarlyReturn>;

fn build_as_the_document<D: Document>(arena: &DocumentArena<D>, depth: u32) -> *const DocumentNode {
    let (left, right) = match depth {
        0 => (core::ptr::null(), core::ptr::null()),
        _ => (build_as_the_document(arena, depth - 1), build_as_the_document(arena, depth - 1)),
    };
    arena.node(left, right)
}

impl<D: Document> Memory for Of<D> {
    type Arena<'m> = DocumentArena<D>;

    fn tree(arena: &DocumentArena<D>, depth: u32) -> u64 {
        let tree = build_as_the_document(arena, depth);
        // SAFETY: the tree's arena exists.
        unsafe { (*tree).count() }
    }

    fn arena(_: &Mutator) -> DocumentArena<D> {
        DocumentArena::new()
    }

    fn long_lived(_: &Mutator, depth: u32, meanwhile: impl FnOnce()) -> u64 {
        let arena = DocumentArena::<D>::new();
        let tree = build_as_the_document(&arena, depth);
        meanwhile();
        // SAFETY: as above.
        unsafe { (*tree).count() }
    }
}

/// Bump arenas written for this program.
struct BumpArenas;

fn build_by_hand(arena: &BumpArena, depth: u32) -> *const DocumentNode {
    let (left, right) = match depth {
        0 => (core::ptr::null(), core::ptr::null()),
        _ => (build_by_hand(arena, depth - 1), build_by_hand(arena, depth - 1)),
    };
    arena.node(left, right)
}

impl Memory for BumpArenas {
    type Arena<'m> = BumpArena;

    fn tree(arena: &BumpArena, depth: u32) -> u64 {
        let tree = build_by_hand(arena, depth);
        // SAFETY: the tree's arena exists.
        unsafe { (*tree).count() }
    }

    fn arena(_: &Mutator) -> BumpArena {
        BumpArena::default()
    }

    fn long_lived(m: &Mutator, depth: u32, meanwhile: impl FnOnce()) -> u64 {
        let arena = Self::arena(m);
        let tree = build_by_hand(&arena, depth);
        meanwhile();
        // SAFETY: as above.
        unsafe { (*tree).count() }
    }
}

/// A line of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The number of trees; 0 for the stretch tree and the long-lived one.
    pub trees: u64,
    /// Their depth.
    pub depth: u32,
    /// The number of arenas.
    pub arenas: u64,
    /// The number of nodes.
    pub nodes: u64,
}

impl Line {
    fn megabytes(&self) -> f64 {
        (self.nodes * NODE_BYTES) as f64 / (1 << 20) as f64
    }

    fn shown(&self, what: &str) -> workload::Line {
        let Line { trees, depth, arenas, nodes } = *self;
        let which = if trees == 0 { format!("{what} tree") } else { format!("{trees} trees") };
        let text = format!(
            "{which:>15} of depth {depth:<2}   arenas: {arenas:<5}  nodes: {nodes:<10}  MB: {:.1}",
            self.megabytes()
        );
        let check =
            format!("{which} of depth {depth} arenas {arenas} nodes {nodes} MB {:.1}", self.megabytes());
        let fields = json!({"trees": trees.max(1), "depth": depth, "arenas": arenas, "nodes": nodes});
        workload::Line { text, check, figures: Vec::new(), fields }
    }
}

/// The short-lived trees of a line.
fn fill<M: Memory>(m: &Mutator, line: Line) -> Line {
    let mut filled = Line { arenas: 0, nodes: 0, ..line };
    let mut left = line.trees;
    while left > 0 {
        let arena = M::arena(m);
        let mut nodes = 0;
        while left > 0 && nodes * NODE_BYTES < FULL {
            nodes += M::tree(&arena, line.depth);
            left -= 1;
        }
        filled.nodes += nodes;
        filled.arenas += 1;
    }
    filled
}

/// Runs it on `threads` threads, including the calling one. Each takes the next line when it has finished one.
fn run<M: Memory>(
    m: &Mutator,
    threads: u32,
    n: u64,
    report: &mut dyn FnMut(workload::Line),
) -> Result<(), ThreadsError> {
    let max = max_depth(n as u32);
    let stretch = {
        let arena = M::arena(m);
        M::tree(&arena, max + 1)
    };
    report(Line { depth: max + 1, arenas: 1, nodes: stretch, trees: 0 }.shown("stretch"));
    let depths = (MIN_DEPTH..=max).step_by(2);
    let lines: Vec<Line> = depths
        .map(|depth| Line { trees: 1 << (max - depth + MIN_DEPTH), depth, ..Line::default() })
        .collect();
    let mut result = Ok(());
    let nodes = M::long_lived(m, max, || match threads {
        1 => lines.iter().for_each(|&line| report(fill::<M>(m, line).shown(""))),
        _ => match share_out(m, threads, lines.len(), |m, k| fill::<M>(m, lines[k])) {
            Ok(filled) => filled.iter().for_each(|line| report(line.shown(""))),
            Err(why) => result = Err(why),
        },
    });
    result?;
    report(Line { depth: max, arenas: 1, nodes, trees: 0 }.shown("long lived"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwood::{Config, Heap};

    /// Trees that are only counted, not built, for the lines of the program.
    struct Counted;

    impl Memory for Counted {
        type Arena<'m> = ();

        fn tree(_: &(), depth: u32) -> u64 {
            (2 << depth) - 1
        }

        fn arena(_: &Mutator) {}

        fn long_lived(_: &Mutator, depth: u32, meanwhile: impl FnOnce()) -> u64 {
            meanwhile();
            Self::tree(&(), depth)
        }
    }

    fn lines<M: Memory>(n: u64, threads: u32) -> Vec<String> {
        // SAFETY: the workload keeps its pointers on the stacks of its threads, in objects and in roots.
        let heap = unsafe { Heap::new(Config::default()) }.unwrap();
        let (m, mut lines) = (heap.attach().unwrap(), Vec::new());
        run::<M>(&m, threads, n, &mut |line| lines.push(line.check)).unwrap();
        lines
    }

    #[test]
    fn the_lines_equal_the_documents() {
        let document = [
            "stretch tree of depth 22 arenas 1 nodes 8388607 MB 128.0",
            "2097152 trees of depth 4 arenas 992 nodes 65011712 MB 992.0",
            "524288 trees of depth 6 arenas 1015 nodes 66584576 MB 1016.0",
            "131072 trees of depth 8 arenas 1017 nodes 66977792 MB 1022.0",
            "32768 trees of depth 10 arenas 993 nodes 67076096 MB 1023.5",
            "8192 trees of depth 12 arenas 911 nodes 67100672 MB 1023.9",
            "2048 trees of depth 14 arenas 683 nodes 67106816 MB 1024.0",
            "512 trees of depth 16 arenas 512 nodes 67108352 MB 1024.0",
            "128 trees of depth 18 arenas 128 nodes 67108736 MB 1024.0",
            "32 trees of depth 20 arenas 32 nodes 67108832 MB 1024.0",
            "long lived tree of depth 21 arenas 1 nodes 4194303 MB 64.0",
        ];
        assert_eq!(lines::<Counted>(21, 1), document);
    }

    #[test]
    fn every_kind_of_arena_has_the_same_trees() {
        let expected = lines::<Counted>(13, 1);
        for threads in [1, 2, 8] {
            assert_eq!(lines::<Heapwood>(13, threads), expected, "{threads} threads");
        }
        assert_eq!(lines::<Small>(13, 2), expected);
        assert_eq!(lines::<Huge>(13, 1), expected);
        assert_eq!(lines::<Early>(13, 3), expected);
        assert_eq!(lines::<BumpArenas>(13, 2), expected);
    }
}
