//! A thread can be stopped at every instruction: it is led through windows of operations one instruction at a time ([`lead`]), and
//! before each it is asked to stop. Where it is in a no-preempt region it stops as it comes out, which must be soon; everywhere else at that very
//! instruction. Verify mode checks the heap at each stop, and the operations what they have made afterwards.
//!
//! What is stepped includes the C library's functions and those of this test. For x86-64, whose trap flag it uses. Each test is a process of its own,
//! whose handler of SIGTRAP it has.

mod lead;
mod report;

use core::arch::naked_asm;
use core::ffi::c_void;
use core::hint::black_box;
use core::ptr::NonNull;
use heapwood_gc::{Attached, Config, Heap, Mutator, ObjectType};
use heapwood_gc_testing::*;
use heapwood_heap::{Address, ObjectRef, ShapeId};
use heapwood_layout::TypeDescriptor;
use lead::{lead, stepped};
use report::Report;
use std::sync::{Mutex, PoisonError};

/// Each collection looks at everything, checks it, and fills what is dead.
const STEPPED: Config = BY_SIGNALS
    .verify(true)
    .background_release(false)
    .mark_threads(1)
    .address_space(16 << 20)
    .min_heap(8 << 20);

/// A no-preempt region is what a refill, page work, or a change of the thread's record takes, and they are bounded.
const LONGEST_WAIT: usize = 100_000;

/// So many operations, or twenty times as many if there is time.
fn times(n: usize) -> usize {
    if is_long() { n * 20 } else { n }
}

/// Runs `f` in a process of its own. Where the C library fills or copies memory by one instruction that repeats itself, each time is a
/// step: there it has it do so for nothing.
/// One at a time: each keeps two threads busy.
#[track_caller]
fn stepped_in_child(f: impl FnOnce()) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let tunables =
        "glibc.cpu.x86_rep_stosb_threshold=1073741824:glibc.cpu.x86_rep_movsb_threshold=1073741824";
    Child::new().with("GLIBC_TUNABLES", tunables).run(f).well();
}

/// One in so many steps asks, where operations take many; each in the long mode.
fn one_in(every: usize) -> usize {
    if is_long() { 1 } else { every }
}

