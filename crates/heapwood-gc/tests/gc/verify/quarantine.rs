//! The quarantine of verify mode: memory of freed objects is not used again soon, who freed them is known, and writes into it are found.

use core::ptr::NonNull;
use heapwood_gc::{Config, FreedBy, Site, stale_pointer};
use heapwood_gc_testing::*;
use std::collections::HashSet;
use std::os::unix::process::ExitStatusExt;

const KEPT: usize = 4 * MIB;
const CONFIG: Config = PRECISE.verify(true).quarantine(KEPT);

fn freed_by(object: usize) -> Option<FreedBy> {
    stale_pointer(NonNull::new(object as *mut u8).unwrap()).map(|stale| stale.by())
}

/// How many bytes of objects that die at once a heap makes until one of them is where another one was.
fn made_until_one_is_back(config: Config, bytes: usize) -> usize {
    let heap = heap(config.verify(true));
    let mutator = attach(&heap);
    let (ty, mut seen) = (pointer_free(&heap, bytes), HashSet::new());
    while seen.insert(new(&mutator, ty)) {}
    assert_valid(&heap);
    seen.len() * bytes
}

#[test]
fn memory_is_used_again_after_the_quarantine() {
    for config in [PRECISE, BY_SIGNALS, YOUNG, FULL] {
        for bytes in [16, 200, 1008, 3000, 70_000] {
            let made = [0, KEPT].map(|kept| made_until_one_is_back(config.quarantine(kept), bytes));
            assert!(made[0] < KEPT && (KEPT..16 * KEPT).contains(&made[1]), "{bytes}: {made:?}, {config:?}");
        }
    }
}

#[test]
fn who_freed_an_object_is_known() {
    let heap = heap(CONFIG);
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 1);
    for ty in
        [node_type(&heap), pointer_free(&heap, 999), pointer_free(&heap, 100_000), masked(&heap, 5000, &[7])]
    {
        let [kept, dead, freed, new_and_freed] = core::array::from_fn(|_| new(&mutator, ty));
        roots.set(0, kept);
        free(&mutator, new_and_freed);
        assert_eq!([kept, dead, freed].map(freed_by), [None; 3]);
        assert_eq!(freed_by(new_and_freed), Some(FreedBy::Program));
        let number = heap.inspect().stats().collections + 1;
        free(&mutator, freed);
        mutator.collect().unwrap();
        mutator.collect().unwrap();
        assert_eq!(freed_by(kept), None);
        assert_eq!(freed_by(dead), Some(FreedBy::Collection(number)));
        assert_eq!([freed, new_and_freed].map(freed_by), [Some(FreedBy::Program); 2]);
        assert_eq!(freed_by(kept + WORD), None);
        assert_eq!(heap.objects().find(dead), None);
        assert_valid(&heap);
    }
}

/// Where an object was made is said of it as long as its memory is no other one's.
#[test]
fn where_an_object_was_made_is_known_until_its_memory_is_used_again() {
    let heap = heap(CONFIG);
    let mutator = attach(&heap);
    let said =
        |object| stale_pointer(NonNull::new(object as *mut u8).unwrap()).map(|stale| stale.to_string());
    for ty in [node_type(&heap), pointer_free(&heap, 100_000)] {
        let first = new(&mutator, ty);
        mutator.note_site(NonNull::new(first as *mut u8).unwrap(), Site::of(core::panic::Location::caller()));
        mutator.collect().unwrap();
        assert!(
            said(first).is_some_and(|said| said.starts_with("made at ") && said.contains("quarantine.rs:"))
        );
        while new(&mutator, ty) != first {}
        assert_eq!(said(first), None);
        mutator.collect().unwrap();
        assert!(said(first).is_some_and(|said| !said.contains("made at ")));
    }
}

