//! What a process that forks waits for in a heap: pieces of work of the library's own threads, and of those that collect. Each piece is
//! short, and between two the heap is whole: so a child finds it. A full marking is in no piece, however long it takes: what it
//! writes can be forgotten (`fork.rs`).
//!
//! Invariant: while the process forks no piece begins; who forks goes on when none is under way. Both sides write their word and then
//! read the other's, sequentially consistently.

use core::sync::atomic::{AtomicU32, Ordering};
use heapwood_os::futex;

/// The registry's lock is held for a stop.
pub(crate) const REGISTRY: u32 = 1;
/// Those of the roots are, too.
pub(crate) const ROOTS: u32 = 2;

/// The gate of one heap.
pub(crate) struct ForkGate {
    /// Pieces under way.
    pieces: AtomicU32,
    /// What a collection holds between its pieces. Changes in a piece.
    held: AtomicU32,
    /// Not 0 while the process forks.
    forking: &'static AtomicU32,
}

/// A piece under way.
pub(crate) struct Piece<'g>(&'g ForkGate);

impl Drop for Piece<'_> {
    fn drop(&mut self) {
        self.0.pieces.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ForkGate {
    pub(super) fn new(forking: &'static AtomicU32) -> Self {
        ForkGate { pieces: AtomicU32::new(0), held: AtomicU32::new(0), forking }
    }

    /// Begins a piece, once the process has forked.
    pub(crate) fn piece(&self) -> Piece<'_> {
        loop {
            self.pieces.fetch_add(1, Ordering::SeqCst);
            let piece = Piece(self);
            let forking = self.forking.load(Ordering::SeqCst);
            if forking == 0 {
                return piece;
            }
            drop(piece);
            futex::wait(self.forking, forking);
        }
    }

    /// Says, in a piece, what the collection holds from now on.
    pub(crate) fn set_held(&self, held: u32) {
        self.held.store(held, Ordering::Relaxed);
    }

    /// What a collection holds; exact while no piece is under way and none can begin.
    pub(crate) fn held(&self) -> u32 {
        self.held.load(Ordering::Relaxed)
    }

    /// Whether pieces are under way, for who forks.
    pub(crate) fn has_pieces(&self) -> bool {
        self.pieces.load(Ordering::SeqCst) != 0
    }

    /// In a forked child: no collection is under way.
    pub(crate) fn forget(&self) {
        self.pieces.store(0, Ordering::Relaxed);
        self.held.store(0, Ordering::Relaxed);
    }
}
