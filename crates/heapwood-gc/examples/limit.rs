//! What the last percents of a limit cost: part of 64 MiB is kept alive, in 256 lists or in one, then garbage is made. `cargo
//! run --release -p heapwood-gc --example limit` prints the CPU time for an object of garbage, over that of a heap without
//! a limit, and the largest share of any second that collections took.

use heapwood_gc::{Config, Heap, Mutator, ObjectType};
use heapwood_layout::TypeDescriptor;
use heapwood_os::{SYSTEM, clock};

const LIMIT: usize = 64 << 20;
const GARBAGE: usize = 20_000_000;
const OBJECT: usize = 32;

struct Outcome {
    /// CPU nanoseconds an object.
    ns: f64,
    /// The largest share of a second that collections took, by the wall clock.
    share: f64,
    /// Objects that were refused.
    refused: usize,
}

fn allocate(m: &Mutator, ty: ObjectType) -> Option<usize> {
    m.allocate(ty).ok().map(|object| object.as_ptr() as usize)
}

fn run(limit: Option<usize>, percent: usize, lists: usize) -> Option<Outcome> {
    let mut config = Config::DEFAULT.conservative_stacks(false).background_release(false);
    config.limit = limit;
    let heap = Heap::create(&SYSTEM, config).expect("a heap");
    let m = Mutator::attach(&heap, None).expect("a mutator");
    let ty = heap.register(&TypeDescriptor::masked(OBJECT, &[1]).expect("a type")).expect("a type");
    let mut heads = vec![0usize; lists];
    // SAFETY: the slots live as long as the heap; they change between collections only.
    let _ = unsafe { heap.add_root_slots(heads.as_ptr(), lists) };
    for n in 0..LIMIT / 100 * percent / OBJECT {
        let object = allocate(&m, ty)?;
        // SAFETY: the object is new, and has a word; the slot is a root.
        unsafe {
            (object as *mut usize).write((&raw const heads[n % lists]).read_volatile());
            (&raw mut heads[n % lists]).write_volatile(object);
        }
    }
    let (cpu, mut share, mut refused) = (clock::thread_cpu_ns(), 0f64, 0);
    let (mut since, mut before) = (clock::monotonic_ns(), heap.stats().pause_total_ns);
    for n in 0..GARBAGE {
        refused += allocate(&m, ty).is_none() as usize;
        if n % 4096 == 0 && clock::monotonic_ns() - since > 1_000_000_000 {
            let (now, paused) = (clock::monotonic_ns(), heap.stats().pause_total_ns);
            share = share.max((paused - before) as f64 / (now - since) as f64);
            (since, before) = (now, paused);
        }
    }
    let ns = (clock::thread_cpu_ns() - cpu) as f64 / GARBAGE as f64;
    drop(m);
    Some(Outcome { ns, share, refused })
}

fn main() {
    println!("live %  lists  over unlimited  largest share of a second  refused");
    for lists in [256, 1] {
        for percent in [50, 70, 80, 85, 90, 95, 98] {
            let free = run(None, percent, lists).expect("no limit");
            match run(Some(LIMIT), percent, lists) {
                Some(limited) => println!(
                    "{percent:6} {lists:6} {:14.1}x {:22.0} % {:16}",
                    limited.ns / free.ns,
                    limited.share * 100.0,
                    limited.refused
                ),
                None => println!("{percent:6} {lists:6} does not fit"),
            }
        }
    }
}