/// Leads an attached thread through `window`.
fn attached(
    heap: &Heap,
    every: usize,
    name: &str,
    window: impl Fn(&Attached<'_>, &mut dyn FnMut(&mut dyn FnMut())) + Send + Sync,
) -> Report {
    let report = lead(heap, every, || {
        let mutator = attach(heap);
        // The heap grows for the first.
        new(&mutator, node_type(heap));
        window(&mutator, &mut |steps| stepped(steps));
    });
    told(&report, name);
    // One is sent again to a thread that the machine keeps waiting, and then it may find that it is late.
    let late = report.not_asked();
    assert!(late as u64 <= report.collections / 1000, "{late} signals came too late or too early");
    report
}

fn told(report: &Report, name: &str) {
    report.tell(name);
    assert!(report.longest_wait() <= LONGEST_WAIT, "{name}");
}

/// The fast path as the Rust interface has it: what the object holds is written before the store that makes it exist.
#[inline(never)]
fn stepped_reserve(m: &Mutator, shape: ShapeId, cell: usize, next: usize, number: usize) -> usize {
    let object = m.reserve(shape, cell).unwrap();
    // SAFETY: the cell was reserved just now, and all of it is written before it is taken.
    unsafe {
        let words = object.as_ptr().cast::<usize>();
        words.write(next);
        words.add(1).write(0);
        words.add(2).write(number);
        words.add(3).write(!number);
        m.buffer(shape).commit(object, cell);
    }
    object.as_ptr() as usize
}

/// Asserts that the thread was stopped at so many of its steps at least: fewer, and the test does not test.
fn often(report: &Report, n: usize) {
    assert!(report.stopped() >= n && report.collections as usize >= report.stopped());
}

/// Lists whose heads are in a register or on the stack, and nowhere else.
#[test]
#[ignore = "of the long suite: each instruction of minutes"]
fn a_thread_can_be_stopped_anywhere_between_reserve_and_commit() {
    stepped_in_child(|| {
        let heap = heap(STEPPED);
        let (node, large) = (node_type(&heap), masked(&heap, 256, &[0, 1]));
        let n = times(60);
        let report = attached(&heap, one_in(1), "reserve and commit", |m, go| {
            let (mut head, mut large_head) = (0, 0);
            go(&mut || {
                for i in 0..n {
                    head = stepped_reserve(m, node.shape(), 32, head, i);
                }
                for i in 0..n / 10 {
                    large_head = stepped_reserve(m, large.shape(), 2048, large_head, i);
                }
            });
            for (head, n) in [(head, n), (large_head, n / 10)] {
                check_list(head, n, 0);
                let mut at = head;
                while at != 0 {
                    assert!(get(at, 3) == !get(at, 2) && get(at, 1) == 0);
                    at = get(at, 0);
                }
            }
        });
        often(&report, 20 * n);
    });
}

/// The kinds of objects that lists are made of: the first word leads on.
fn kinds(heap: &Heap) -> Vec<ObjectType> {
    let traced = TypeDescriptor::traced(48, trace_word::<0>).unwrap();
    let conservative = TypeDescriptor::conservative(64).unwrap();
    vec![
        node_type(heap),
        // Layouts of few objects share spans.
        masked(heap, 7, &[0, 5]),
        masked(heap, 40, &[0, 17, 39]),
        heap.types().register(&traced).unwrap(),
        heap.types().register(&conservative).unwrap(),
        // Four cells a span, and three that are objects of their own; the last is zeroed in a blocking region.
        masked(heap, 250, &[0]),
        masked(heap, 5000, &[0, 255]),
        masked(heap, 9000, &[0]),
    ]
}

#[test]
#[ignore = "of the long suite: each instruction of minutes"]
fn a_thread_can_be_stopped_anywhere_in_an_allocation_of_each_kind() {
    stepped_in_child(|| {
        let heap = heap(STEPPED);
        let (kinds, bytes) = (kinds(&heap), pointer_free(&heap, 72));
        let report = attached(&heap, one_in(3), "allocate", |m, go| {
            let (mut heads, mut strings) = ([0; 8], [0; 5]);
            for round in 0..times(1) {
                go(&mut || {
                    for (i, string) in strings.iter_mut().enumerate() {
                        for (k, kind) in kinds.iter().enumerate().take(if i == 4 { 8 } else { 5 }) {
                            let object = new(m, *kind);
                            put(object, 0, heads[k]);
                            put(object, 2, i);
                            heads[k] = object;
                        }
                        *string = new(m, bytes);
                        (0..9).for_each(|word| put(*string, word, i ^ word));
                    }
                });
                for (k, head) in heads.iter_mut().enumerate() {
                    check_list(*head, if k < 5 { 5 } else { 1 }, if k < 5 { 0 } else { 4 });
                    *head = 0;
                }
                assert!((0..5).all(|i| (0..9).all(|word| get(strings[i], word) == i ^ word)), "{round}");
            }
        });
        often(&report, 500);
    });
}

#[test]
#[ignore = "of the long suite: each instruction of minutes"]
fn a_thread_can_be_stopped_anywhere_in_a_free() {
    stepped_in_child(|| {
        let heap = heap(STEPPED);
        let (node, large) = (node_type(&heap), masked(&heap, 5000, &[0]));
        let n = times(12);
        let report = attached(&heap, one_in(2), "free", |m, go| {
            let (mut kept, mut last) = (0, [0; 4]);
            go(&mut || {
                for i in 0..n {
                    // Each fourth is kept, and the cells of the others are the next ones'.
                    let ty = if i % 10 == 9 { large } else { node };
                    let object = new(m, ty);
                    put(object, 2, i);
                    if i % 4 == 0 {
                        put(object, 0, kept);
                        kept = object;
                    } else if let Some(old) = NonNull::new(last[i % 4] as *mut u8) {
                        last[i % 4] = 0;
                        // SAFETY: nothing else refers to it.
                        unsafe { m.free(old) }.unwrap();
                        last[i % 4] = object;
                    } else {
                        last[i % 4] = object;
                    }
                }
            });
            for i in (0..n).rev().filter(|i| i % 4 == 0) {
                assert_eq!(get(kept, 2), i);
                kept = get(kept, 0);
            }
            assert_eq!(kept, 0);
            black_box(last);
        });
        often(&report, 200);
    });
}

#[test]
#[ignore = "of the long suite: each instruction of minutes"]
fn a_thread_can_be_stopped_anywhere_in_a_store() {
    stepped_in_child(|| {
        let heap = heap(STEPPED);
        let array = masked(&heap, 64, &(0..64).collect::<Vec<_>>());
        let number = pointer_free(&heap, 16);
        let report = attached(&heap, one_in(1), "stores", |m, go| {
            let a = new(m, array);
            let slot = |word: usize| (a as *mut usize).wrapping_add(word);
            let object = ObjectRef::new(a);
            go(&mut || {
                for i in 0..16 {
                    let n = new(m, number);
                    put(n, 0, i);
                    match i % 2 {
                        0 => link(m, a, i, n),
                        // SAFETY: the slot is the array's and the values are objects' addresses, here and below.
                        _ => unsafe {
                            m.barrier().cas(object, slot(i), Address::new(0), Address::new(n)).unwrap();
                        },
                    }
                    // SAFETY: as above.
                    unsafe { m.barrier().write_inside(slot(i + 16), Address::new(n)) };
                }
                // SAFETY: as above.
                unsafe { m.barrier().copy(object, slot(30), slot(0), 32) };
            });
            for i in 0..16 {
                let copy = if i < 14 { get(a, i + 16) } else { get(a, i + 30) };
                assert_eq!([get(get(a, i), 0), get(copy, 0), get(get(a, i + 30), 0)], [i; 3]);
            }
        });
        often(&report, 500);
    });
}

#[test]
#[ignore = "of the long suite: each instruction of minutes"]
fn a_thread_can_be_stopped_anywhere_in_handles_and_frames() {
    stepped_in_child(|| {
        let heap = heap(STEPPED);
        let node = node_type(&heap);
        let report = attached(&heap, one_in(1), "handles and frames", |m, go| {
            let mut slots = [0usize; 2];
            let mut frame =
                heapwood_gc::Frame { prev: core::ptr::null_mut(), count: 2, slots: slots.as_mut_ptr() };
            let (frame, slots) = (NonNull::from(&mut frame), slots.as_mut_ptr());
            let read = |i| {
                // SAFETY: there are two slots.
                unsafe { slots.add(i).read_volatile() }
            };
            go(&mut || {
                for i in 0..times(5) {
                    // SAFETY: the frame and its slots outlive this turn, and it is popped below.
                    unsafe { m.frames().push(frame) };
                    let held = handle(m.heap(), new(m, node)).unwrap();
                    let second = new(m, node);
                    put(second, 2, i);
                    // SAFETY: a slot of the frame, and a handle that is held; the object exists.
                    unsafe {
                        slots.write_volatile(second);
                        m.heap().roots().set_handle(held, Address::new(second));
                        slots.add(1).write_volatile(black_box(second));
                    }
                    assert!(m.heap().roots().free_handle(held));
                    assert_eq!([get(read(0), 2), get(read(1), 2)], [i; 2]);
                    // SAFETY: it was pushed above.
                    unsafe { m.frames().pop() };
                }
            });
        });
        often(&report, 500);
    });
}

#[test]
#[ignore = "of the long suite: each instruction of minutes"]
fn a_thread_can_be_stopped_anywhere_in_blocking_regions_and_safepoints() {
    stepped_in_child(|| {
        let heap = heap(STEPPED);
        let node = node_type(&heap);
        let report = attached(&heap, one_in(1), "blocking regions", |m, go| {
            let mut head = 0;
            let n = times(2);
            go(&mut || {
                for i in 0..n {
                    let object = new(m, node);
                    put(object, 2, i);
                    m.safepoint();
                    let sum = m.blocking(|| (0..10).fold(i, |sum, k| black_box(sum + k))).unwrap();
                    assert_eq!(sum, i + 45);
                    put(object, 0, head);
                    head = object;
                }
            });
            check_list(head, n, 0);
        });
        often(&report, 200);
    });
}

#[test]
#[ignore = "of the long suite: each instruction of minutes"]
fn a_thread_can_be_stopped_anywhere_as_it_attaches_and_detaches() {
    stepped_in_child(|| {
        let heap = heap(STEPPED);
        let node = node_type(&heap);
        let report = lead(&heap, one_in(2), || {
            new(&attach(&heap), node);
            stepped(|| {
                for i in 0..times(3) {
                    let mutator = attach(&heap);
                    let object = new(&mutator, node);
                    put(object, 2, i);
                    assert_eq!(get(black_box(object), 2), i);
                    drop(mutator);
                }
            });
        });
        told(&report, "attach and detach");
        often(&report, 100);
    });
}

/// Leaves the stack that it is called on for another that was left so, having put the stack pointer into `*from`.
#[unsafe(naked)]
unsafe extern "C" fn jump(from: *mut usize, to: usize) {
    naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
    )
}

