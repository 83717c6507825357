//! The workloads do the described work: their check values equal those of every other program with the same description
//! (`peers/expected`).

use crate::attach;
use heapwood::Config;
use heapwood_workloads::trees::{Kind, Line};
use heapwood_workloads::{
    ALL, ThreadsError, Workload, churn, malloc, mark, mixed, rand, treap, tree1, trees,
};
use std::collections::BTreeMap;

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/expected");

fn expected(file: &str) -> String {
    std::fs::read_to_string(format!("{EXPECTED}/{file}")).unwrap()
}

/// Collects every megabyte at the latest.
const SMALL: Config = Config::DEFAULT.min_heap(1 << 20).huge_pages(false);

fn run_trees(n: u32, config: Config) -> Vec<Line> {
    let m = attach(config);
    let mut lines = Vec::new();
    trees::run(&m, n, |line| lines.push(line));
    assert_eq!(m.heap().stats().barrier_violations, 0);
    lines
}

/// The table by its definition.
fn tree_table(n: u32) -> Vec<Line> {
    let max = n.max(6);
    let nodes = |depth: u32| (2u64 << depth) - 1;
    let mut lines = vec![Line { kind: Kind::Stretch, trees: 1, depth: max + 1, nodes: nodes(max + 1) }];
    for depth in (4..=max).step_by(2) {
        let trees = 16 << (max - depth);
        lines.push(Line { kind: Kind::Short, trees, depth, nodes: trees * nodes(depth) });
    }
    lines.push(Line { kind: Kind::LongLived, trees: 1, depth: max, nodes: nodes(max) });
    lines
}

#[test]
fn trees_are_counted_right() {
    for n in [1, 5, 6, 7, 8, 10, 11] {
        assert_eq!(run_trees(n, SMALL), tree_table(n), "trees {n}");
    }
    assert_eq!(run_trees(7, SMALL.verify(true)), tree_table(7));
}

#[test]
fn every_workload_agrees_with_the_peers() {
    for workload in ALL {
        let prefix = format!("{}-", workload.name);
        // Other names may begin with this one.
        let n_of = |file: &str| file.strip_prefix(&prefix)?.strip_suffix(".txt")?.parse::<u64>().ok();
        let files =
            std::fs::read_dir(EXPECTED).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
        let file = { files }.find(|f| n_of(f).is_some()).expect(workload.name);
        let n = n_of(&file).unwrap();
        assert!((workload.least_bytes)(n) > 0 && workload.check(Some(n)) == Ok(n));

        let m = attach(SMALL);
        let (mut checks, mut figures) = (Vec::new(), Vec::new());
        workload
            .run_on(&m, workload.threads.usual, n, &mut |line| {
                assert!(!line.text.is_empty() && line.fields.is_object(), "{line:?}");
                checks.push(line.check);
                figures.extend(line.figures);
            })
            .unwrap();
        // The peers' mark also walks the objects, if asked to.
        let expected = expected(&file);
        let expected: Vec<&str> = expected.lines().filter(|l| !l.contains(" walked ")).collect();
        assert_eq!(checks, expected, "{file}");
        let names: Vec<&str> = figures.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, workload.figures.iter().map(|f| f.name).collect::<Vec<_>>());
        assert!(figures.iter().all(|(_, value)| *value > 0.0), "{figures:?}");
    }
}

/// Each thread does the whole work, in one heap, while the waiting thread is attached, too. (Workloads with hundreds of
/// megabytes for each thread are tested elsewhere.)
#[test]
fn several_threads_have_the_results_of_one() {
    let fits = |w: &&&Workload| w.threads.most > 1 && (w.least_bytes)(5) < 16 << 20 || w.n.unit == "depth";
    for workload in ALL.iter().filter(fits) {
        let n = if workload.n.unit == "depth" { 6 } else { 5 };
        let found = |threads: u32| {
            let m = attach(SMALL.verify(true));
            let mut checks = Vec::new();
            workload.run_on(&m, threads, n, &mut |line| checks.push(line.check)).unwrap();
            assert_eq!(m.heap().stats().barrier_violations, 0);
            checks
        };
        let alone = found(1);
        assert!(!alone.is_empty(), "{}", workload.name);
        for threads in [2, 4] {
            assert_eq!(found(threads), alone, "{} on {threads} threads", workload.name);
        }
    }
}