/// A young collection keeps what it finds dead, and so does a marking beside the program that ends later.
#[test]
fn what_dies_young_is_kept_too() {
    let heap = heap(YOUNG.verify(true));
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let first = new(&mutator, node);
    mutator.collect_young().unwrap();
    assert_eq!(freed_by(first), Some(FreedBy::Collection(1)));
    assert_eq!(mutator.incremental_marking().begin(), Ok(true));
    let (second, freed) = (new(&mutator, node), new(&mutator, node));
    free(&mutator, freed);
    mutator.collect_young().unwrap();
    assert_eq!(mutator.incremental_marking().finish(), Ok(true));
    mutator.collect().unwrap();
    assert_eq!(freed_by(first), Some(FreedBy::Collection(1)));
    assert!(matches!(freed_by(second), Some(FreedBy::Collection(_))));
    assert_eq!(freed_by(freed), Some(FreedBy::Program));
    assert_valid(&heap);
}

/// A heap at its limit lets everything go before it refuses an allocation.
#[test]
fn a_limit_leaves_no_room_for_a_quarantine() {
    const LIMIT: usize = 8 * MIB;
    let heap = heap(PRECISE.verify(true).limit(LIMIT));
    let mutator = attach(&heap);
    let mut roots = Slots::new(&heap, 1);
    for bytes in [64, 3000, MIB, 3 * MIB] {
        let ty = pointer_free(&heap, bytes);
        (0..4 * LIMIT / bytes).for_each(|_| roots.set(0, new(&mutator, ty)));
    }
    assert_valid(&heap);
}

/// What a program writes through a stale pointer is found when the memory is about to be used again.
#[test]
fn a_write_into_a_freed_object_is_named() {
    for by_program in [false, true] {
        let said = if by_program {
            "that the program had freed before"
        } else {
            "that collection 1 had freed before"
        };
        Child::new().called(by_program).run(|| write_into_a_freed_object(by_program)).corrupt(said);
    }
}

fn write_into_a_freed_object(by_program: bool) {
    let heap = heap(CONFIG);
    let mutator = attach(&heap);
    let node = node_type(&heap);
    let object = new(&mutator, node);
    if by_program {
        free(&mutator, object);
    }
    mutator.collect().unwrap();
    // SAFETY: the memory stays readable and writable in verify mode.
    unsafe { (object as *mut usize).add(1).write(7) };
    (0..16 * KEPT / node.size()).for_each(|_| _ = new(&mutator, node));
}

/// Who follows a word of a freed object gets a fault, which is explained.
#[test]
fn a_fault_behind_a_stale_pointer_is_explained() {
    is_explained(libc::SIGSEGV, |word| put(word, 1, 0));
}

/// The same where the processor reads relative to a register of the stack, which raises another signal.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_fault_behind_a_stale_stack_register_is_explained() {
    is_explained(libc::SIGBUS, |word| {
        // SAFETY: none: the process ends here.
        unsafe {
            core::arch::asm!("xchg rbp, {at}", "mov {at}, [rbp + 8]", "xchg rbp, {at}", at = inout(reg) word => _);
        }
    });
}

/// A child that follows a word of a freed object ends by this signal, and says why.
fn is_explained(signal: i32, follow: impl Fn(usize)) {
    let ended = Child::new().run(|| {
        let heap = heap(CONFIG);
        let mutator = attach(&heap);
        let object = new(&mutator, node_type(&heap));
        mutator.collect().unwrap();
        follow(get(object, 0));
    });
    assert_eq!(ended.status.signal(), Some(signal), "{ended}");
    ended.says("heapwood: verify: a word of freed memory (0xdbdbdbdbdbdbdbdb) is used as an address");
}

/// A large object that the program frees before any collection has seen it leaves nothing behind in the tables.
#[test]
fn what_is_not_kept_leaves_no_marks() {
    let heap = heap(FULL.verify(true).quarantine(0));
    let mutator = attach(&heap);
    for bytes in [64, 3000, MIB] {
        free(&mutator, new(&mutator, pointer_free(&heap, bytes)));
        mutator.collect().unwrap();
        assert_swept_and_valid(&heap);
    }
}
