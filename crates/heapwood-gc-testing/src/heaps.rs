//! Settings, heaps and mutators.

use heapwood_gc::settings::options::{Generational, Stop};
use heapwood_gc::{Attached, Config, Heap, HeapBox, MemoryAccount, Mutator};
use heapwood_os::SYSTEM;

/// Only precise roots, and a small address range.
pub const PRECISE: Config =
    Config::DEFAULT.conservative_stacks(false).huge_pages(false).address_space(2 << 30).min_heap(1 << 20);

/// The same, and every collection looks at everything: for tests of when those come, and of what they do.
pub const FULL: Config = PRECISE.generational(Generational::Off);

/// The same as [`PRECISE`], and collections are young ones mostly.
pub const YOUNG: Config = PRECISE.generational(Generational::Always);

/// Threads are stopped by signals, wherever they are; so stacks are scanned.
pub const BY_SIGNALS: Config = FULL.conservative_stacks(true).stop(Stop::Signals);

pub fn heap(config: Config) -> HeapBox {
    Heap::create(&SYSTEM, config).unwrap()
}

pub fn attach(heap: &Heap) -> Attached<'_> {
    Mutator::attach(heap, None).unwrap()
}

/// The heap's tables, lists and bits agree, and its memory adds up. The calling thread is the only one that uses the heap.
pub fn assert_valid(heap: &Heap) {
    // SAFETY: the tests call this when other threads have been joined.
    unsafe { heap.inspect().is_valid() }.unwrap();
    account(heap);
}

/// Where the heap's memory is. Its parts add up, by class and in all; so no part is left out, and none counts twice.
pub fn account(heap: &Heap) -> MemoryAccount {
    let account = heap.memory_account().unwrap();
    let parts = &account.parts;
    assert_eq!(parts.backed_parts(), parts.backed, "{parts:?}");
    let mut bytes = parts.unfinished + parts.cached_pages + parts.free_pages;
    bytes += parts.arenas + parts.free_arenas + parts.quarantined;
    for class in account.classes() {
        assert_eq!(class.total(), class.bytes, "{class:?}");
        bytes += class.bytes;
    }
    assert_eq!(bytes, parts.backed, "{parts:?}");
    account
}

/// All is swept, and the tables agree.
pub fn assert_swept_and_valid(heap: &Heap) {
    heap.memory().finish_sweep();
    assert_valid(heap);
}

/// An object begins there.
pub fn is_alive(heap: &Heap, object: usize) -> bool {
    heap.objects().find(object).is_some_and(|found| found.base.get() == object)
}

/// The same once all is swept.
pub fn lives(heap: &Heap, object: usize) -> bool {
    heap.memory().finish_sweep();
    is_alive(heap, object)
}
