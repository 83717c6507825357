//! The arenas of the document on arena performance (golang/go#51667), as far as its table needs them. Nodes are
//! allocated in sequence from chunks of 64 MiB. When an arena is freed, full chunks are returned to the kernel, and the
//! next arena continues in the current chunk. So memory is always fresh, which is the subject of the document. Its
//! three kinds differ in the first touch, and in how early a chunk is returned. Invariant: nodes lie in committed
//! chunks, and live as long as their arena.

use core::cell::Cell;
use core::marker::PhantomData;
use heapwood_os::{HUGE_PAGE, Reservation, SYSTEM};
use std::cell::RefCell;

/// The bytes of a chunk.
const CHUNK: usize = 64 << 20;

/// How a chunk gets memory, and when it is returned.
pub trait Document {
    /// Each 2 MiB of a chunk is advised to be a huge page, and cleared before use.
    const HUGE: bool;
    /// A chunk with this many bytes in use is returned when its arena is freed.
    const RETURN_AFTER: usize;
}

/// No advice about huge pages.
pub struct SmallPages;
/// Huge pages.
pub struct HugePages;
/// Huge pages, and chunks that are returned after 8 MiB of use.
pub struct EarlyReturn;

impl Document for SmallPages {
    const HUGE: bool = false;
    const RETURN_AFTER: usize = CHUNK;
}

impl Document for HugePages {
    const HUGE: bool = true;
    const RETURN_AFTER: usize = CHUNK;
}

impl Document for EarlyReturn {
    const HUGE: bool = true;
    const RETURN_AFTER: usize = 8 << 20;
}

/// A node of a tree.
pub struct Node {
    left: *const Node,
    right: *const Node,
}

impl Node {
    pub(crate) fn new(left: *const Node, right: *const Node) -> Self {
        Node { left, right }
    }

    /// The number of nodes of the tree.
    ///
    /// # Safety
    /// 1. The arena of the nodes exists.
    pub unsafe fn count(&self) -> u64 {
        if self.left.is_null() {
            return 1;
        }
        // SAFETY: contract 1.
        unsafe { 1 + (*self.left).count() + (*self.right).count() }
    }
}

struct Chunk {
    memory: Reservation,
    used: usize,
}

thread_local! {
    /// The chunk that the last arena of this thread left.
    static LEFT: RefCell<Option<Chunk>> = const { RefCell::new(None) };
}

/// An arena of the document.
pub struct DocumentArena<D: Document> {
    next: Cell<usize>,
    /// Memory below this is prepared.
    end: Cell<usize>,
    chunks: RefCell<Vec<Chunk>>,
    way: PhantomData<D>,
}

impl<D: Document> DocumentArena<D> {
    /// An arena without nodes.
    #[expect(clippy::new_without_default, reason = "it takes memory")]
    pub fn new() -> Self {
        let arena = DocumentArena {
            next: Cell::new(0),
            end: Cell::new(0),
            chunks: RefCell::default(),
            way: PhantomData,
        };
        if let Some(chunk) = LEFT.take() {
            arena.go_on(chunk);
        }
        arena
    }

    /// A node.
    #[inline(always)]
    pub fn node(&self, left: *const Node, right: *const Node) -> *const Node {
        let next = self.next.get();
        let place = if next + size_of::<Node>() <= self.end.get() { next } else { self.more() } as *mut Node;
        self.next.set(place as usize + size_of::<Node>());
        // SAFETY: the memory belongs to this arena, in a committed chunk.
        unsafe { place.write(Node { left, right }) };
        place
    }

    fn go_on(&self, chunk: Chunk) {
        let at = chunk.memory.start() + chunk.used;
        self.next.set(at);
        self.end.set(if D::HUGE { at.next_multiple_of(HUGE_PAGE) } else { chunk.memory.start() + CHUNK });
        self.chunks.borrow_mut().push(chunk);
    }

    #[cold]
    #[inline(never)]
    fn more(&self) -> usize {
        let mut chunks = self.chunks.borrow_mut();
        if let Some(chunk) = chunks.last_mut() {
            let (start, at) = (chunk.memory.start(), self.end.get());
            if at < start + CHUNK {
                // The next 2 MiB, cleared at once. SAFETY: the chunk is committed, and this part unused.
                unsafe { (at as *mut u8).write_bytes(0, HUGE_PAGE) };
                self.end.set(at + HUGE_PAGE);
                return self.next.get();
            }
            chunk.used = CHUNK;
        }
        drop(chunks);
        let no_memory = |e| -> ! {
            eprintln!("no memory for an arena of the document: {e}");
            std::process::exit(1);
        };
        let memory = Reservation::new(&SYSTEM, CHUNK, HUGE_PAGE).unwrap_or_else(|e| no_memory(e));
        memory.commit(0..CHUNK).unwrap_or_else(|e| no_memory(e));
        if D::HUGE {
            memory.advise_huge(0..CHUNK);
        }
        self.go_on(Chunk { memory, used: 0 });
        if D::HUGE { self.more() } else { self.next.get() }
    }
}

impl<D: Document> Drop for DocumentArena<D> {
    fn drop(&mut self) {
        let mut chunks = self.chunks.take();
        let Some(mut last) = chunks.pop() else { return };
        last.used = self.next.get() - last.memory.start();
        // Dropping the rest returns the other chunks.
        if last.used < D::RETURN_AFTER {
            LEFT.set(Some(last));
        }
    }
}