#[test]
fn figures_of_several_threads_are_combined() {
    let m = attach(SMALL);
    let mut lines = Vec::new();
    churn::WORKLOAD.run_on(&m, 2, 1000, &mut |line| lines.push(line)).unwrap();
    let [line] = &lines[..] else { panic!("{lines:?}") };
    let names: Vec<&str> = line.figures.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["mops", "longest_gap_us"]);
    // As one thread finds it.
    assert_eq!(line.check, format!("churn ops 1000 checksum 0x{:016x}", churn::run(&m, 1000).checksum));
    for (name, value) in &line.figures {
        assert_eq!(line.fields[*name].as_f64(), Some(*value));
        assert!(line.text.contains(&format!("{name} of all threads ")));
    }
}

#[test]
fn a_thread_that_cannot_start_or_attach_is_named() {
    let m = attach(SMALL);
    let error = ThreadsError::Attach { thread: 3, why: m.heap().set_percent(0).unwrap_err() };
    assert!(error.to_string().starts_with("thread 3 cannot be attached to the heap: "));
    let why = std::io::Error::from_raw_os_error(11);
    let error = ThreadsError::Spawn { thread: 7, threads: 9, why }.to_string();
    assert!(error.contains("thread 7 of 9 cannot be started") && error.contains("ulimit -u"), "{error}");
}

/// The sums by their definition.
#[test]
fn tree1_is_checked_right() {
    use tree1::{Kind, Line, run};
    for n in [1, 6, 7, 9] {
        let max = n.max(6);
        let mut expected = vec![Line { kind: Kind::Stretch, trees: 1, depth: max + 1, check: -1 }];
        for depth in (4..=max).step_by(2) {
            // A tree of items i is worth i - 1, so each of the pairs -2.
            let pairs = 16 << (max - depth);
            expected.push(Line { kind: Kind::Short, trees: 2 * pairs, depth, check: -2 * pairs as i32 });
        }
        expected.push(Line { kind: Kind::LongLived, trees: 1, depth: max, check: -1 });
        let m = attach(SMALL.verify(n == 7));
        let mut lines = Vec::new();
        run(&*m, n, |line| lines.push(line));
        assert_eq!(lines, expected, "tree1 {n}");
    }
}

/// A block is alive exactly while its slot refers to it, and nothing writes into it.
#[test]
fn blocks_are_replaced() {
    for (blocks, slots, most) in [(rand::SMALL, 4096, 2048), (rand::LARGE, 1024, 160 << 10)] {
        let m = attach(SMALL);
        let outcome = blocks.run(&*m, 3);
        assert_eq!(outcome, rand::Outcome { checksum: outcome.checksum, iterations: 3, name: outcome.name });
        assert!(m.heap().stats().collections > 0);
        // Young collections may have promoted some that died later.
        m.collect();
        let stats = m.heap().stats();
        assert!(stats.live_objects <= 2 * slots, "{stats:?}");
        assert!(stats.live_bytes < 2 * slots * most, "{stats:?}");
        assert!(stats.allocated_bytes as usize > 3 * slots * most / 4, "{stats:?}");
    }
}

/// Writing to each block of RandLarge would make about 64 MiB resident. The pages of its heap are never touched. Other tests touch
/// memory at the same time, so this one has a process of its own.
#[test]
#[ignore = "of the long suite: memory that the kernel counts"]
fn large_blocks_are_not_touched() {
    const ALONE: &str = "HEAPWOOD_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "check_values::large_blocks_are_not_touched";
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        assert!(alone.args(["--exact", name]).env(ALONE, "1").status().unwrap().success());
        return;
    }
    let m = attach(SMALL);
    let before = resident();
    rand::LARGE.run(&*m, 5);
    let grown = resident().saturating_sub(before);
    assert!(m.heap().stats().committed_bytes > 64 << 20);
    assert!(grown < 16 << 20, "{grown} bytes became resident");
}

