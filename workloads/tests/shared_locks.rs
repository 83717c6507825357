//! The number of times that a workload takes the locks that all mutators share, on one, two and four threads. The bounds are
//! two to three times the counts of 2026-11-26, and hold on any machine: churn on two threads took 10 to 24. Before the
//! first, two threads of rand-small took 250 locks a MiB. The collector's timing moves the counts by some tenths, so this is
//! a test program of its own: tests beside it would change the timing.

use heapwood::{Config, Heap};
use heapwood_workloads::Workload;

/// A workload and its size, the limit of its heap in MiB for each thread, and the most locks a MiB of small objects on 1, 2
/// and 4 threads.
struct Bounded {
    workload: &'static str,
    n: u64,
    limit_mib: Option<usize>,
    most: [u64; 3],
}

const fn bounded(workload: &'static str, n: u64, most: [u64; 3]) -> Bounded {
    Bounded { workload, n, limit_mib: None, most }
}

const BOUNDS: [Bounded; 10] = [
    // 60 gives 8 MiB, too few: a collection more or less in the beginning made 18 to 32 of two threads' count.
    bounded("rand-small", 240, [20, 30, 30]),
    bounded("conalloc", 300_000, [28, 34, 42]),
    bounded("trees", 16, [20, 20, 20]),
    bounded("tree1", 14, [20, 22, 20]),
    bounded("gcbench", 14, [18, 24, 25]),
    bounded("churn", 50_000, [30, 40, 40]),
    bounded("mixed", 50_000, [50, 80, 80]),
    bounded("graph", 300_000, [20, 30, 40]),
    // With room below the limit, and near it.
    Bounded { limit_mib: Some(256), ..bounded("churn", 50_000, [30, 40, 40]) },
    Bounded { limit_mib: Some(120), ..bounded("churn", 50_000, [100, 100, 100]) },
];

/// Locks for each MiB of small objects.
fn locks(workload: &str, n: u64, threads: u32, limit: Option<usize>) -> u64 {
    let workload = Workload::find(workload).expect("a workload of that name");
    // SAFETY: the workloads keep their pointers on attached threads' stacks, in objects and in roots.
    let heap =
        unsafe { Heap::new(limit.map_or(Config::DEFAULT, |bytes| Config::DEFAULT.limit(bytes))) }.unwrap();
    let m = heap.attach().unwrap();
    workload.run_on(&m, threads, n, &mut |_| {}).unwrap();
    let stats = heap.stats();
    let mib = (stats.small_bytes >> 20).max(1);
    assert!(mib >= 8, "{} MiB are too few to say anything", mib);
    stats.shared_rmws / 2 / mib
}

#[test]
#[ignore = "of the long suite: bounds that the clock moves"]
fn workloads_take_few_shared_locks() {
    let mut wrong = Vec::new();
    for Bounded { workload, n, limit_mib, most } in BOUNDS {
        let found = [1, 2, 4].map(|threads| {
            let limit = limit_mib.map(|mib| (mib << 20) * threads as usize);
            locks(workload, n, threads, limit)
        });
        println!(
            "{workload} {n}, limit {limit_mib:?} MiB a thread: {found:?} locks a MiB on 1, 2, 4 threads, at most {most:?}"
        );
        if found.iter().zip(most).any(|(&found, most)| found > most) {
            wrong.push(workload);
        }
    }
    assert!(wrong.is_empty(), "too many locks a MiB: {wrong:?} (see above)");
}
