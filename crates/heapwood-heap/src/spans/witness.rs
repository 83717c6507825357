//! Loom's view of span ownership. Span descriptors are plain memory to loom, so its models keep a cell and a count for
//! each page. A thread that uses a span as its own (a mutator, a sweep, the holder of its list) touches the cell of the
//! first page. Loom then reports two threads that do so without order, and the cell reports a sweep of a span that was
//! swept or made in this cycle. A thread that looks at another's span counts, as does one that makes or ends a span:
//! loom tries such steps in every order. Invariant: without `cfg(loom)` this is empty.

#[cfg(not(loom))]
use heapwood_pages::PageIndex;
#[cfg(loom)]
pub(crate) use modelled::Witness;

/// The witness outside loom: nothing.
#[cfg(not(loom))]
pub(crate) struct Witness;

#[cfg(not(loom))]
impl Witness {
    pub(crate) fn new() -> Self {
        Witness
    }

    /// The calling thread uses the span that begins at a page as its own.
    #[inline(always)]
    pub(crate) fn own(&self, _: PageIndex) {}

    /// The calling thread makes a span in a cycle.
    #[inline(always)]
    pub(crate) fn make(&self, _: PageIndex, _cycle: impl FnOnce() -> u32) {}

    /// The calling thread ends a span of its own.
    #[inline(always)]
    pub(crate) fn end(&self, _: PageIndex) {}

    /// The calling thread sweeps a span of its own.
    #[inline(always)]
    pub(crate) fn sweep(&self, _: PageIndex, _cycle: impl FnOnce() -> u32) {}

    /// The calling thread looks at a span that others may end and make anew meanwhile.
    #[inline(always)]
    pub(crate) fn look(&self, _: PageIndex) {}

    /// The range of valid lookups has grown.
    #[inline(always)]
    pub(crate) fn grow(&self) {}
}

#[cfg(loom)]
mod modelled {
    use heapwood_os::threads::sync::{AtomicU32, Ordering, UnsafeCell};
    use heapwood_pages::PageIndex;

    /// Models have small heaps.
    const PAGES: usize = 64;

    /// The record of the spans that begin at each page.
    pub(crate) struct Witness(Vec<Seen>, Grown);

    /// The number of times that the heap grew.
    #[derive(Default)]
    struct Grown(UnsafeCell<u32>);

    // SAFETY: loom reports unordered accesses.
    unsafe impl Sync for Grown {}

    #[derive(Default)]
    struct Seen {
        /// The cycle in which the last span was made or swept.
        swept_in: UnsafeCell<u32>,
        looks: AtomicU32,
        made: UnsafeCell<u32>,
    }

    // SAFETY: loom reports unordered accesses.
    unsafe impl Sync for Seen {}

    impl Witness {
        pub(crate) fn new() -> Self {
            Witness((0..PAGES).map(|_| Seen::default()).collect(), Grown::default())
        }

        fn with(&self, page: PageIndex, f: impl FnOnce(&mut u32)) {
            // SAFETY: as above.
            self.0[page.0].swept_in.with_mut(|cell| f(unsafe { &mut *cell }));
        }

        pub(crate) fn own(&self, page: PageIndex) {
            self.with(page, |_| ());
        }

        pub(crate) fn make(&self, page: PageIndex, cycle: impl FnOnce() -> u32) {
            self.look(page);
            // SAFETY: loom reports unordered accesses.
            self.0[page.0].made.with_mut(|made| unsafe { *made += 1 });
            self.with(page, |swept_in| *swept_in = cycle());
        }

        pub(crate) fn end(&self, page: PageIndex) {
            self.look(page);
            self.own(page);
        }

        pub(crate) fn sweep(&self, page: PageIndex, cycle: impl FnOnce() -> u32) {
            let cycle = cycle();
            self.with(page, |swept_in| {
                assert_ne!(*swept_in, cycle, "{page}: swept in the cycle in which it was swept or made");
                *swept_in = cycle;
            });
        }

        pub(crate) fn grow(&self) {
            // SAFETY: as above.
            self.1.0.with_mut(|grown| unsafe { *grown += 1 });
        }

        /// The calling thread has met a pointer into the span that begins at a page, so the span was made before, and
        /// the page can be looked up.
        #[cfg(test)]
        pub(crate) fn know(&self, page: PageIndex) {
            // SAFETY: as above.
            let (made, grown) =
                unsafe { (self.0[page.0].made.with(|made| *made), self.1.0.with(|grown| *grown)) };
            assert!(made > 0 && grown > 0, "{page}");
        }

        pub(crate) fn look(&self, page: PageIndex) {
            self.0[page.0].looks.fetch_add(1, Ordering::Relaxed);
        }
    }
}