/// It makes the reported number of objects, and those of the warm-up, and all die.
#[test]
fn malloc_makes_what_it_counts() {
    let m = attach(SMALL);
    let mut lines = Vec::new();
    malloc::run(&m, 20, |line| lines.push(line));
    let found: Vec<_> = lines.iter().map(|l| (l.kind, l.allocations, l.bytes / l.allocations)).collect();
    let pointers = [("typeinfo8", 20_000, 8), ("typeinfo16", 20_000, 16), ("typeinfo32", 20_000, 32)];
    let plain = [("malloc8", 20_000, 8), ("malloc16", 20_000, 16), ("malloc32", 20_000, 32)];
    assert_eq!(found[..3], plain);
    assert_eq!(found[3..6], pointers);
    assert_eq!(found[6..], [("largestruct", 2500, 768)]);
    m.collect();
    let stats = m.heap().stats();
    // Cells have at least 16 bytes. What a mutator still allocates from is not counted to the byte.
    let cells =
        found.iter().map(|&(_, allocations, bytes)| allocations * bytes.max(16) * 11 / 10).sum::<u64>();
    assert!(stats.allocated_bytes.abs_diff(cells) < 128 << 10, "{cells}: {stats:?}");
    // The stack may hold a few.
    assert!(stats.live_bytes <= 8 << 10, "{stats:?}");
}

/// A treap's content, computed by an ordered map and a list of priorities.
#[test]
fn treap_is_an_ordered_map() {
    /// The key that a number stands for.
    fn spelled(r: u64) -> Vec<u8> {
        let bytes = (0..3).flat_map(|k| r.wrapping_add(k).to_le_bytes());
        bytes.take(8 + (r >> 32) as usize % 17).collect()
    }
    /// The highest priority is on top of those of lower and of higher keys.
    fn depth(priorities: &[u64]) -> u64 {
        let Some(top) = (0..priorities.len()).max_by_key(|&k| priorities[k]) else { return 0 };
        1 + depth(&priorities[..top]).max(depth(&priorities[top + 1..]))
    }
    let add = |sum: u64, value: u64| sum.wrapping_mul(31).wrapping_add(value);
    for keys in [1, 2, 99, 100, 101, 999, 1000, 2000, 2999, 4100] {
        let mut random = heapwood_workloads::random::Random::new();
        let inserted: Vec<(Vec<u8>, u64)> =
            (0..keys).map(|_| (spelled(random.next_u64()), random.next_u64())).collect();
        let map: BTreeMap<&[u8], u64> = inserted.iter().map(|(key, drawn)| (&key[..], *drawn)).collect();
        let values = |drawn: &[u64]| drawn.iter().fold(0, |sum, drawn| add(sum, drawn & 0xffff_ffff));
        let in_order: Vec<u64> = map.values().copied().collect();
        let firsts: Vec<u64> = inserted.iter().step_by(100).map(|(_, drawn)| *drawn).collect();
        // Each released snapshot has the first ten of the last twenty batches; the first one is empty.
        let seen = &firsts[..(firsts.len() / 10).saturating_sub(1) * 10];
        let m = attach(SMALL.verify(keys == 2999));
        let outcome = treap::run(&m, keys);
        let drawn: Vec<u64> = inserted.iter().map(|(_, drawn)| *drawn).collect();
        let expected = treap::Outcome {
            keys,
            nodes: map.len() as u64,
            depth: depth(&in_order.iter().map(|drawn| drawn >> 32).collect::<Vec<_>>()),
            checksum: values(&in_order),
            snapshots: treap::Lookups { keys: seen.len() as u64, sum: values(seen) },
            present: treap::Lookups { keys, sum: values(&drawn) },
            absent: treap::Lookups::default(),
            ..outcome
        };
        assert_eq!(outcome, expected, "treap {keys}");
        assert!(m.heap().stats().collections > 0 || keys < 2000);
    }
}

