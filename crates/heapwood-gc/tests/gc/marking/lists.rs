//! Lists of every sort, where each node leads to the next alone and so the marker has nothing else to do meanwhile:
//! one to many side by side, in the order of allocation and shuffled, with every way of finding a node's pointers, and
//! with mark stacks that overflow. What lives is counted exactly each time, and no list is cut.

use heapwood_gc::settings::options::Generational;
use heapwood_gc::{Config, Heap, Mutator, ObjectType, slice_scan};
use heapwood_gc_testing::*;
use heapwood_layout::TypeDescriptor;
use heapwood_layout::program::Builder;

const NODES: usize = 3000;

/// How a list is made and what it should be found to be.
struct Sort {
    name: &'static str,
    ty: ObjectType,
    /// The word of a node that leads to the next.
    next: usize,
    /// A word that holds its number.
    number: Option<usize>,
    /// A word that leads to the node before.
    back: Option<usize>,
    /// A word that leads to an object of this type, which is the node's own.
    boxed: Option<(usize, ObjectType)>,
    nodes: usize,
}

fn sorts(heap: &Heap, mutator: &Mutator) -> Vec<Sort> {
    let plain = |name, ty, next, number| Sort {
        name,
        ty,
        next,
        number: Some(number),
        back: None,
        boxed: None,
        nodes: NODES,
    };
    let pair = masked(heap, 2, &[0, 1]);
    let number = pointer_free(heap, 16);
    // Shapes whose objects fill no span, so that they stay in mixed ones.
    let few = |sort: Sort| Sort { nodes: 20, ..sort };
    let program = Builder::<64>::new().scalars(700).pointers(1).finish();
    let (program, _) = heap.types().register_program(701 * WORD, program.bytes()).unwrap();
    let slice = |bytes| {
        let scan = slice_scan(&TypeDescriptor::masked(WORD, &[1]).unwrap(), 1).unwrap();
        mutator.types().type_for(bytes, scan).unwrap()
    };
    vec![
        Sort { number: None, ..plain("pairs", pair, 1, 0) },
        plain("three words", masked(heap, 3, &[1]), 1, 0),
        plain("64 bytes", masked(heap, 8, &[7]), 7, 0),
        plain("wide masks", masked(heap, 200, &[199]), 199, 0),
        few(plain("pointer bits", masked(heap, 5, &[0, 3]), 3, 1)),
        few(plain("shape numbers", masked(heap, 40, &[39]), 39, 1)),
        plain(
            "trace functions",
            heap.types().register(&TypeDescriptor::traced(40, trace_word::<2>).unwrap()).unwrap(),
            2,
            0,
        ),
        plain("any word", heap.types().register(&TypeDescriptor::conservative(48).unwrap()).unwrap(), 5, 0),
        few(plain("large slices", slice(1 << 20), 1 + (1 << 17) / 2, 0)),
        Sort { nodes: 500, ..plain("programs", program, 700, 0) },
        Sort { back: Some(0), ..plain("doubly linked", node_type(heap), 1, 2) },
        Sort { number: None, boxed: Some((0, number)), ..plain("boxed numbers", pair, 1, 0) },
        Sort { boxed: Some((1, node_type(heap))), ..plain("trees that lean left", node_type(heap), 0, 2) },
        Sort { boxed: Some((0, node_type(heap))), ..plain("trees that lean right", node_type(heap), 1, 2) },
    ]
}

impl Sort {
    fn bytes(&self) -> usize {
        let one =
            |ty: ObjectType| ty.cell_size().unwrap_or(ty.size().next_multiple_of(heapwood_pages::PAGE_SIZE));
        self.nodes * (one(self.ty) + self.boxed.map_or(0, |(_, ty)| one(ty)))
    }

    /// Makes the nodes, deals them out to lists in some order, and links them.
    fn make(&self, mutator: &Mutator, heads: &mut [usize], shuffled: bool) {
        let mut nodes: Vec<usize> = (0..self.nodes).map(|_| new(mutator, self.ty)).collect();
        if shuffled {
            let mut rng = Rng::new(1);
            (1..nodes.len()).rev().for_each(|i| nodes.swap(i, rng.below(i + 1)));
        }
        let lists = heads.len();
        for (i, node) in nodes.into_iter().enumerate() {
            let head = &mut heads[i % lists];
            put(node, self.next, *head);
            if let (Some(back), true) = (self.back, *head != 0) {
                put(*head, back, node);
            }
            if let Some((word, ty)) = self.boxed {
                put(node, word, new(mutator, ty));
            }
            if let Some(number) = self.number {
                put(node, number, i);
            }
            *head = node;
        }
    }

    fn check(&self, heads: impl Iterator<Item = usize>, lists: usize) {
        let mut seen = 0;
        for (list, mut node) in heads.enumerate() {
            let mut last = None;
            while node != 0 {
                if let Some(number) = self.number {
                    let number = get(node, number);
                    assert!(number % lists == list && last.is_none_or(|l| number + lists == l));
                    last = Some(number);
                }
                seen += 1;
                node = get(node, self.next);
            }
        }
        assert_eq!(seen, self.nodes, "{}", self.name);
    }
}

fn lists(config: Config) {
    // What is being made is in no root.
    let heap = heap(config.min_heap(1 << 30).generational(Generational::Off));
    let mutator = attach(&heap);
    for sort in sorts(&heap, &mutator) {
        for lists in [1, 2, 3, 8, 17, 64] {
            for shuffled in [false, true] {
                let mut roots = Slots::new(&heap, lists);
                let mut heads = vec![0; lists];
                sort.make(&mutator, &mut heads, shuffled);
                heads.iter().enumerate().for_each(|(i, &head)| roots.set(i, head));
                for _ in 0..2 {
                    mutator.collect().unwrap();
                    let (stats, all) =
                        (heap.inspect().stats(), sort.nodes * (1 + sort.boxed.is_some() as usize));
                    assert_eq!(stats.live_objects, all, "{}, {lists} lists", sort.name);
                    assert_eq!(stats.live_bytes, sort.bytes(), "{}, {lists} lists", sort.name);
                }
                sort.check((0..lists).map(|i| roots.get(i)), lists);
                drop(roots);
                mutator.collect().unwrap();
                assert_eq!(
                    (heap.inspect().stats().live_objects, heap.inspect().stats().live_bytes),
                    (0, 0),
                    "{}",
                    sort.name
                );
            }
        }
    }
    assert!(heap.inspect().stats().mark_overflows > 0 || config.mark_stack != Some(1));
    assert_eq!(heap.inspect().stats().barrier_violations, 0);
}

#[test]
fn lists_are_marked_with_the_usual_stack() {
    lists(PRECISE);
}

#[test]
fn lists_are_marked_with_a_stack_of_one() {
    lists(PRECISE.mark_stack(1));
}

#[test]
fn lists_are_marked_with_a_tiny_stack_in_verify_mode() {
    lists(PRECISE.mark_stack(5).verify(true));
}
