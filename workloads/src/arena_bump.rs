//! Bump arenas for one program, in Rust: blocks of 2 MiB, huge pages where possible, which a thread reuses without
//! clearing them. They are the lower bound of an arena's cost in Rust; the peer `bump` is the same in C. Invariant:
//! nodes lie in committed blocks, and live as long as their arena.

use crate::arena_document::Node;
use core::cell::{Cell, RefCell};
use heapwood_os::{HUGE_PAGE, Reservation, SYSTEM};

thread_local! {
    static SPARE: RefCell<Vec<Reservation>> = const { RefCell::new(Vec::new()) };
}

/// An arena.
#[derive(Default)]
pub struct BumpArena {
    next: Cell<usize>,
    end: Cell<usize>,
    pieces: RefCell<Vec<Reservation>>,
}

impl BumpArena {
    /// A node.
    #[inline(always)]
    pub fn node(&self, left: *const Node, right: *const Node) -> *const Node {
        let next = self.next.get();
        let place = if next == self.end.get() { self.more() } else { next } as *mut Node;
        self.next.set(place as usize + size_of::<Node>());
        // SAFETY: the memory belongs to this arena, in a committed block.
        unsafe { place.write(Node::new(left, right)) };
        place
    }

    #[cold]
    #[inline(never)]
    fn more(&self) -> usize {
        let piece = SPARE.with_borrow_mut(Vec::pop).unwrap_or_else(|| {
            let piece = Reservation::new(&SYSTEM, HUGE_PAGE, HUGE_PAGE).and_then(|piece| {
                piece.commit(0..HUGE_PAGE)?;
                piece.advise_huge(0..HUGE_PAGE);
                Ok(piece)
            });
            piece.unwrap_or_else(|e| {
                eprintln!("no memory for an arena: {e}");
                std::process::exit(1);
            })
        });
        let start = piece.start();
        self.end.set(start + HUGE_PAGE);
        self.pieces.borrow_mut().push(piece);
        start
    }
}

impl Drop for BumpArena {
    fn drop(&mut self) {
        SPARE.with_borrow_mut(|spare| spare.append(self.pieces.get_mut()));
    }
}
