//! `Watched` with the places that make blocks, and one that goes on after its reports.

use heapwood::{Config, Gc, Heap, Mutator, Watched};
use heapwood_gc_testing::Child;
use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: Watched = Watched::new().with_sites().reporting();

#[test]
fn a_report_says_where_the_block_was_made_and_the_program_goes_on() {
    let ended = Child::new().run(|| {
        // SAFETY: none: it breaks the contract, and uses none of the lost ones.
        let heap = unsafe { Heap::new(Config::DEFAULT.verify(true)) }.unwrap();
        let m = heap.attach().unwrap();
        #[inline(never)]
        fn hold(m: &Mutator) -> Vec<Gc<u64>> {
            (0..100).map(|i| m.alloc(i)).collect()
        }
        let held = hold(&m);
        black_box(&mut [0u8; 256 << 10]);
        m.collect();
        m.collect();
        drop(black_box(held));
        println!("goes on");
    });
    let ended = ended.well().says("a block of 800 bytes").says("holds 100 pointers").says("to the u64 at 0x");
    let program = std::env::current_exe().unwrap();
    let place = format!(" at {}+0x", program.to_str().unwrap());
    assert!(ended.err.contains(&place) && ended.out.contains("goes on"), "{ended}");
    assert_eq!(ended.err.matches("heapwood: verify: a block of").count(), 1, "once, as they die: {ended}");
}