/// What runs on the other stack, and where both were left.
struct Fiber<'m> {
    mutator: &'m Mutator,
    node: ObjectType,
    turns: usize,
    here: usize,
    there: usize,
}

std::thread_local! {
    static FIBER: core::cell::Cell<*mut c_void> = const { core::cell::Cell::new(core::ptr::null_mut()) };
}

/// Adds a node to a list of its own in each turn; in the last it checks the list.
unsafe extern "C" fn on_the_fiber() -> ! {
    let fiber = FIBER.get().cast::<Fiber<'_>>();
    // SAFETY: the fiber's struct outlives it, and both stacks use it by turns.
    let (m, node, turns) = unsafe { ((*fiber).mutator, (*fiber).node, (*fiber).turns) };
    let mut head = 0;
    for i in 0..turns {
        let object = new(m, node);
        put(object, 0, head);
        put(object, 2, i);
        head = object;
        if i == turns - 1 {
            check_list(head, turns, 0);
        }
        // SAFETY: the other stack was left by a jump, and this one is gone back to by one.
        unsafe { m.stacks().switch(None, || jump(&raw mut (*fiber).there, (*fiber).here)) }.unwrap();
    }
    unreachable!("it is not gone back to");
}

#[test]
#[ignore = "of the long suite: each instruction of minutes"]
fn a_thread_can_be_stopped_anywhere_as_it_switches_stacks() {
    stepped_in_child(|| {
        const WORDS: usize = 32 << 10;
        let heap = heap(STEPPED);
        let node = node_type(&heap);
        let report = attached(&heap, one_in(1), "switch stacks", |m, go| {
            let mut memory = vec![0usize; WORDS];
            let low = memory.as_mut_ptr() as usize;
            // SAFETY: the memory outlives the stack's registration.
            let stack = unsafe { m.heap().roots().add_stack(low..low + WORDS * WORD) }.unwrap();
            let n = times(6);
            let mut fiber = Fiber { mutator: m, node, turns: n, here: 0, there: 0 };
            // Six registers, the function that the first jump returns to, and a word that its stack pointer is aligned by.
            let top = (low + WORDS * WORD) & !15;
            fiber.there = top - 8 * WORD;
            memory[(fiber.there - low) / WORD + 6] = on_the_fiber as *const () as usize;
            let fiber = &raw mut fiber;
            FIBER.set(fiber.cast());
            let mut head = 0;
            go(&mut || {
                for i in 0..n {
                    let object = new(m, node);
                    put(object, 0, head);
                    put(object, 2, i);
                    head = object;
                    // SAFETY: the other stack was made above, or left by a jump, and jumps back.
                    unsafe {
                        m.stacks().switch(Some(stack), || jump(&raw mut (*fiber).here, (*fiber).there))
                    }
                    .unwrap();
                }
            });
            check_list(head, n, 0);
            // SAFETY: this heap registered it.
            unsafe { m.heap().roots().remove_stack(stack) }.unwrap();
        });
        assert_eq!(report.stopped(), report.steps());
    });
}

