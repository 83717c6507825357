//! The markers of a parallel marking. A marker with edges hands blocks of them to idle markers, and all learn when no
//! edge is left. A marker keeps its edges to itself and looks now and then whether another is idle
//! ([`MarkerPool::has_idle_marker`], one load of a word that seldom changes); only then it hands a block over. So the
//! lock is taken as often as a marker runs dry, not as often as edges are found. The scheme is Endo, Taura and
//! Yonezawa's ("A Scalable Mark-Sweep Garbage Collector on Large-Scale Shared-Memory Machines", 1997); Boehm's libgc
//! shares work in the same way.
//!
//! Invariant, of the state under the lock: `waiting` members hold no edge, neither in their stacks nor in their rings
//! nor in a block. Every edge that is not yet followed is held by a member that does not wait, or lies in a block of
//! `full`.
//!
//! **Termination.** A marking ends when, under the lock, no block is full and `waiting == members`; by the invariant no
//! edge is left then. The invariant holds initially: the collector is the only member, does not wait, and has the
//! roots. Each step keeps it:
//! - A member that does not wait fills a block, which is its own until `hand_over` puts it on `full`.
//! - `next` takes a block and ends the member's waiting under one lock.
//! - A member that calls `next` without edges begins to wait under the lock under which it saw no full block.
//! - A member that joins waits.
//!
//! Once the condition holds it stays true, because only members that do not wait hand blocks over. A marking in which
//! all members wait ends at once: the last to begin to wait sees the condition under that lock. The model below runs
//! under loom.

use crate::lock_order::MARKER_POOL;
use heapwood_os::Lock;
use heapwood_os::threads::sync::{self, AtomicU32, Futex, Ordering};

/// The most blocks of a pool.
pub(super) const MOST_BLOCKS: usize = 512;
/// Turns that a waiting member spins before it sleeps: about 20 microseconds. One turn is enough for the model.
const SPINS: u32 = if cfg!(loom) { 1 } else { 400 };

/// Names a block. The thread that holds the name owns the block.
#[derive(Debug)]
pub(super) struct BlockId(pub(super) u16);

/// The next work of a member.
#[derive(Debug)]
pub(super) enum PoolWork {
    /// To follow the edges of a block, which is now its own.
    Follow(BlockId),
    /// To scan the rescan set: all other members wait, and there is no edge.
    Rescan,
    /// None: the marking has ended.
    End,
}

/// Names of blocks.
struct Names {
    names: [u16; MOST_BLOCKS],
    len: usize,
}

impl Names {
    const EMPTY: Names = Names { names: [0; MOST_BLOCKS], len: 0 };

    fn push(&mut self, block: BlockId) {
        self.names[self.len] = block.0;
        self.len += 1;
    }

    fn pop(&mut self) -> Option<BlockId> {
        self.len = self.len.checked_sub(1)?;
        Some(BlockId(self.names[self.len]))
    }
}

struct PoolState {
    /// Members may join.
    open: bool,
    /// The most members.
    most: usize,
    members: usize,
    waiting: usize,
    /// Members that sleep.
    asleep: usize,
    full: Names,
    free: Names,
}

/// The markers that share a marking.
pub(super) struct MarkerPool {
    state: Lock<PoolState, MARKER_POOL>,
    /// Changes with each block that is handed over, at the end, and when the last helper leaves.
    news: Futex,
    /// More members wait than blocks are full.
    has_idle: AtomicU32,
}

impl MarkerPool {
    /// A pool with N free blocks and no marking.
    pub(super) fn new(blocks: usize) -> Self {
        let mut free = Names::EMPTY;
        (0..blocks.min(MOST_BLOCKS)).rev().for_each(|block| free.push(BlockId(block as u16)));
        let state =
            PoolState { open: false, most: 0, members: 0, waiting: 0, asleep: 0, full: Names::EMPTY, free };
        MarkerPool { state: Lock::new(state), news: Futex::new(0), has_idle: AtomicU32::new(0) }
    }

