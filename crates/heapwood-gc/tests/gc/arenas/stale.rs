//! Arenas as a door of another language sees them: handles that may be anything.

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