/// Holds the only pointer to an object, which is given and returned as its complement, in one place after another, and steps
/// meanwhile: in a register that calls may change, one that they keep, the low and the high half of a vector register, the red zone.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn stepped_places(hidden: usize) -> usize {
    naked_asm!(
        "push r12",
        "not rdi",
        "pushfq",
        "or qword ptr [rsp], 256",
        "popfq",
        "nop",
        "nop",
        "mov r12, rdi",
        "xor edi, edi",
        "nop",
        "nop",
        "movq xmm7, r12",
        "xor r12d, r12d",
        "nop",
        "nop",
        "pslldq xmm7, 8",
        "nop",
        "nop",
        "psrldq xmm7, 8",
        "movq r11, xmm7",
        "pxor xmm7, xmm7",
        "nop",
        "nop",
        "mov [rsp - 128], r11",
        "xor r11d, r11d",
        "nop",
        "nop",
        "mov r11, [rsp - 128]",
        "mov qword ptr [rsp - 128], 0",
        "mov [rsp - 8], r11",
        "xor r11d, r11d",
        "nop",
        "nop",
        "mov rax, [rsp - 8]",
        "mov qword ptr [rsp - 8], 0",
        "pushfq",
        "and qword ptr [rsp], -257",
        "popfq",
        "not rax",
        "pop r12",
        "ret",
    )
}