/// The resident set of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn sizes_out_of_range_are_errors() {
    for workload in ALL {
        assert_eq!(workload.check(None), Ok(workload.n.usual));
        assert_eq!(workload.check(Some(workload.n.most)), Ok(workload.n.most));
        for wrong in [0, workload.n.most + 1, u64::MAX] {
            let message = workload.check(Some(wrong)).unwrap_err().to_string();
            assert!(message.contains(&wrong.to_string()) && message.contains(&workload.n.usual.to_string()));
        }
        assert_eq!(workload.check_threads(None), Ok(workload.threads.usual));
        assert_eq!(workload.check_threads(Some(1)), Ok(1));
        for wrong in [0, u64::from(workload.threads.most) + 1, u64::MAX] {
            let message = workload.check_threads(Some(wrong)).unwrap_err().to_string();
            assert!(message.starts_with(workload.name) && message.contains(&wrong.to_string()), "{message}");
        }
        assert_eq!(Workload::find(workload.name).map(|w| w.name), Some(workload.name));
    }
    assert!(Workload::find("forests").is_none());
}

/// The table of gcbench by its definition.
#[test]
fn gcbench_is_counted_right() {
    use heapwood_workloads::gcbench::{Kind, Line, run};
    let nodes = |depth: u32| (2u64 << depth) - 1;
    for n in [1, 4, 5, 9] {
        let max = n.max(4);
        let line = |kind, trees, depth| Line { kind, trees, depth, nodes: nodes(depth) };
        let mut expected = vec![line(Kind::Stretch, 1, max + 2)];
        for depth in (4..=max).step_by(2) {
            let trees = 2 * nodes(max + 2) / nodes(depth);
            expected.extend([line(Kind::TopDown, trees, depth), line(Kind::BottomUp, trees, depth)]);
        }
        let sum = (1..250_000).map(|i| 1.0 / f64::from(i)).sum::<f64>();
        expected.push(line(Kind::LongLived(sum.to_bits()), 1, max));
        let m = attach(SMALL.verify(n == 5));
        let mut lines = Vec::new();
        run(&m, n, |line| lines.push(line));
        assert_eq!(lines, expected, "gcbench {n}");
        assert_eq!(m.heap().stats().barrier_violations, 0);
        assert!(n < 9 || m.heap().stats().collections > 0);
    }
}

#[test]
fn a_line_has_its_megabytes() {
    let line = Line { kind: Kind::Short, trees: 1, depth: 16, nodes: 1 << 16 };
    assert_eq!(line.megabytes(), 1.0);
    assert_eq!(trees::least_bytes(10), 16 << 12);
    assert!(trees::least_bytes(u32::MAX - 2) > 1 << 90);
}

#[test]
fn churn_agrees_with_the_peers() {
    let m = attach(SMALL);
    let outcome = churn::run(&m, 100_000);
    assert_eq!(outcome.ops, 100_000);
    let line = format!("churn ops {} checksum 0x{:016x}", outcome.ops, outcome.checksum);
    assert_eq!(line, expected("churn-100000.txt").trim());
    // Objects have 64 to 128 bytes, rounded down to whole words.
    let live = outcome.requested_live_bytes.unwrap() / churn::LIVE as u64;
    assert!((90..=96).contains(&live), "{live} bytes an object");
    assert!(m.heap().stats().collections > 0);
}

#[test]
fn mixed_agrees_with_the_peers() {
    let m = attach(SMALL);
    let outcome = mixed::run(&m, 100_000);
    assert_eq!(outcome.ops, 100_000);
    let line = format!("mixed ops {} checksum 0x{:016x}", outcome.ops, outcome.checksum);
    assert_eq!(line, expected("mixed-100000.txt").trim());
    assert!(m.heap().stats().collections > 0);
    // The last drop leaves 3 of 10, of a table that was not full; most of them were made large.
    let (what, live) = outcome.live.unwrap();
    assert_eq!(what, "documents");
    assert!(live < 3 * mixed::SLOTS as u64 / 10, "{outcome:?}");
    let each = outcome.requested_live_bytes.unwrap() / live;
    assert!((1000..=2400).contains(&each), "{each} bytes a document");
}

