//! The generated programs (`tests/generated/programs.rs`) in sessions: nothing is collected inside a call, and everything but the root may die
//! between two.

#[path = "../generated/programs.rs"]
mod programs;

use crate::common::modes;
use heapwood::session::{Session, SessionHeap};
use heapwood::{Config, Rootable};
use programs::{Model, Random, Stash, Top, call, played, seeds, top};
use std::sync::Arc;

/// The types of the programs, and what differs between sessions and other heaps.
mod door {
    use super::programs::{Frozen, Node, frozen, sum, sum_of};
    use heapwood::session::{self, Stashed};
    pub(super) use heapwood::session::{Gc, GcCell, Mutation, Weak};
    use heapwood::{Rootable, Slice, Trace};
    use std::sync::{Arc, mpsc};

    pub(super) type Owned = session::Owned<Arc<usize>>;
    pub(super) type Reference<'gc> = &'gc Node<'gc>;
    pub(super) type Kept<'gc> = Stashed<Rootable![Node<'_>]>;

    pub(super) fn owned<'gc>(m: &Mutation<'gc>, value: Arc<usize>) -> Gc<'gc, Owned> {
        m.alloc_owned(value)
    }

    pub(super) fn value(owned: &Owned) -> &Arc<usize> {
        owned
    }

    pub(super) fn slice<'gc, T: Trace + 'gc>(
        m: &Mutation<'gc>,
        items: impl Iterator<Item = T>,
    ) -> Gc<'gc, Slice<T>> {
        m.collect_slice(items)
    }

    pub(super) fn reference<'gc>(node: Gc<'gc, Node<'gc>>) -> Reference<'gc> {
        Gc::get(node)
    }

    pub(super) fn stash<'gc>(m: &Mutation<'gc>, node: Gc<'gc, Node<'gc>>) -> Kept<'gc> {
        m.stash(node)
    }

    pub(super) fn fetch<'gc>(m: &Mutation<'gc>, kept: &Kept<'gc>) -> Gc<'gc, Node<'gc>> {
        m.fetch(kept)
    }

    /// Threads of a scope read what does not change, and get more of it by a channel.
    pub(super) fn threads<'gc>(m: &Mutation<'gc>, all: &[Gc<'gc, Frozen<'gc>>], fresh: usize) {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel::<Gc<Frozen>>();
            let (back, returned) = mpsc::channel();
            let reader = scope.spawn(move || {
                receiver
                    .iter()
                    .map(|frozen| (sum(&frozen), back.send(frozen)))
                    .map(|(sum, _)| sum)
                    .collect::<Vec<_>>()
            });
            let readers: Vec<_> = all.iter().map(|frozen| scope.spawn(move || sum(frozen))).collect();
            (0..fresh).for_each(|n| sender.send(frozen(m, n)).unwrap());
            drop(sender);
            assert_eq!(reader.join().unwrap(), (0..fresh).map(sum_of).collect::<Vec<_>>());
            assert!(returned.iter().map(|frozen| sum(&frozen)).eq((0..fresh).map(sum_of)));
            for (reader, frozen) in readers.into_iter().zip(all) {
                assert_eq!(reader.join().unwrap(), sum(frozen));
            }
        });
    }
}

type Tops = Rootable![Top<'_>];
type Sessions = Session<Tops>;

/// One program: calls, with collections between them.
fn play(session: &mut Sessions, inner: &mut dyn FnMut(), seed: u64) {
    let (mut random, mut model, mut stash) = (Random::new(seed), Model::default(), Stash::new());
    for _ in 0..3 + random.below(6) {
        let steps = 20 + random.below(60);
        session.mutate(|m, top| call(m, top, &mut model, &mut stash, &mut random, inner, steps));
        match random.below(6) {
            0 => session.collect(),
            1 => session.collect_young(),
            2 => _ = session.collect_if_due(),
            3 => session.mutate_root(|m, top| {
                // The root as a whole: its places trade places.
                top.places.reverse();
                model.places.reverse();
                m.alloc([0u64; 9]);
            }),
            _ => {}
        }
    }
    // The next program begins with an empty root.
    session.mutate(|m, top| {
        top.places.iter().for_each(|place| place.set(m, None));
        top.weak.iter().for_each(|weak| weak.set(m, None));
    });
    let owned = model.owned.clone();
    drop((model, stash));
    session.collect();
    session.collect();
    assert_eq!(Arc::strong_count(&owned), 1, "owned values are dropped with their objects");
}

fn new(config: Config) -> Sessions {
    // So small that a few calls are a collection.
    Sessions::new(config.min_heap(128 << 10), |_| top()).unwrap()
}

#[test]
fn programs_of_one_thread_agree_with_a_model() {
    for (mode, config) in modes() {
        let mut session = new(config);
        let (mut inside, mut model, mut stash) = (new(config), Model::default(), Stash::new());
        let mut random = Random(2);
        let mut inner = || {
            inside.mutate(|m, top| call(m, top, &mut model, &mut stash, &mut random, &mut || (), 40));
        };
        for seed in seeds(100) {
            played(seed, mode, || play(&mut session, &mut inner, seed));
        }
        assert!(session.stats().collections > 100);
    }
}

#[test]
fn programs_of_several_threads_agree_with_models() {
    for (mode, config) in modes() {
        let heap = SessionHeap::new(config.min_heap(128 << 10)).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let heap = &heap;
                scope.spawn(move || {
                    let mut session = heap.session::<Tops>(|_| top()).unwrap();
                    for seed in seeds(40) {
                        let seed = seed + thread * 1_000_000;
                        played(seed, mode, || play(&mut session, &mut || (), seed));
                    }
                });
            }
        });
    }
}
