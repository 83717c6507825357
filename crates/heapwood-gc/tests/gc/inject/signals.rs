//! The tests of stops by signals catch errors planted there. Each runs in a process of its own, which must not end
//! well: what the error does to a heap is anybody's guess. With nothing planted the same processes end well.
//!
//! A thread holds the only pointer to an object where only a scan of its registers finds it;
//! or changes the heap's own tables while collections come. Another thread collects.

use core::hint::black_box;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::Heap;
use heapwood_gc::inject::Fault;
use heapwood_gc_testing::planted::{Planted, plant};
use heapwood_gc_testing::*;
use std::os::unix::process::ExitStatusExt;

/// What is dead is filled.
const CHECKED: heapwood_gc::Config = BY_SIGNALS.verify(true).background_release(false);

/// Counts collections, so that a process that hangs is known from one that has little of the machine.
static COLLECTIONS: AtomicUsize = AtomicUsize::new(0);

fn collect(heap: &Heap) {
    heap.collect().unwrap();
    COLLECTIONS.fetch_add(1, Ordering::Relaxed);
}

/// How often the holder and the collector have come round.
#[derive(Default)]
struct Turns {
    held: AtomicUsize,
    collected: AtomicUsize,
}

impl Turns {
    /// Collects whenever something is held, until `n` things were.
    fn collect(&self, heap: &Heap, n: usize) {
        for turn in 1..=n {
            while self.held.load(Ordering::Acquire) < turn {
                core::hint::spin_loop();
            }
            collect(heap);
            self.collected.store(turn, Ordering::Release);
        }
    }
}

/// Says that something is held, spins until a collection has come, and returns what it was given. Meanwhile that is in a register alone.
#[cfg(target_arch = "x86_64")]
fn hold(object: usize, turns: &Turns, turn: usize) -> usize {
    let mut hidden = !object;
    // SAFETY: writes and reads the two words.
    unsafe {
        core::arch::asm!(
            "not {object}",
            "mov [{held}], {turn}",
            "2:",
            "pause",
            "cmp [{collected}], {turn}",
            "jb 2b",
            "not {object}",
            object = inout(reg) hidden,
            held = in(reg) turns.held.as_ptr(),
            collected = in(reg) turns.collected.as_ptr(),
            turn = in(reg) turn,
        );
    }
    hidden
}

#[cfg(target_arch = "aarch64")]
fn hold(object: usize, turns: &Turns, turn: usize) -> usize {
    let mut hidden = !object;
    // SAFETY: writes and reads the two words.
    unsafe {
        core::arch::asm!(
            "mvn {object}, {object}",
            "stlr {turn}, [{held}]",
            "2:",
            "ldar {now}, [{collected}]",
            "cmp {now}, {turn}",
            "b.lo 2b",
            "mvn {object}, {object}",
            object = inout(reg) hidden,
            now = out(reg) _,
            held = in(reg) turns.held.as_ptr(),
            collected = in(reg) turns.collected.as_ptr(),
            turn = in(reg) turn,
        );
    }
    hidden
}

/// Objects that only a register of the thread refers to while collections come.
fn in_registers(fault: Planted) {
    const N: usize = 50;
    let (heap, turns) = (heap(CHECKED), Turns::default());
    let node = node_type(&heap);
    plant(&heap, fault);
    std::thread::scope(|scope| {
        scope.spawn(|| turns.collect(&heap, N));
        let mutator = attach(&heap);
        for turn in 1..=N {
            let hidden = hidden_object(&mutator, node, turn);
            wipe_stack();
            let hidden = hold(!hidden, &turns, turn);
            assert_eq!(get(!hidden, 2), turn, "the object was lost");
        }
    });
}

/// A thread that takes spans and gives them back, stopped at any time. Few stops meet it in a section, so a planted error is
/// given collections until it has struck often.
fn in_sections(fault: Planted) {
    let (heap, over) = (heap(CHECKED), AtomicBool::new(false));
    let kinds = [masked(&heap, 250, &[0]), masked(&heap, 100, &[0]), masked(&heap, 5000, &[0])];
    plant(&heap, fault);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mutator = attach(&heap);
            let mut turn = 0;
            while !over.load(Ordering::Relaxed) {
                let kind = kinds[turn % 3];
                put(black_box(new(&mutator, kind)), 0, 0);
                turn += 1;
            }
        });
        let struck = || fault.is_none() || heap.faults().injected() >= 500;
        for turn in 0.. {
            if turn >= 2000 && struck() {
                break;
            }
            collect(&heap);
        }
        over.store(true, Ordering::Relaxed);
    });
}

/// Plays with an error in a process of its own, which must fail and say so. It ends itself if it hangs: a thread that was stopped with a
/// lock in its hands may keep the collector waiting for good.
#[track_caller]
fn caught(play: fn(Planted), fault: Fault) {
    let child = Child::new().run(|| {
        std::thread::spawn(|| {
            let mut seen = None;
            while seen != Some(COLLECTIONS.load(Ordering::Relaxed)) {
                seen = Some(COLLECTIONS.load(Ordering::Relaxed));
                std::thread::sleep(std::time::Duration::from_secs(5));
            }
            eprintln!("it hangs");
            std::process::abort();
        });
        // A thread that waits for another that is lost would keep the process for good.
        std::panic::set_hook(Box::new(|what| {
            eprintln!("{what}");
            std::process::abort();
        }));
        play(Some((fault, 1)));
    });
    assert!(!child.status.success(), "{fault:?} was not caught");
    let telling = ["heapwood: ", "panicked", "the object was lost", "it hangs"];
    let said = child.err.lines().find(|line| telling.iter().any(|text| line.contains(text)));
    // A thread that is stopped anywhere may also leave a heap that crashes its next user.
    let crashed = child.status.signal() == Some(libc::SIGSEGV);
    assert!(said.is_some() || crashed, "{child}");
    println!("{fault:?}: {}, {said:?}", child.status);
}

#[test]
fn with_nothing_planted_nothing_is_caught() {
    [in_registers, in_sections].iter().for_each(|play| play(None));
}

#[test]
fn registers_that_are_not_scanned_are_caught() {
    caught(in_registers, Fault::RegistersUnscanned);
}

#[test]
fn a_stop_in_a_section_is_caught() {
    caught(in_sections, Fault::StopInNoPreempt);
}
