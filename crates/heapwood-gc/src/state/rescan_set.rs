//! The rescan set: spans with marked objects that were not scanned, because a mark stack was full, or because the log of
//! shaded objects (`marking_log`) had no chunk for them. Where the kernel gave no memory for more bits, one flag stands
//! for all spans without a bit. Mutators and markers add spans while one thread commits bits and takes spans. Invariant:
//! each flag is taken once, and a span in the set is never forgotten.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_heap::Stopped;
use heapwood_os::threads::watched::{AtomicBool, AtomicU64};
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};
use heapwood_pages::{PAGE_SIZE, PageIndex};

/// Pages for each word of bits.
pub(crate) const WORD_PAGES: usize = 64;

/// The spans with marked objects that were not scanned: one bit for each page; a span uses its first page's.
pub(crate) struct RescanSet {
    bits: MappedArray<AtomicU64>,
    /// Committed words. Pages beyond have no bits if the kernel refused more.
    words: AtomicUsize,
    /// Stands for all spans without a bit.
    beyond: AtomicBool,
    any: AtomicBool,
}

impl RescanSet {
    /// An empty set for a reservation of N bytes.
    pub(crate) fn new(kernel: KernelRef, reservation: usize) -> Result<Self, OsError> {
        let bits = MappedArray::new(kernel, (reservation / PAGE_SIZE).div_ceil(WORD_PAGES))?;
        Ok(RescanSet {
            bits,
            words: AtomicUsize::new(0),
            beyond: AtomicBool::new(false),
            any: AtomicBool::new(false),
        })
    }

    /// Commits the bits for N bytes of heap, if the kernel grants them. No other thread adds spans meanwhile. As long as
    /// the flag for all others is set, it stands for the same spans.
    pub(crate) fn commit(&self, committed_end: usize) {
        if self.is_beyond() {
            return;
        }
        let (words, now) = ((committed_end / PAGE_SIZE).div_ceil(WORD_PAGES), self.words());
        if words > now && self.bits.commit(now..words).is_ok() {
            // A thread that sees the number finds the bits.
            self.words.store(words, Ordering::Release);
        }
    }

    /// Whether the set may have spans; exact while no marker adds any.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Adds a span; whether it was not there. Several threads may add while one takes.
    pub(crate) fn flag(&self, page: usize) -> bool {
        let is_new = if page / WORD_PAGES < self.words() {
            // SAFETY: these words are committed.
            let word = unsafe { &*self.bits.at(page / WORD_PAGES) };
            let bit = 1 << (page % WORD_PAGES);
            // The marker that takes the flag sees the marks that were set before.
            word.fetch_or(bit, Ordering::Release) & bit == 0
        } else {
            !self.beyond.swap(true, Ordering::Release)
        };
        // After the flag: a marker that clears `any` and then takes flags sees this flag, or `any` is set again.
        self.any.store(true, Ordering::Release);
        is_new
    }

    /// Takes the flags of a word's pages.
    pub(crate) fn take(&self, index: usize) -> u64 {
        assert!(index < self.words());
        // SAFETY: these words are committed.
        unsafe { &*self.bits.at(index) }.swap(0, Ordering::Acquire)
    }

    /// Ends taking flags in the middle, with these of a word left, and perhaps those of later words.
    pub(crate) fn leave(&self, index: usize, left: u64) {
        assert!(index < self.words());
        // SAFETY: these words are committed.
        unsafe { &*self.bits.at(index) }.fetch_or(left, Ordering::Release);
        self.any.store(true, Ordering::Release);
    }

    /// Begins to take flags: `any` now stands for flags that are set from here on.
    pub(crate) fn begin(&self) {
        self.any.swap(false, Ordering::AcqRel);
    }

    /// Empties the set after a marking that ended early.
    pub(crate) fn forget(&self) {
        if self.any() {
            self.begin();
            (0..self.words()).for_each(|index| _ = self.take(index));
            self.take_beyond();
        }
    }

    /// The number of words.
    pub(crate) fn words(&self) -> usize {
        self.words.load(Ordering::Acquire)
    }

    /// Takes all spans, and calls `f` with each; those without a bit only of a stopped heap.
    pub(crate) fn take_all(&self, world: Option<&Stopped<'_>>, mut f: impl FnMut(PageIndex)) {
        self.begin();
        for index in 0..self.words() {
            let mut bits = self.take(index);
            while bits != 0 {
                f(PageIndex(index * WORD_PAGES + bits.trailing_zeros() as usize));
                bits &= bits - 1;
            }
        }
        if let Some(world) = world
            && self.take_beyond()
        {
            let words = self.words();
            world.for_each_span(|page, _| {
                if page.0 / WORD_PAGES >= words {
                    f(page);
                }
            });
        }
    }