    /// Whether a member waits for edges.
    #[inline(always)]
    pub(super) fn has_idle_marker(&self) -> bool {
        self.has_idle.load(Ordering::Relaxed) != 0
    }

    fn update_idle(&self, state: &PoolState) {
        let has_idle = (state.waiting > state.full.len) as u32;
        // All markers read the word's cache line, so it is written only when it changes.
        if self.has_idle.load(Ordering::Relaxed) != has_idle {
            self.has_idle.store(has_idle, Ordering::Relaxed);
        }
    }

    fn change(&self) {
        self.news.store(self.news.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// Begins a marking of the caller and at most N helpers. The caller is the only member; it has edges.
    pub(super) fn open(&self, helpers: usize) {
        let mut state = self.state.lock();
        debug_assert!(state.members == 0 && state.full.len == 0);
        (state.open, state.most, state.members, state.waiting) = (true, helpers + 1, 1, 0);
        self.update_idle(&state);
    }

    /// Makes the caller a member without edges, if a marking is active and wants more helpers; returns whether it did.
    pub(super) fn join(&self) -> bool {
        let mut state = self.state.lock();
        let joins = state.open && state.members < state.most;
        if joins {
            state.members += 1;
            state.waiting += 1;
            self.update_idle(&state);
        }
        joins
    }

    /// A member leaves a marking that has ended.
    pub(super) fn leave(&self) {
        let mut state = self.state.lock();
        state.members -= 1;
        if state.members == 1 {
            self.change();
            sync::wake(&self.news, i32::MAX);
        }
    }

    /// Waits until the helpers have left, then ends the marking: the collector is the last to leave.
    pub(super) fn close(&self) {
        let mut slept = false;
        loop {
            let mut state = self.state.lock();
            state.asleep -= slept as usize;
            if state.members == 1 {
                (state.members, state.waiting) = (0, 0);
                self.update_idle(&state);
                return;
            }
            let seen = self.news.load(Ordering::Relaxed);
            drop(state);
            slept = self.await_news(seen);
        }
    }

    /// An empty block, if there is one.
    pub(super) fn empty_block(&self) -> Option<BlockId> {
        self.state.lock().free.pop()
    }

    /// Frees a block.
    pub(super) fn free(&self, block: BlockId) {
        self.state.lock().free.push(block);
    }

    /// Hands over a block that the caller has filled; the caller is a member that does not wait.
    pub(super) fn hand_over(&self, block: BlockId) {
        let mut state = self.state.lock();
        state.full.push(block);
        self.update_idle(&state);
        self.change();
        if state.asleep > 0 {
            drop(state);
            sync::wake(&self.news, 1);
        }
    }

    /// The next work of the caller, a member without edges: it waits for a block or for the end. `waits` says that the
    /// pool counts it as waiting already, as after [`MarkerPool::join`]. If all members wait and the rescan set has
    /// spans, one member scans them.
    pub(super) fn next(&self, mut waits: bool, is_left: impl Fn() -> bool) -> PoolWork {
        let mut slept = false;
        loop {
            let mut state = self.state.lock();
            state.asleep -= slept as usize;
            if let Some(block) = state.full.pop() {
                state.waiting -= waits as usize;
                self.update_idle(&state);
                return PoolWork::Follow(block);
            }
            if !state.open {
                return PoolWork::End;
            }
            if !waits {
                state.waiting += 1;
                waits = true;
                self.update_idle(&state);
            }
            if state.waiting == state.members {
                if is_left() {
                    state.waiting -= 1;
                    return PoolWork::Rescan;
                }
                state.open = false;
                self.change();
                sync::wake(&self.news, i32::MAX);
                return PoolWork::End;
            }
            let seen = self.news.load(Ordering::Relaxed);
            drop(state);
            slept = self.await_news(seen);
        }
    }

    /// Waits until `news` may differ from `seen`; true if the caller is counted as asleep.
    fn await_news(&self, seen: u32) -> bool {
        for _ in 0..SPINS {
            if self.news.load(Ordering::Relaxed) != seen {
                return false;
            }
            core::hint::spin_loop();
        }
        self.state.lock().asleep += 1;
        // A thread that changes the word after this count sees a sleeper. If it changed before, the kernel's comparison
        // notices.
        sync::wait(&self.news, seen);
        true
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    /// A marking of trees: an edge of weight n leads to an object whose edges have the sum n - 1.
    struct ModelMarking {
        pool: MarkerPool,
        /// The weight in each block.
        blocks: [UnsafeCell<u32>; 3],
        /// The number of objects that each member has followed.
        followed: [UnsafeCell<u32>; 3],
        /// The weight that full stacks have deferred.
        left_over: AtomicU32,
        /// The next N members that take a block find their stack full.
        overflows: AtomicU32,
    }

    impl ModelMarking {
        /// Marks until the end; `weight` is the member's own at the beginning.
        fn mark(&self, me: usize, mut weight: u32, mut waits: bool) {
            loop {
                while weight > 0 {
                    // SAFETY: the pointers are the cells'; loom reports accesses that are not in order.
                    self.followed[me].with_mut(|n| unsafe { *n += 1 });
                    weight -= 1;
                    if weight > 1
                        && self.pool.has_idle_marker()
                        && let Some(block) = self.pool.empty_block()
                    {
                        // SAFETY: as above.
                        self.blocks[block.0 as usize].with_mut(|w| unsafe { *w = weight / 2 });
                        weight -= weight / 2;
                        self.pool.hand_over(block);
                    }
                }
                match self.pool.next(waits, || self.left_over.load(Ordering::Relaxed) > 0) {
                    PoolWork::Follow(block) => {
                        // SAFETY: as above.
                        weight =
                            self.blocks[block.0 as usize].with_mut(|w| unsafe { core::mem::take(&mut *w) });
                        assert!(weight > 0, "a block that was taken has edges");
                        if self.overflows.swap(0, Ordering::Relaxed) > 0 {
                            weight -= 1;
                            self.left_over.fetch_add(1, Ordering::Relaxed);
                        }
                        self.pool.free(block);
                    }
                    PoolWork::Rescan => weight = self.left_over.swap(0, Ordering::Relaxed),
                    PoolWork::End => return,
                }
                waits = false;
            }
        }
    }

    fn model(helpers: usize, weight: u32, left_over: u32, overflows: u32) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(if helpers > 1 { 2 } else { 3 });
        builder.check(move || {
            let marking = Arc::new(ModelMarking {
                pool: MarkerPool::new(3),
                blocks: [const { () }; 3].map(|()| UnsafeCell::new(0)),
                followed: [const { () }; 3].map(|()| UnsafeCell::new(0)),
                left_over: AtomicU32::new(left_over),
                overflows: AtomicU32::new(overflows),
            });
            marking.pool.open(helpers);
            let threads: Vec<_> = (1..=helpers)
                .map(|me| {
                    let marking = marking.clone();
                    loom::thread::spawn(move || {
                        if marking.pool.join() {
                            marking.mark(me, 0, true);
                            marking.pool.leave();
                        }
                    })
                })
                .collect();
            marking.mark(0, weight, false);
            marking.pool.close();
            // Nobody marks any more: the counts can be read, and their sum is the whole tree. SAFETY: as above.
            let sum: u32 = marking.followed.iter().map(|n| n.with(|n| unsafe { *n })).sum();
            assert_eq!(sum, weight + left_over, "every edge was followed");
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }

    #[test]
    fn edges_are_handed_over_and_the_end_comes_when_none_is_left() {
        model(1, 4, 0, 1);
    }

    #[test]
    fn two_helpers_end_together() {
        model(2, 3, 0, 0);
    }

    #[test]
    fn what_a_full_stack_left_is_scanned_before_the_end() {
        model(1, 2, 3, 0);
    }
}
