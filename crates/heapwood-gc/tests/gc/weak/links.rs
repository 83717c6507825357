//! Links: words of the test's own memory, and of objects, which are cleared when their objects are dead, and not before.

use super::at;
use heapwood_gc::settings::options::Concurrent;
use heapwood_gc::{Config, Heap, Misuse, Mutator, Refusal};
use heapwood_gc_testing::*;
use heapwood_heap::ArenaKind;

/// Memory with links, at a place that stays.
pub(super) struct Words(Box<[core::cell::UnsafeCell<usize>]>);

impl Words {
    pub(super) fn new(n: usize) -> Self {
        Words((0..n).map(|_| core::cell::UnsafeCell::new(0)).collect())
    }

    pub(super) fn at(&self, i: usize) -> *mut usize {
        self.0[i].get()
    }

    pub(super) fn get(&self, i: usize) -> usize {
        // SAFETY: a word of the box.
        unsafe { self.at(i).read_volatile() }
    }

    pub(super) fn set(&self, i: usize, word: usize) {
        // SAFETY: as above.
        unsafe { self.at(i).write_volatile(word) };
    }
}

pub(super) fn add(mutator: &Mutator, slot: *mut usize, object: usize, is_long: bool) {
    // SAFETY: the tests keep slots until they have removed their links, and roots keep the object.
    unsafe { mutator.add_link(slot, at(object), is_long) }.unwrap();
}

pub(super) fn read(mutator: &Mutator, slot: *mut usize) -> usize {
    mutator.read_link(slot).unwrap().map_or(0, |object| object.as_ptr() as usize)
}

/// Random steps: links are made, hidden or not, moved and ended, and objects come and go, in collections of all kinds.
pub(crate) fn play(heap: &Heap, seed: u64, steps: usize) {
    let mutator = attach(heap);
    let node = node_type(heap);
    const N: usize = 40;
    let (words, mut roots, mut rng) = (Words::new(N), Slots::new(heap, N), Rng::new(seed));
    // What each word links to, and whether it is hidden.
    let mut model: [Option<(usize, bool)>; N] = [None; N];
    let check = |model: &mut [Option<(usize, bool)>; N], roots: &Slots<'_>, is_exact: bool| {
        for (i, link) in model.iter_mut().enumerate() {
            let Some((object, is_hidden)) = *link else { continue };
            let word = words.get(i);
            let is_alive = (0..N).any(|k| roots.get(k) == object);
            let whole = if is_hidden { !object } else { object };
            assert!(word == whole || word == 0 && !is_alive, "{word:#x}, and not {whole:#x}: early");
            assert!(is_alive || !is_exact || word == 0, "{object:#x} is dead, and was not cleared");
            if word == 0 {
                *link = None;
            }
        }
    };
    for _ in 0..steps {
        let (i, k, root) = (rng.below(N), rng.below(N), roots.get(rng.below(N)));
        match rng.below(20) {
            0..4 => roots.set(i, new(&mutator, node)),
            4..9 if root != 0 => {
                let is_hidden = rng.one_in(2);
                words.set(i, if is_hidden { !root } else { root });
                add(&mutator, words.at(i), root, rng.one_in(2));
                model[i] = Some((root, is_hidden));
            }
            9 => {
                assert_eq!(heap.remove_link(words.at(i)), model[i].take().is_some());
                words.set(i, 0);
            }
            10..12 => {
                // SAFETY: words of the test's memory.
                match unsafe { mutator.move_link(words.at(i), words.at(k)) } {
                    Ok(()) if i != k => {
                        words.set(i, 0);
                        model[k] = model[i].take();
                        assert!(model[k].is_some());
                    }
                    Ok(()) => assert!(model[i].is_some()),
                    Err(Refusal::NoLink { .. }) => assert!(model[i].is_none()),
                    Err(other) => panic!("{other}"),
                }
            }
            // What is read is strong from then on.
            12..14 => {
                let found = read(&mutator, words.at(i));
                assert_eq!(found, model[i].map_or(0, |(object, _)| object));
                if found != 0 {
                    roots.set(k, found);
                }
            }
            14..16 => roots.set(i, 0),
            16 if rng.one_in(3) => mutator.collect_young().unwrap(),
            17 if rng.one_in(8) => {
                mutator.collect().unwrap();
                check(&mut model, &roots, true);
            }
            18 => match mutator.incremental_marking().begin().unwrap() {
                true => _ = mutator.incremental_marking().step(rng.below(20)).unwrap(),
                false => _ = mutator.incremental_marking().finish().unwrap(),
            },
            _ => (0..rng.below(30)).for_each(|_| _ = new(&mutator, node)),
        }
        check(&mut model, &roots, false);
    }
    mutator.collect().unwrap();
    mutator.collect().unwrap();
    check(&mut model, &roots, true);
    assert_eq!(heap.links(), model.iter().flatten().count());
    (0..N).for_each(|i| _ = heap.remove_link(words.at(i)));
}