/// Few replacements leave phases without any, but not without their drops.
#[test]
fn mixed_works_with_very_few_replacements() {
    for ops in [1, 7, 8, 9, 17] {
        let m = attach(SMALL.verify(ops == 17));
        let outcome = mixed::run(&m, ops);
        assert_eq!(outcome.ops, ops);
        assert!(outcome.live.unwrap().1 < mixed::SLOTS as u64 / 1000, "{outcome:?}");
        assert_eq!(m.heap().stats().barrier_violations, 0);
    }
}

#[test]
fn mark_reaches_what_the_peers_reach() {
    let m = attach(SMALL.verify(true));
    let mut lines = Vec::new();
    mark::run(&m, 10_000, |line| lines.push(line));
    let reached: Vec<String> = lines
        .iter()
        .map(|line| {
            let sum = line.checksum.map_or(String::new(), |sum| format!(" checksum 0x{sum:016x}"));
            format!("mark {} objects 10000 reached {}{sum}", line.graph, line.reached)
        })
        .collect();
    let expected = expected("mark-10000.txt");
    assert!(reached.iter().eq(expected.lines().filter(|l| l.contains("reached"))), "{reached:?}");
    for line in lines {
        // Beside the objects there is the array of roots, and nothing that would lead to all of them in a row.
        // A stray word on the stack may keep some.
        assert!((1..100).contains(&(line.live_objects - line.reached)), "{line:?}");
    }
    assert_eq!(m.heap().stats().barrier_violations, 0);
}

/// The lists are those of the description, and the words in their nodes are found in its order.
#[test]
fn the_words_of_lists_are_checked() {
    const N: u64 = 1000;
    let m = attach(SMALL);
    let mut lists = Vec::new();
    mark::run(&m, N, |line| lists.extend(line.checksum.map(|sum| (line.graph, line.reached, sum))));
    let mut random = heapwood_workloads::random::Random::new();
    let mut shuffled: Vec<u64> = (0..N).collect();
    for i in (1..N).rev() {
        shuffled.swap(i as usize, (random.next_u64() % (i + 1)) as usize);
    }
    for (graph, reached, sum) in &lists {
        let count: usize = graph.rsplit('-').next().unwrap().parse().unwrap();
        let index = |at: usize| if graph.starts_with("shuffled") { shuffled[at] } else { at as u64 };
        let nodes = (0..count).flat_map(|list| (list..N as usize).step_by(count)).map(index);
        let expected = nodes.fold(0u64, |sum, index| sum.wrapping_mul(31).wrapping_add(index));
        assert_eq!((*reached, *sum), (N, expected), "{graph}");
    }
    let names: Vec<&str> = lists.iter().map(|list| list.0).collect();
    assert_eq!(names[..7], [1, 2, 4, 8, 16, 32, 64].map(|count| format!("lists-{count}")));
    assert_eq!(names[7..], [1, 8, 64].map(|count| format!("shuffled-lists-{count}")));
}

#[test]
fn mark_works_with_very_few_objects() {
    for n in [1, 2, 3, 63, 64, 65, 129] {
        let m = attach(SMALL);
        let mut reached = Vec::new();
        mark::run(&m, n, |line| reached.push((line.graph, line.reached)));
        assert_eq!(reached[..2], [("in-order", n), ("shuffled", n)]);
        assert!((1..=n).contains(&reached[2].1));
        assert!(reached.len() == 13 && reached[3..].iter().all(|&(_, lists)| lists == n), "{reached:?}");
    }
}

#[test]
fn the_random_numbers_are_those_of_every_peer() {
    let mut random = heapwood_workloads::random::Random::new();
    let mut x = 0x9E37_79B9_7F4A_7C15u64;
    for _ in 0..1000 {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        assert_eq!(random.next_u64(), x.wrapping_mul(0x2545_F491_4F6C_DD1D));
    }
}
