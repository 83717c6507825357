//! The generated programs (`tests/generated/programs.rs`) with blocks that are scanned: each allocation may be a collection, and the only
//! pointers lie in a `Vec`, a `Box`, a `HashMap`, an `Rc`, a closure, a channel. They keep the three rules of `Heap::new` with `Scanned`; that
//! call is the one that is not safe code.
#![deny(unsafe_code)]

#[path = "generated/programs.rs"]
mod programs;

use heapwood::{Config, Generational, Heap, Scanned, Stop};
use programs::{Model, Random, Stash, call, played, seeds, top};

#[global_allocator]
static ALLOCATOR: Scanned = Scanned::new();

/// The types of the programs, and what differs between sessions and other heaps.
mod door {
    use super::programs::{Frozen, Node, frozen, sum, sum_of};
    use heapwood::{Finalized, Root, Slice, Trace};
    pub(super) use heapwood::{GcCell, Mutator};
    use std::sync::{Arc, mpsc};

    pub(super) type Gc<'gc, T> = heapwood::Gc<T>;
    pub(super) type Weak<'gc, T> = heapwood::Weak<T>;
    pub(super) type Mutation<'gc> = Mutator;
    pub(super) type Owned = Finalized<Arc<usize>>;
    pub(super) type Reference<'gc> = Gc<'gc, Node<'gc>>;
    pub(super) type Kept<'gc> = Root<Node<'gc>>;

    pub(super) fn owned<'gc>(m: &Mutation<'gc>, value: Arc<usize>) -> Gc<'gc, Owned> {
        m.alloc_finalized(value).expect("there is memory")
    }

    pub(super) fn value(owned: &Owned) -> &Arc<usize> {
        owned
    }

    /// The elements wait in a block.
    pub(super) fn slice<'gc, T: Trace + Copy>(
        m: &Mutation<'gc>,
        items: impl Iterator<Item = T>,
    ) -> Gc<'gc, Slice<T>> {
        let items: Vec<T> = items.collect();
        m.alloc_slice(items.len(), |i| items[i])
    }

    pub(super) fn reference<'gc>(node: Gc<'gc, Node<'gc>>) -> Reference<'gc> {
        node
    }

    pub(super) fn stash<'gc>(m: &Mutation<'gc>, node: Gc<'gc, Node<'gc>>) -> Kept<'gc> {
        m.root(node)
    }

    pub(super) fn fetch<'gc>(m: &Mutation<'gc>, kept: &Kept<'gc>) -> Gc<'gc, Node<'gc>> {
        Root::get(kept, m)
    }

    /// Threads that are attached read what does not change. It reaches them as roots by channels, and lies in their blocks then.
    pub(super) fn threads<'gc>(m: &Mutation<'gc>, all: &[Gc<'gc, Frozen<'gc>>], fresh: usize) {
        let heap = m.heap();
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel::<Root<Frozen<'gc>>>();
            let reader = scope.spawn(|| {
                let m = heap.attach().unwrap();
                let mut receiver = receiver;
                let mut kept = Vec::new();
                loop {
                    let receiver = &mut receiver;
                    let Ok(root) = m.blocking(move || receiver.recv()) else { break };
                    // Nothing but this vector keeps it, while both threads allocate.
                    kept.push(Box::new(Root::get(&root, &m)));
                    drop(root);
                    m.alloc([0u64; 30]);
                }
                let sums: Vec<_> = kept.iter().map(|frozen| sum(frozen)).collect();
                (sums, kept.into_iter().map(|frozen| m.root(*frozen)).collect::<Vec<_>>())
            });
            // A reference in the closure of a thread that is attached; the caller's slice holds the objects.
            let theirs = &heap;
            let numbers: Vec<&usize> = all.iter().map(|frozen| &frozen.number).collect();
            let other = scope.spawn(move || {
                let lent = numbers;
                let m = theirs.attach().unwrap();
                lent.iter().map(|&&number| *m.alloc(number)).sum::<usize>()
            });
            for n in 0..fresh {
                sender.send(m.root(frozen(m, n))).unwrap();
            }
            drop(sender);
            let (sums, back) = m.blocking(|| reader.join()).unwrap();
            assert_eq!(sums, (0..fresh).map(sum_of).collect::<Vec<_>>());
            assert!(back.iter().map(|root| sum(&Root::get(root, m))).eq((0..fresh).map(sum_of)));
            let numbers: usize = all.iter().map(|frozen| frozen.number).sum();
            assert_eq!(m.blocking(|| other.join()).unwrap(), numbers);
        });
    }
}

/// The ways of collecting. A heap so small that a program is some collections; under stress, where each allocation is one, a
/// twentieth of the programs.
fn modes() -> [(&'static str, Config, u64); 8] {
    let small = Config::DEFAULT.huge_pages(false).address_space(2 << 30).min_heap(128 << 10);
    let young = small.verify(true).generational(Generational::Always);
    [
        ("plain", small, 20),
        ("verify", small.verify(true), 20),
        ("stress", small.stress(true), 1),
        ("stress and verify", small.stress(true).verify(true), 1),
        ("young", young, 20),
        ("young under stress", young.stress(true), 1),
        ("full", small.verify(true).generational(Generational::Off), 20),
        ("signals", small.verify(true).stop(Stop::Signals), 20),
    ]
}

fn heap(config: Config) -> Heap {
    #[expect(unsafe_code, reason = "the one promise")]
    // SAFETY: the three rules: pointers are used by attached threads, outside of regions, lie in objects of their heap, in blocks and on
    // stacks, and no struct here is packed.
    unsafe { Heap::new(config) }.unwrap()
}

/// One program: calls, with collections between and in them.
fn play(heap: &Heap, inner: &mut dyn FnMut(), seed: u64, stress: bool) {
    let m = heap.attach().unwrap();
    let (mut random, mut model, mut stash) = (Random::new(seed), Model::default(), Stash::new());
    let top = Box::new(m.alloc(top()));
    // Under stress each step is many collections.
    let (calls, steps) = if stress { (2, 12) } else { (3 + random.below(6), 20 + random.below(60)) };
    for _ in 0..calls {
        call(&m, &top, &mut model, &mut stash, &mut random, inner, steps);
        match random.below(6) {
            0 => m.collect(),
            1 => m.collect_young(),
            2 => _ = heap.drop_finalized(),
            _ => {}
        }
    }
}

#[test]
fn programs_of_one_thread_agree_with_a_model() {
    for (mode, config, programs) in modes() {
        let (outer, inside) = (heap(config), heap(config.stress(false)));
        let m = inside.attach().unwrap();
        let (mut model, mut stash, mut random) = (Model::default(), Stash::new(), Random(2));
        let root = Box::new(m.alloc(top()));
        let mut inner = || call(&m, &root, &mut model, &mut stash, &mut random, &mut || (), 40);
        for seed in seeds(programs) {
            played(seed, mode, || play(&outer, &mut inner, seed, config.stress));
        }
        assert!(outer.stats().collections > programs, "{}", outer.stats().collections);
    }
}

#[test]
fn programs_of_several_threads_agree_with_models() {
    for (mode, config, programs) in modes() {
        let heap = heap(config);
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let heap = &heap;
                scope.spawn(move || {
                    for seed in seeds(programs.div_ceil(3)) {
                        let seed = seed + thread * 1_000_000;
                        played(seed, mode, || play(heap, &mut || (), seed, config.stress));
                    }
                });
            }
        });
    }
}
