//! `GcMap` and hashbrown: N insertions of random keys with two look-ups each, 20 million insertions in all. A cargo project with heapwood (a
//! path to `crates/heapwood`), hashbrown = "=0.17.1", foldhash = "0.2" and mimalloc = "=0.1.52" without its default features in its
//! dependencies; `cargo run --release gc 10000` (or `hashbrown`).

use foldhash::fast::FixedState;
use heapwood::{Config, Gc, GcMap, Heap};
use std::cell::RefCell;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn fill(n: u64, mut insert: impl FnMut(u64, u64), get: impl Fn(u64) -> Option<u64>) -> u64 {
    let (mut sum, mut random) = (0u64, 1u64);
    for number in 0..n {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        insert(random >> 40, number);
        sum = sum.wrapping_add(get((random >> 33) & 0xff_ffff).unwrap_or(1));
        sum = sum.wrapping_add(get(random >> 40).unwrap());
    }
    sum
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let n: u64 = arguments[2].parse().unwrap();
    let mut sum = 0u64;
    // SAFETY: the one `Gc` is on the stack.
    let heap = unsafe { Heap::new(Config::default()) }.unwrap();
    let m = &*heap.attach().unwrap();
    for _ in 0..20_000_000 / n {
        sum = sum.wrapping_add(match arguments[1].as_str() {
            "gc" => {
                let map: Gc<GcMap<u64, u64>> = m.alloc(GcMap::new());
                fill(n, |key, value| _ = map.insert(m, key, value), |key| map.get(&key))
            }
            _ => {
                let map = RefCell::new(hashbrown::HashMap::<u64, u64, FixedState>::default());
                fill(
                    n,
                    |key, value| _ = map.borrow_mut().insert(key, value),
                    |key| map.borrow().get(&key).copied(),
                )
            }
        });
    }
    println!("{sum}");
}
