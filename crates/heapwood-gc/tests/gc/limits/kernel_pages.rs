//! Heaps on kernels with pages of 16 and 64 KiB, larger than the heap's own: a stand-in refuses whatever is not about
//! whole pages of the kernel. What lives in a page of which a part is given back keeps its contents; what was given back
//! reads as zeros; and a kernel with still larger pages is refused in words.

use crate::oracle::program::play;
use crate::oracle::replay::replayed;
use crate::oracle::settings::{ALL, Settings};
use crate::oracle::world::World;
use heapwood_gc::{Config, Heap, HeapError};
use heapwood_gc_testing::*;
use heapwood_os_testing::large_page_kernel::Coarse;

const SIZES: [usize; 3] = [4 << 10, 16 << 10, 64 << 10];
/// Does it on a kernel of each size, of which nothing odd is asked.
fn on_each(work: impl Fn(&'static Coarse)) {
    for size in SIZES {
        let kernel: &'static Coarse = Box::leak(Box::new(Coarse::new(size)));
        work(kernel);
        assert_eq!(kernel.odd_requests(), 0, "requests that are not whole pages of {size} bytes");
    }
}

/// Allocates pages of nodes and pointer-free data side by side, drops every other one, gives memory back, and looks at
/// what is left and at what comes next.
fn churn(kernel: &'static Coarse, config: Config) {
    let heap = Heap::create(kernel, config).unwrap();
    let mutator = attach(&heap);
    let node = node_type(&heap);
    // Of five heap pages each, so that they begin and end anywhere in the kernel's.
    let large = masked(&heap, 5 * 8192 / WORD, &[0, 1]);
    let mut roots = Slots::new(&heap, 2);
    for round in 0..4 {
        for i in 0..200 {
            let object = new(&mutator, large);
            for word in [0, 1, 2, 1000, large.size() / WORD - 1] {
                assert_eq!(get(object, word), 0, "word {word} of a new object, round {round}");
            }
            put(object, 2, i);
            put(object, large.size() / WORD - 1, i);
            // Every other is dropped.
            if i % 2 == 0 {
                put(object, 0, roots.get(0));
                roots.set(0, object);
            }
            roots.extend_list(1, &mutator, node, 100, i);
        }
        roots.set(1, 0);
        mutator.collect().unwrap();
        heap.memory().release_free();
        let (mut at, mut left) = (roots.get(0), 100 * (round + 1));
        while at != 0 {
            left -= 1;
            assert_eq!((get(at, 2), get(at, large.size() / WORD - 1)), (left % 100 * 2, left % 100 * 2));
            at = get(at, 0);
        }
        assert_eq!(left, 0);
        assert_swept_and_valid(&heap);
    }
    // All of it goes.
    roots.set(0, 0);
    mutator.collect().unwrap();
    // The heap's own thread may have done some of it.
    heap.memory().release_free();
    assert!(heap.inspect().stats().backed_bytes < MIB, "{:?}", heap.inspect().stats());
}

#[test]
fn memory_is_given_back_and_used_again() {
    on_each(|kernel| {
        [PRECISE, PRECISE.verify(true).quarantine(0)].into_iter().for_each(|config| churn(kernel, config))
    });
}

/// An object of more than a GiB is given back instead of zeroed when its memory is used again.
#[test]
fn objects_of_gigabytes_are_zero_when_their_memory_is_used_again() {
    on_each(|kernel| {
        let heap = Heap::create(kernel, PRECISE.address_space(8 << 30)).unwrap();
        let mutator = attach(&heap);
        let node = node_type(&heap);
        let bytes = (1 << 30) + (24 << 10);
        let ty = pointer_free(&heap, bytes);
        let mut roots = Slots::new(&heap, 1);
        let words = [0, 1500, 5000, 10_000, bytes / WORD / 2, bytes / WORD - 5000, bytes / WORD - 1];
        for round in 0..3 {
            roots.extend_list(0, &mutator, node, 300, 300 * round);
            let object = mutator.allocate_zeroed(ty).unwrap().as_ptr() as usize;
            for word in words {
                assert_eq!(get(object, word), 0, "word {word} in round {round}");
                put(object, word, usize::MAX);
            }
            mutator.collect().unwrap();
            mutator.collect().unwrap();
            check_list(roots.get(0), 300 * (round + 1), 0);
        }
        assert!(heap.inspect().stats().committed_bytes < 2 << 30, "the memory was used again");
    });
}

#[test]
fn the_oracle_is_content_with_every_page_size() {
    on_each(|kernel| {
        // How threads are stopped has nothing to do with pages.
        let usual = |s: &&Settings| !s.config.stress && !s.disturbed();
        for settings in ALL.iter().filter(usual).map(replayed) {
            let mut world = World::on(kernel, settings, 1);
            let steps = if is_thorough() { 1000 } else { 300 };
            play(&mut world, 1, 3 * steps).unwrap_or_else(|what| panic!("{what}"));
            world.heap.memory().release_free();
            play(&mut world, 1, 2 * steps).unwrap_or_else(|what| panic!("{what}"));
        }
    });
}

#[test]
fn larger_pages_are_refused_in_words() {
    let kernel: &'static Coarse = Box::leak(Box::new(Coarse::new(128 << 10)));
    let refused = Heap::create(kernel, PRECISE).err();
    assert_eq!(refused, Some(HeapError::KernelPages { bytes: 128 << 10 }));
    let said = refused.unwrap().to_string();
    assert!(said.contains("131072 bytes") && said.contains("up to 65536"), "{said}");
}
