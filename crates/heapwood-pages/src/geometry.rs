//! The shape of the tables, fixed at compile time: how many pages a chunk has and how many bits of a chunk's index
//! each level of the tree resolves, root first. One entry of the root covers at most 2^21 pages, since a summary
//! counts no further. The 48-bit shape is the one worked out in the Go page allocator proposal; the tiny one exists
//! so that every state of it can be tried.

use crate::page::{LOG_PAGE_SIZE, PAGE_SIZE};
use core::fmt::Debug;
use core::marker::PhantomData;
use heapwood_os::memory::region::Zeroed;

/// The most levels a geometry may have.
pub const MAX_LEVELS: usize = 5;

mod sealed {
    pub trait Sealed {}
    impl<const N: usize> Sealed for [u64; N] {}
}

/// The words behind the bits of one chunk: `[u64; N]`, nothing else.
pub trait Words:
    sealed::Sealed + Zeroed + Copy + Debug + Send + Sync + 'static + AsRef<[u64]> + AsMut<[u64]>
{
    /// How many words there are.
    const COUNT: usize;
    /// All bits clear.
    const CLEAR: Self;
    /// All bits set.
    const SET: Self;
}

impl<const N: usize> Words for [u64; N] {
    const COUNT: usize = N;
    const CLEAR: Self = [0; N];
    const SET: Self = [u64::MAX; N];
}

/// A shape of the page tables. The conditions are checked when an allocator of the shape is compiled.
pub trait Geometry: Copy + Debug + Send + Sync + 'static {
    /// The logarithm of the pages a chunk has.
    const LOG_CHUNK_PAGES: u32;
    /// The bits each level resolves, root first: 1 to [`MAX_LEVELS`] levels. The last level has a summary a chunk.
    const LEVEL_BITS: &'static [u32];
    /// The number of levels.
    const LEVELS: usize = Self::LEVEL_BITS.len();
    /// `[u64; N]` with as many bits as a chunk has pages, or `[u64; 1]` for fewer than 64.
    type Words: Words;
}

/// A 48-bit address space: five levels, 2^14 root entries of 16 GiB, fan-out 8, chunks of 4 MiB.
#[derive(Clone, Copy, Debug)]
pub struct Bits48;

impl Geometry for Bits48 {
    const LOG_CHUNK_PAGES: u32 = 9;
    const LEVEL_BITS: &'static [u32] = &[14, 3, 3, 3, 3];
    type Words = [u64; 8];
}

/// A 32-bit address space: four levels, two root entries of 2 GiB, fan-out 8, chunks of 4 MiB.
#[derive(Clone, Copy, Debug)]
pub struct Bits32;

impl Geometry for Bits32 {
    const LOG_CHUNK_PAGES: u32 = 9;
    const LEVEL_BITS: &'static [u32] = &[1, 3, 3, 3];
    type Words = [u64; 8];
}

/// 32 pages in all: three levels of fan-out 2 over chunks of 4 pages, for tests and models.
#[derive(Clone, Copy, Debug)]
pub struct Tiny;

impl Geometry for Tiny {
    const LOG_CHUNK_PAGES: u32 = 2;
    const LEVEL_BITS: &'static [u32] = &[1, 1, 1];
    type Words = [u64; 1];
}

/// What follows from a geometry, computed at compile time.
pub(crate) struct TreeShape<G>(PhantomData<G>);

impl<G: Geometry> TreeShape<G> {
    /// The pages of a chunk.
    pub(crate) const CHUNK_PAGES: usize = 1 << G::LOG_CHUNK_PAGES;

    /// The level with a summary a chunk.
    pub(crate) const LEAF: usize = G::LEVELS - 1;

    /// The logarithm of the pages an entry of each level covers.
    pub(crate) const LOG_PAGES: [u32; MAX_LEVELS] = {
        let mut logs = [G::LOG_CHUNK_PAGES; MAX_LEVELS];
        let mut level = G::LEVELS - 1;
        while level > 0 {
            logs[level - 1] = logs[level] + G::LEVEL_BITS[level];
            level -= 1;
        }
        logs
    };

    /// The bits each level resolves; zero for the levels that are not there.
    pub(crate) const BITS: [u32; MAX_LEVELS] = {
        let mut bits = [0; MAX_LEVELS];
        let mut level = 0;
        while level < G::LEVELS {
            bits[level] = G::LEVEL_BITS[level];
            level += 1;
        }
        bits
    };

    /// The pages of the whole address space.
    pub(crate) const ALL_PAGES: usize = 1 << (Self::LOG_PAGES[0] + G::LEVEL_BITS[0]);

    /// Fails to compile for a geometry that cannot be.
    pub(crate) const CHECK: () = {
        assert!(G::LEVELS == G::LEVEL_BITS.len());
        assert!(G::LEVELS >= 1 && G::LEVELS <= MAX_LEVELS);
        assert!(Self::LOG_PAGES[0] <= crate::summary::LOG_MOST, "a root entry covers at most 2^21 pages");
        assert!(Self::LOG_PAGES[0] + G::LEVEL_BITS[0] < usize::BITS - LOG_PAGE_SIZE);
        assert!(<G::Words as Words>::COUNT == Self::CHUNK_PAGES.div_ceil(64));
        let mut level = 1;
        while level < G::LEVELS {
            // A block of siblings lies in one kernel page, so it is committed whole.
            assert!(size_of::<u64>() << G::LEVEL_BITS[level] <= heapwood_os::LEAST_KERNEL_PAGE);
            level += 1;
        }
    };
}

const _: () = {
    assert!(TreeShape::<Bits48>::ALL_PAGES == 1 << (48 - LOG_PAGE_SIZE));
    assert!(TreeShape::<Bits48>::LOG_PAGES[0] == 21);
    assert!(TreeShape::<Bits48>::CHUNK_PAGES * PAGE_SIZE == 4 << 20);
    assert!(TreeShape::<Bits32>::ALL_PAGES == 1 << (32 - LOG_PAGE_SIZE));
    assert!(TreeShape::<Tiny>::ALL_PAGES == 32);
};
