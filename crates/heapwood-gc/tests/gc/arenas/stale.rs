//! Arenas as a door of another language sees them: values by their addresses, pointers into the middle of pieces, handles that may be
//! anything. Verify mode checks what each collection leaves.

use core::time::Duration;
use heapwood_gc::settings::options::Generational;
use heapwood_gc::{AllocError, Mutator, Refusal};
use heapwood_gc_testing::*;
use heapwood_heap::{ArenaHeader, ArenaKind, ArenaLayout};

const PAIR: ArenaLayout = match ArenaLayout::new(2 * WORD, [0b11, 0, 0, 0]) {
    Some(layout) => layout,
    None => unreachable!(),
};

fn open(m: &Mutator, kind: ArenaKind) -> &ArenaHeader {
    // SAFETY: an open arena's header, which its mutator keeps; a closed one's is not used after the next collection.
    unsafe { m.arenas().open(kind, true).unwrap().as_ref() }
}

/// A pair of zeros.
fn value(m: &Mutator, arena: &ArenaHeader) -> usize {
    // SAFETY: the arena is one of the mutator's heap.
    let at = unsafe { m.arenas().reserve(arena, (2, PAIR), 1) }.unwrap();
    arena.commit(at, PAIR.bytes());
    at
}

fn close(m: &Mutator, arena: &ArenaHeader) {
    // SAFETY: nobody uses its values.
    unsafe { m.arenas().close(arena) }.unwrap();
}

/// A young collection whose time ends in the middle of its marking leaves marks in the middle of pieces: those of arenas and those of none.
#[test]
fn marks_that_a_late_young_collection_leaves_are_known() {
    let heap = heap(PRECISE.verify(true).generational(Generational::Always));
    let m = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 1000);
    for round in 0..150 {
        heap.set_young_time(Some(Duration::from_micros(4 * round)));
        let arena = open(&m, ArenaKind::Escaping);
        let values: Vec<_> = (0..2000).map(|_| value(&m, arena)).collect();
        m.collect().unwrap();
        for (i, pair) in values.chunks(2).enumerate() {
            let object = new(&m, node);
            put(object, 0, pair[0]);
            put(object, 1, pair[1]);
            roots.set(i, object);
        }
        if round % 3 == 1 {
            // What is left leads to where it was.
            close(&m, arena);
        }
        m.collect_young().unwrap();
        if round % 4 == 3 {
            m.collect().unwrap();
        }
        assert_valid(&heap);
        if round % 3 != 1 {
            close(&m, arena);
        }
    }
}

/// Pointers that were left into an arena that is gone keep its addresses from being used, and leave no mark.
#[test]
fn pointers_left_into_a_freed_arena_harm_nothing() {
    let heap = heap(PRECISE.verify(true));
    let m = attach(&heap);
    let node = node_type(&heap);
    let mut roots = Slots::new(&heap, 2);
    for kind in [ArenaKind::Escaping, ArenaKind::Promised, ArenaKind::Borrowed] {
        let arena = open(&m, kind);
        let left = (0..100).map(|_| value(&m, arena)).last().unwrap();
        let object = new(&m, node);
        put(object, 0, left);
        roots.set(0, object);
        assert!(
            heap.objects().arena_at(left) == Some(arena.number())
                && heap.objects().find(left).is_none()
                && m.find(left).is_none()
        );
        if kind == ArenaKind::Escaping {
            roots.set(1, left);
        } else {
            // Of what is dead nobody promises anything.
            roots.set(0, 0);
        }
        close(&m, arena);
        for _ in 0..3 {
            m.collect_young().unwrap();
            m.collect().unwrap();
            assert_valid(&heap);
            assert_eq!(heap.objects().arena_at(left), None);
        }
        roots.set(0, 0);
        roots.set(1, 0);
        m.collect().unwrap();
    }
}

#[test]
fn a_word_that_is_no_arenas_handle_is_refused() {
    let (heap, other) = (heap(PRECISE), heap(PRECISE));
    let m = attach(&heap);
    let arena = open(&m, ArenaKind::Escaping);
    let (at, number) = (core::ptr::from_ref(arena) as usize, arena.number());
    let value = value(&m, arena);
    let refused = |handle: usize| match m.arenas().find(handle) {
        Err(AllocError::Refused(why)) => Some(why),
        _ => None,
    };
    assert!(m.arenas().find(at).is_ok() && Mutator::here_at(at).is_some());
    for handle in [at + 16, at + 8, value, heap.space().base().get(), usize::MAX - 15, 0] {
        assert_eq!(refused(handle), Some(Refusal::NoArena { address: handle }));
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let theirs = attach(&heap);
            let why = theirs.arenas().find(at).err();
            assert_eq!(why, Some(AllocError::Refused(Refusal::ArenaOfOtherThread { arena: number })));
            drop(theirs);
            assert!(Mutator::here_at(at).is_none());
            let why = AllocError::Refused(Refusal::ArenaOfOtherThread { arena: number });
            assert_eq!(heapwood_gc::arena_handle_error(at), why);
        });
    });
    let nothing = |address| AllocError::Refused(Refusal::NoArena { address });
    assert_eq!(heapwood_gc::arena_handle_error(16), nothing(16));
    assert_eq!(
        heapwood_gc::arena_handle_error(other.space().base().get()),
        nothing(other.space().base().get())
    );
    close(&m, arena);
    assert_eq!(refused(at), Some(Refusal::ArenaClosed { arena: number }));
}
