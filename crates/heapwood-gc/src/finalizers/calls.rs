//! The calls of queues' functions that are under way on a thread, by the places of their frames on its stack. A function may be left by
//! longjmp, which tells nobody: a call has also ended when the thread is back where its frame was, or further up. Between two stacks this
//! is a guess. Where a call that goes on is taken for one that was left, its return changes nothing; where one that was left is taken for
//! one that goes on, it counts against the depth until the thread is further up.
//! Invariant: a call counts once as begun, and once as ended.

use super::telling::MOST_NESTED;
use core::cell::Cell;

/// A call of a queue's function, or one of the client's that counts as such.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// An address in its frame.
    pub(crate) frame: usize,
    /// The place of the queue.
    pub(crate) queue: Option<usize>,
}

/// The calls of a thread in a heap, the innermost last.
pub(crate) struct FinalizerCalls {
    calls: [Cell<Call>; MOST_NESTED],
    depth: Cell<usize>,
}

impl FinalizerCalls {
    pub(crate) const fn new() -> Self {
        FinalizerCalls {
            calls: [const { Cell::new(Call { frame: 0, queue: None }) }; MOST_NESTED],
            depth: Cell::new(0),
        }
    }

    /// How many there are, with those that were left and nobody has noticed.
    #[inline(always)]
    pub(crate) fn depth(&self) -> usize {
        self.depth.get()
    }

    /// The place of the queue of each.
    pub(crate) fn queues(&self) -> impl Iterator<Item = usize> {
        self.calls[..self.depth()].iter().filter_map(|call| call.get().queue)
    }

    /// A call begins; there are less than [`MOST_NESTED`].
    pub(crate) fn begin(&self, call: Call) {
        let depth = self.depth.get();
        self.calls[depth].set(call);
        self.depth.set(depth + 1);
    }

    /// Ends the innermost call if its frame lies at most so far up the stack.
    pub(crate) fn end_below(&self, most: usize) -> Option<Call> {
        let depth = self.depth.get().checked_sub(1)?;
        let call = self.calls[depth].get();
        (call.frame <= most).then(|| {
            self.depth.set(depth);
            call
        })
    }
}
