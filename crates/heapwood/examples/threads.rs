//! Threads that share a structure: one thread builds a dictionary, all read it, and each publishes its findings in its
//! own cell. `Root` carries objects between threads, and `blocking` lets a thread wait without delaying collections.
//! `cargo run -p heapwood --example threads`

use heapwood::{Config, Gc, GcCell, Heap, Mutator, Root, Shared, Slice, Trace};

/// A node of a search tree: it never changes once it is made, so any thread may read it.
#[derive(Trace, Shared)]
struct Word {
    key: u64,
    less: Option<Gc<Word>>,
    more: Option<Gc<Word>>,
}

/// The shared data: the tree, and a cell for the findings of each thread.
#[derive(Trace, Shared)]
struct Job {
    words: Option<Gc<Word>>,
    found: Gc<Slice<GcCell<Option<Gc<Found>>>>>,
}

/// A list of found keys.
#[derive(Trace, Shared)]
struct Found {
    key: u64,
    next: Option<Gc<Found>>,
}

const THREADS: u64 = 4;

/// A balanced tree of the multiples of three in `from..to`.
fn tree(m: &Mutator, from: u64, to: u64) -> Option<Gc<Word>> {
    (from < to).then(|| {
        let middle = from + (to - from) / 2;
        let (less, more) = (tree(m, from, middle), tree(m, middle + 1, to));
        m.alloc(Word { key: 3 * middle, less, more })
    })
}

fn contains(mut words: Option<Gc<Word>>, key: u64) -> bool {
    while let Some(word) = words {
        if word.key == key {
            return true;
        }
        words = if key < word.key { word.less } else { word.more };
    }
    false
}

/// One thread's part: every key of its residue in the tree.
fn search(heap: &Heap, job: &Root<Job>, number: u64) -> Result<(), heapwood::HeapError> {
    let m = heap.attach()?;
    let job = job.get(&m);
    let mut found = None;
    for key in (number..300_000).step_by(THREADS as usize) {
        if contains(job.words, key) {
            found = Some(m.alloc(Found { key, next: found }));
        }
        m.safepoint(); // Most turns allocate nothing, and another thread may want to collect.
    }
    job.found[number as usize].set(&m, found);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::default().min_heap(1 << 20); // Otherwise a program this small would not collect.
    // SAFETY: this program keeps `Gc`s on the stacks of attached threads, in objects and in roots only.
    let heap = unsafe { Heap::new(config) }?;
    let m = heap.attach()?;
    let words = tree(&m, 0, 100_000);
    let found = m.alloc_slice(THREADS as usize, |_| GcCell::new(None));
    let job = m.root(m.alloc(Job { words, found }));

    let (shared, theirs) = (&job, &heap);
    m.blocking(|| {
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..THREADS).map(|number| scope.spawn(move || search(theirs, shared, number))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("a search does not panic"))
        })
    })?;

    m.collect();
    let lists = job.get(&m).found;
    for (number, list) in lists.iter().enumerate() {
        let count = std::iter::successors(list.get(), |found| found.next).count();
        let last = list.get().map(|found| found.key);
        println!("thread {number}: {count} keys, the last {last:?}");
    }
    println!("collected: {}", heap.stats().collections > 1);
    Ok(())
}