fn places(heap: &Heap, name: &str, before: fn(), after: fn()) {
    let node = node_type(heap);
    let report = attached(heap, 1, name, |m, _| {
        before();
        for i in 0..times(20) {
            let hidden = hidden_object(m, node, i);
            wipe_stack();
            // SAFETY: errno is this thread's, and no collection begins before the function steps.
            let (hidden, errno) = unsafe {
                *libc::__errno_location() = 77;
                (stepped_places(hidden), *libc::__errno_location())
            };
            assert_eq!((get(!hidden, 2), errno), (i, 77));
        }
        after();
    });
    assert_eq!(report.stopped(), report.steps());
}

#[test]
#[ignore = "of the long suite: each instruction of minutes"]
fn pointers_are_found_in_registers_and_in_the_red_zone() {
    stepped_in_child(|| {
        places(&heap(STEPPED), "one place", || (), || ());
    });
}

/// The same where the program has all handlers of the signal run on an alternate stack.
#[test]
#[ignore = "of the long suite: each instruction of minutes"]
fn pointers_are_found_where_handlers_run_on_an_alternate_stack() {
    stepped_in_child(|| {
        const SIGNAL: i32 = libc::SIGUSR2;
        const BYTES: usize = 64 << 10;
        extern "C" fn nothing(_: i32) {}
        fn set(stack: *mut c_void, flags: i32) {
            let alternate = libc::stack_t { ss_sp: stack, ss_flags: flags, ss_size: BYTES };
            // SAFETY: the memory stays.
            assert_eq!(unsafe { libc::sigaltstack(&alternate, core::ptr::null_mut()) }, 0);
        }
        // SAFETY: the handler does nothing.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = nothing as *const () as usize;
            action.sa_flags = libc::SA_ONSTACK;
            assert_eq!(libc::sigaction(SIGNAL, &action, core::ptr::null_mut()), 0);
        }
        let heap = heap(STEPPED.stop_signal(SIGNAL as u32));
        let before = || set(Vec::leak(vec![0u8; BYTES]).as_mut_ptr().cast(), 0);
        places(&heap, "alternate stack", before, || set(core::ptr::null_mut(), libc::SS_DISABLE));
    });
}