pub(crate) const PLAYED: [Config; 5] = {
    let off = PRECISE.concurrent(Concurrent::Off);
    let young = YOUNG.concurrent(Concurrent::Off);
    [off, young, young.verify(true), FULL.concurrent(Concurrent::Off), off.mark_threads(2)]
};

#[test]
fn random_programs_clear_each_link_when_its_object_is_dead() {
    for (config, seed) in PLAYED.iter().zip(settings::first_seed()..) {
        let heap = heap(*config);
        for round in 0..settings::amount("HEAPWOOD_WEAK", 100, 6, 2) as u64 {
            heap.set_young_time((round % 3 == 1).then_some(core::time::Duration::ZERO));
            play(&heap, seed + 100 * round, 5000);
        }
        assert_eq!(heap.links(), 0);
        assert_swept_and_valid(&heap);
    }
}

/// A slot in an object without pointers: it goes with the object, and nothing is written to whatever has the memory then.
pub(crate) fn goes_with_its_holder(heap: &Heap) {
    let mutator = attach(heap);
    let (node, data) = (node_type(heap), pointer_free(heap, 64));
    let mut roots = Slots::new(heap, 3);
    for i in 0..2 {
        roots.set(0, new(&mutator, data));
        roots.set(1, new(&mutator, node));
        let slot = (roots.get(0) + 16) as *mut usize;
        put(roots.get(0), 2, roots.get(1));
        add(&mutator, slot, roots.get(1), i == 1);
        mutator.collect_young().unwrap();
        assert_eq!((heap.links(), read(&mutator, slot)), (1, roots.get(1)));
        let object = roots.get(1);
        // The object first, or the holder.
        roots.set(i, 0);
        mutator.collect().unwrap();
        assert_eq!(heap.links(), 0);
        assert!(i == 0 || get(roots.get(0), 2) == 0 && !lives(heap, object));
    }
}

/// Heaps for that.
pub(crate) const HOLDERS: [Config; 3] = {
    let verified = FULL.verify(true).concurrent(Concurrent::Off);
    [FULL.concurrent(Concurrent::Off), YOUNG.concurrent(Concurrent::Off), verified]
};

#[test]
fn a_link_goes_with_the_object_that_it_lies_in() {
    HOLDERS.iter().for_each(|config| goes_with_its_holder(&heap(*config)));
}

#[test]
fn what_cannot_be_linked_is_refused_and_changes_nothing() {
    let heap = heap(FULL.concurrent(Concurrent::Off));
    let mutator = attach(&heap);
    let (words, mut roots) = (Words::new(2), Slots::new(&heap, 1));
    roots.set(0, new(&mutator, node_type(&heap)));
    let arena = Arena::open(&mutator, ArenaKind::Escaping);
    let inside = arena.data(&mutator, 64, 8).unwrap();
    // SAFETY: they are refused.
    let try_add =
        |slot: usize, object: usize| unsafe { mutator.add_link(slot as *mut usize, at(object), false) };
    let slot = words.at(0) as usize;
    assert_eq!(
        try_add(slot, roots.get(0) + 8),
        Err(Refusal::CannotReferWeakly { address: roots.get(0) + 8 })
    );
    assert_eq!(try_add(slot + 4, roots.get(0)), Err(Refusal::NoSlot { slot: slot + 4 }));
    assert_eq!(try_add(0, roots.get(0)), Err(Refusal::NoSlot { slot: 0 }));
    for (slot, object) in [(slot, inside), (inside, roots.get(0))] {
        assert!(
            matches!(try_add(slot, object), Err(Refusal::CannotReferWeaklyInArena { address, .. }) if address == inside)
        );
    }
    arena.close(&mutator);
    // In the heap: in a weak reference, and in an object that was freed.
    let weak = super::ephemeron(&mutator, roots.get(0), 0);
    let spare = new(&mutator, node_type(&heap));
    free(&mutator, spare);
    for slot in [weak, weak + 8, spare + 8] {
        assert_eq!(try_add(slot, roots.get(0)), Err(Refusal::NoSlot { slot }));
    }
    // SAFETY: it is refused.
    let moved = unsafe { mutator.move_link(words.at(0), words.at(1)) };
    assert_eq!(moved, Err(Refusal::NoLink { slot }));
    let misuse = Misuse::InNative;
    assert_eq!(mutator.blocking(|| mutator.read_link(slot as *mut usize)).unwrap(), Err(misuse));
    assert!(!heap.remove_link(words.at(0)) && heap.links() == 0);
    assert_eq!(mutator.read_link(words.at(1)), Ok(None));
}
