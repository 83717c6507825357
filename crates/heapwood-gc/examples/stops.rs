//! What a stop costs by itself: an empty heap is collected while idle threads are attached, in blocking regions, and types
//! are registered. `cargo run --release -p heapwood-gc --example stops` prints the median of the pauses, in microseconds.

use heapwood_gc::{Config, Heap, Mutator};
use heapwood_layout::TypeDescriptor;
use heapwood_os::SYSTEM;
use std::sync::{Barrier, RwLock};

/// The median of pauses with so many idle threads, each of which has used `used` of so many types, and the first.
fn pauses(threads: usize, types: usize, used: usize) -> (f64, f64) {
    let config = Config::DEFAULT.min_heap(1 << 30).background_release(false);
    let heap = Heap::create(&SYSTEM, config).expect("a heap");
    let registered: Vec<_> = (0..types)
        .map(|n| {
            // A bit for each of 14, in a word and a half.
            let masks = [1 | (n as u64) << 1, 0];
            let descriptor = TypeDescriptor::masked(1024 + n / 8192 * 128, &masks).expect("a type");
            heap.register(&descriptor).expect("a type")
        })
        .collect();
    let (ready, gate) = (Barrier::new(threads + 1), RwLock::new(()));
    let held = gate.write().expect("nobody panics");
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (heap, ready, gate, registered) = (&heap, &ready, &gate, &registered);
            std::thread::Builder::new()
                .stack_size(64 << 10)
                .spawn_scoped(scope, move || {
                    let m = Mutator::attach(heap, None).expect("a mutator");
                    for ty in registered.iter().cycle().skip(thread * 7).take(used.min(types * used)) {
                        m.allocate(*ty).expect("an object");
                    }
                    let _ = m.blocking(|| {
                        ready.wait();
                        drop(gate.read());
                    });
                    drop(m);
                })
                .expect("a thread");
        }
        ready.wait();
        let m = Mutator::attach(&heap, None).expect("a mutator");
        let mut last = 0;
        let mut pause = || {
            let _ = m.collect();
            let total = heap.stats().pause_total_ns;
            let this = total - last;
            last = total;
            this as f64 / 1e3
        };
        let first = pause();
        let mut all: Vec<f64> = (0..51).map(|_| pause()).collect();
        all.sort_by(f64::total_cmp);
        drop(m);
        drop(held);
        (first, all[all.len() / 2])
    })
}

fn main() {
    println!("threads  types  used by each  first us  median us");
    for threads in [1, 64, 1000] {
        for (types, used) in [(10, 0), (5000, 0), (15_000, 0), (5000, 30)] {
            let (first, median) = pauses(threads, types, used);
            println!("{threads:7} {types:6} {used:13} {first:9.0} {median:10.1}");
        }
    }
}
