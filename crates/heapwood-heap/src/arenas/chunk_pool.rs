//! Arena chunks that no arena has, in stacks by size. The next arena takes the chunk freed last, so that a program of
//! many arenas, one after the other, needs no system call. The lowest length of a stack since the last check is its
//! number of idle chunks. Invariant: a chunk here is in no ring and exists as no object, and its bits are clear on
//! both sides, except where a marking has met and noted a dangling pointer.

use super::chunk::{ArenaChunk, SIZES, pages_of};
use super::protected::{HeapProtectedChunks, ProtectedChunks};
use super::state::ArenaState;
use crate::spans::lookup::Spans;
use heapwood_pages::{PAGE_SIZE, PageIndex};

/// Free chunks by size, and quarantined chunks.
pub(crate) struct ArenaChunkPool {
    pub(super) free: [ChunkStack; SIZES],
    pub(super) quarantined: ChunkStack,
    /// The number of arenas so far.
    arenas: u64,
    /// Whether an arena was ever closed or emptied with the promise that nothing refers to it.
    pub(super) promised: bool,
    /// Pages of chunks in use, and of all chunks.
    pub(super) in_use: usize,
    pub(super) all: usize,
    /// Sweeps return the pages of dead chunks, as the heap is short of memory.
    pub(super) wanted: bool,
    /// The full cycle after which quarantined chunks were last checked.
    pub(crate) trimmed_in: u32,
    /// Quarantined chunks that cannot be read or written.
    pub(super) protected: HeapProtectedChunks,
}

/// A stack of chunks, the last first.
#[derive(Clone, Copy)]
pub(super) struct ChunkStack {
    head: u32,
    pub(super) len: u32,
    /// The lowest length since the last check: the number of idle chunks.
    pub(super) idle: u32,
    /// Pages of chunks without memory.
    pub(super) without_memory: usize,
}

/// The memory of arenas, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArenaBytes {
    /// In arenas.
    pub in_use: usize,
    /// In free chunks, with memory behind them or not.
    pub free: usize,
    /// In quarantined chunks, without memory.
    pub quarantined: usize,
}

/// The pages of a chunk in the pool if it has no memory. (Up to three quarters of a split huge chunk may have memory
/// all the same.)
fn pages_without_memory(spans: &Spans, page: PageIndex) -> usize {
    let span = spans.at(page);
    if span.is_fresh() { span.pages().0 } else { 0 }
}

impl ChunkStack {
    pub(super) const EMPTY: ChunkStack = ChunkStack { head: 0, len: 0, idle: 0, without_memory: 0 };

    pub(super) fn push(&mut self, spans: &Spans, page: PageIndex) {
        ArenaChunk::of(spans.at(page)).set_next(self.head);
        self.head = page.0 as u32;
        self.len += 1;
        self.without_memory += pages_without_memory(spans, page);
    }

    pub(super) fn pop(&mut self, spans: &Spans) -> Option<PageIndex> {
        let page = PageIndex(self.head as usize);
        (self.head != 0).then(|| {
            self.head = ArenaChunk::of(spans.at(page)).next();
            self.len -= 1;
            self.idle = self.idle.min(self.len);
            self.without_memory -= pages_without_memory(spans, page);
            page
        })
    }

    pub(super) fn take_all(&mut self) -> ChunkStack {
        core::mem::replace(self, ChunkStack { idle: self.idle, ..ChunkStack::EMPTY })
    }

    pub(super) fn pages<'s>(&self, spans: &'s Spans) -> impl Iterator<Item = PageIndex> + use<'s> {
        let mut next = self.head;
        core::iter::from_fn(move || {
            let page = PageIndex(next as usize);
            (next != 0).then(|| {
                next = ArenaChunk::of(spans.at(page)).next();
                page
            })
        })
    }
}

impl ArenaChunkPool {
    /// Without a count of the process's protected chunks none is protected.
    pub(crate) const fn new(protected: Option<&'static ProtectedChunks>) -> Self {
        ArenaChunkPool {
            free: [ChunkStack::EMPTY; SIZES],
            quarantined: ChunkStack::EMPTY,
            arenas: 0,
            promised: false,
            in_use: 0,
            all: 0,
            wanted: false,
            trimmed_in: 0,
            protected: HeapProtectedChunks::new(protected),
        }
    }

    /// The number of a new arena.
    pub(super) fn count_arena(&mut self) -> u64 {
        self.arenas += 1;
        self.arenas
    }

    /// Whether an arena was ever closed or emptied with the promise that nothing refers to it.
    pub(crate) fn were_promised(&self) -> bool {
        self.promised
    }

    /// The number of arenas so far.
    pub(crate) fn arenas(&self) -> u64 {
        self.arenas
    }

    /// Whether there is a free chunk of a size.
    pub(super) fn has(&self, size: usize) -> bool {
        self.free[size].len > 0
    }

    /// The bytes of all chunks, with or without memory.
    pub(crate) fn all_bytes(&self) -> usize {
        self.all * PAGE_SIZE
    }

    /// The bytes of chunks in the pool without memory: quarantined, or released. Their pages count as in use.
    pub(crate) fn bytes_without_memory(&self) -> usize {
        let pages =
            self.free.iter().chain([&self.quarantined]).map(|stack| stack.without_memory).sum::<usize>();
        pages * PAGE_SIZE
    }

    /// The bytes of chunks in the pool with memory: free ones, and quarantined ones.
    pub(crate) fn bytes_with_memory(&self, spans: &Spans) -> (usize, usize) {
        let bytes = self.bytes(spans);
        let without = |stack: &ChunkStack| stack.without_memory * PAGE_SIZE;
        let free = self.free.iter().map(without).sum::<usize>();
        (bytes.free - free, bytes.quarantined - without(&self.quarantined))
    }

    /// The memory of arenas.
    pub(crate) fn bytes(&self, spans: &Spans) -> ArenaBytes {
        let free = (0..SIZES).map(|size| self.free[size].len as usize * pages_of(size).bytes()).sum();
        let quarantined = self.quarantined.pages(spans).map(|page| spans.at(page).pages().bytes()).sum();
        ArenaBytes { in_use: self.in_use * PAGE_SIZE, free, quarantined }
    }

    /// Calls `f` with the first page of each chunk in the pool, and the state that it should have.
    pub(crate) fn for_each(&self, spans: &Spans, mut f: impl FnMut(PageIndex, ArenaState)) {
        for stack in &self.free {
            stack.pages(spans).for_each(|page| f(page, ArenaState::Free));
        }
        self.quarantined.pages(spans).for_each(|page| f(page, ArenaState::Quarantined));
    }
}