    /// Whether spans without a bit are in the set.
    pub(crate) fn is_beyond(&self) -> bool {
        self.beyond.load(Ordering::Acquire)
    }

    /// Takes the flag that stands for all spans without a bit.
    pub(crate) fn take_beyond(&self) -> bool {
        self.beyond.swap(false, Ordering::Acquire)
    }
}

impl Mapped for RescanSet {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.bits.for_each_mapping(f);
    }
}

#[cfg(all(test, loom))]
mod model {
    //! A mutator adds spans to the set while a marker takes them, under loom; the words of the set are watched. Each span has a
    //! cell that is written before it is added. Invariant: who takes a span sees that, and a span that was added is taken or
    //! `any` says that there are some.

    use super::*;
    use crate::mutator::model::fails::fails;
    use heapwood_os::SYSTEM;
    use heapwood_os::threads::watched::Watch;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    /// Two spans of one word of flags.
    const PAGES: [usize; 2] = [3, 5];

    /// How a span is added: as the product does, and otherwise.
    #[derive(Clone, Copy)]
    enum Add {
        AsItIs,
        AnyFirst,
        Relaxed,
    }

    struct World {
        set: RescanSet,
        marks: [UnsafeCell<u32>; PAGES.len()],
    }

    // SAFETY: loom reports unordered accesses.
    unsafe impl Sync for World {}
    // SAFETY: as above.
    unsafe impl Send for World {}

    impl World {
        fn new() -> World {
            let set = RescanSet::new(&SYSTEM, 64 * PAGE_SIZE).unwrap();
            set.commit(64 * PAGE_SIZE);
            World { set, marks: core::array::from_fn(|_| UnsafeCell::new(0)) }
        }

        /// From now on it stays where it is.
        fn watch(&self) -> Watch {
            let watch = Watch::new();
            watch.add_in_order(&self.set.any);
            // SAFETY: it is committed.
            watch.add(unsafe { &*self.set.bits.at(0) });
            watch
        }

        fn add(&self, index: usize, how: Add) {
            // SAFETY: the pointer is the cell's; loom reports concurrent accesses.
            self.marks[index].with_mut(|mark| unsafe { *mark += 1 });
            // SAFETY: it is committed.
            let (page, word) = (PAGES[index], unsafe { &*self.set.bits.at(0) });
            match how {
                Add::AsItIs => _ = self.set.flag(page),
                Add::AnyFirst => {
                    self.set.any.store(true, Ordering::Release);
                    word.fetch_or(1 << page, Ordering::Release);
                }
                Add::Relaxed => {
                    word.fetch_or(1 << page, Ordering::Relaxed);
                    self.set.any.store(true, Ordering::Relaxed);
                }
            }
        }

        /// Takes what there is.
        fn take(&self, taken: &mut Vec<usize>) {
            if self.set.any() {
                self.set.take_all(None, |page| {
                    let index = PAGES.iter().position(|&added| added == page.0).unwrap();
                    // SAFETY: as above.
                    assert_eq!(self.marks[index].with(|mark| unsafe { *mark }), 1);
                    taken.push(page.0);
                });
            }
        }
    }

    fn a_marker_takes_spans(how: Add) {
        loom::model(move || {
            let world = Arc::new(World::new());
            let _watch = world.watch();
            let theirs = world.clone();
            let mutator = loom::thread::spawn(move || (0..PAGES.len()).for_each(|i| theirs.add(i, how)));
            let mut taken = Vec::new();
            world.take(&mut taken);
            mutator.join().unwrap();
            world.take(&mut taken);
            taken.sort_unstable();
            assert_eq!(taken, PAGES, "a span is forgotten, or comes twice");
        });
    }

    #[test]
    fn a_span_that_is_added_is_taken_once_with_what_came_before() {
        a_marker_takes_spans(Add::AsItIs);
    }

    #[test]
    fn any_before_the_flag_is_noticed() {
        fails("a span is forgotten", || a_marker_takes_spans(Add::AnyFirst));
    }

    #[test]
    fn a_flag_without_a_release_is_noticed() {
        fails("Causality violation", || a_marker_takes_spans(Add::Relaxed));
    }
}
