//! Memory by the state of its pages, against memory that the test has touched itself.

use heapwood_os::memory::kernel::Kernel;
use heapwood_os::{Pagemap, Reservation, SYSTEM};
use heapwood_pages::{
    Bits48, Effort, PAGE_SIZE, PageCount, PageIndex, Residency, ScavengePolicy, SharedPages,
};

const CHUNK: usize = 512;

#[test]
#[ignore = "of the long suite: memory that the kernel counts"]
fn each_touched_byte_counts_once_by_the_state_of_its_page() {
    let memory = Reservation::new(&SYSTEM, 8 * CHUNK * PAGE_SIZE, PAGE_SIZE).unwrap();
    memory.commit(0..memory.len()).unwrap();
    let pages = SharedPages::<Bits48>::new(&SYSTEM, PageCount(8 * CHUNK)).unwrap();
    let kernel_page = SYSTEM.page_size().min(PAGE_SIZE);
    // The first kernel page of a page.
    let touch = |page: usize| {
        // SAFETY: committed above, and used by this test alone.
        unsafe { ((memory.start() + page * PAGE_SIZE) as *mut u8).write_volatile(1) };
    };
    let pagemap = Pagemap::new();
    let found = || pages.residency(memory.start(), &pagemap).unwrap();
    let parts = |in_use: usize, free: usize, others: usize| Residency {
        in_use: in_use * kernel_page,
        free: free * kernel_page,
        others: others * kernel_page,
    };
    assert_eq!(found(), parts(0, 0, 0));
    // A page that does not exist, in a chunk that has others; and one in a chunk without any.
    pages.grow(PageIndex(1), PageCount(2 * CHUNK - 1)).unwrap();
    pages.grow(PageIndex(5 * CHUNK), PageCount(CHUNK)).unwrap();
    touch(0);
    touch(3 * CHUNK + 7);
    assert_eq!(found(), parts(0, 0, 2));
    // Ten pages in use, three of them touched; two that are free and were never used.
    let run = pages.allocate_uncached(PageCount(10)).unwrap();
    assert_eq!(run.first, PageIndex(1));
    [1, 5, 10, 11, 2 * CHUNK - 1].into_iter().for_each(touch);
    assert_eq!(found(), parts(3, 0, 4));
    pages.free(PageIndex(5), PageCount(6)).unwrap();
    assert_eq!(found(), parts(1, 2, 4));
    let policy = ScavengePolicy { most: PageCount(CHUNK), huge_pages: false };
    let release = |first: PageIndex, count: PageCount| {
        let bytes = first.byte_offset()..first.byte_offset() + count.bytes();
        // SAFETY: the pages are free, and committed.
        unsafe { memory.decommit(bytes) }.is_ok()
    };
    pages.scavenge(Effort::Full, policy, release).unwrap();
    assert_eq!((found(), found().total()), (parts(1, 0, 4), 5 * kernel_page));
    touch(5 * CHUNK + 9);
    assert_eq!(found(), parts(1, 0, 5));
}
