//! The phase clock adds up; what a heap tells of its collections reads as Go's gctrace does, comes from every heap where
//! the variable asks for it, and once; the counters move when and as they should.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::settings::options::GcTrace;
use heapwood_gc::{Config, Heap, HeapBox, Stats};
use heapwood_gc_testing::*;
use heapwood_heap::Sweeping;
use heapwood_os::SYSTEM;
use heapwood_os::process::exit::at_exit;
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The line as those who parse Go's read it: the fields of runtime/extern.go, and behind a bar what is this heap's own.
const LINE: &str = r"^gc (?<number>\d+) @(?<at>\d+\.\d{3})s (?<percent>\d+)%: (?<prep>[\d.]+)\+(?<mark>[\d.]+)\+(?<end>[\d.]+) ms clock, (?<prep_cpu>[\d.]+)\+(?<assist>[\d.]+)/(?<background>[\d.]+)/(?<idle>[\d.]+)\+(?<end_cpu>[\d.]+) ms cpu, (?<size>\d+)->(?<found>\d+)->(?<live>\d+) MB, (?<goal>\d+) MB goal, (?<stacks>\d+) MB stacks, (?<globals>\d+) MB globals, (?<processors>\d+) P(?<forced> \(forced\))? \| (?<own>.*)$";

const OWN: &str = r"^kind=(?<kind>full|young|start|end|degenerated) cause=(?<cause>budget|no-room|program|idle|marker) prep_ms=[\d.]+ stop_ms=(?<stop>[\d.]+)( awaited=(?<awaited>\d+) awaited_ms=(?<awaited_ms>[\d.]+))?( beside_ms=[\d.]+ beside_KiB=(?<beside>\d+) assists=(?<assists>\d+) shaded=(?<shaded>\d+)( floating=(?<floating>\d+))?)?( external_KiB=(?<external>\d+))? sweep_ms=[\d.]+\+[\d.]+\+[\d.]+ recovery_ms=[\d.]+\+[\d.]+\+[\d.]+ swept=(?<allocation>\d+)\+(?<others>\d+)\+(?<collector>\d+) small_KiB=(?<small>\d+) taken=(?<taken>\d+) returned=\d+ refills=\d+ locks=(?<spans>\d+)\+(?<pages>\d+) rmws=(?<rmws>\d+)( locks_per_MiB=(?<rate>[\d.]+) rmws_per_MiB=[\d.]+)?$";

const FIVE_LINES: &str = "^\tTotal GC prep time:  (?<prep>\\d+) milliseconds\n\tTotal mark time:  (?<mark>\\d+) milliseconds\n\
                          \tTotal sweep time:  (?<sweep>\\d+) milliseconds\n\
                          \tTotal page recovery time:  (?<recovery>\\d+) milliseconds\n\
                          \tGrand total GC time:  (?<total>\\d+) milliseconds\n$";

/// Allocates so many nodes that nothing keeps.
fn garbage(heap: &Heap, nodes: usize) {
    let (mutator, node) = (attach(heap), node_type(heap));
    for _ in 0..nodes {
        mutator.allocate(node).unwrap();
    }
}

/// All that can be added up, does.
fn adds_up(stats: &Stats) {
    assert!(stats.phase_stop_ns <= stats.phase_prep_ns, "{stats:?}");
    let sum = |phases: [u64; 4]| phases.into_iter().sum::<u64>();
    let wall = [stats.phase_prep_ns, stats.phase_mark_ns, stats.phase_sweep_ns, stats.phase_recovery_ns];
    let cpu = [
        stats.phase_prep_cpu_ns,
        stats.phase_mark_cpu_ns,
        stats.phase_sweep_cpu_ns,
        stats.phase_recovery_cpu_ns,
    ];
    assert_eq!((stats.phase_total_ns, stats.phase_total_cpu_ns), (sum(wall), sum(cpu)), "{stats:?}");
    assert_eq!(
        stats.phase_sweep_ns,
        stats.sweep_allocation_ns + stats.sweep_background_ns + stats.sweep_collector_ns,
        "{stats:?}"
    );
    assert_eq!(stats.phase_stop_ns, stats.stop_total_ns, "{stats:?}");
    assert!(stats.mark_total_ns <= stats.phase_mark_ns, "{stats:?}");
    // A pause is prep and mark, but for what comes before the first request, and for sweeping while others wait.
    assert!(
        stats.pause_total_ns
            <= stats.phase_prep_ns + stats.phase_mark_ns + stats.sweep_collector_ns + stats.phase_recovery_ns,
        "{stats:?}"
    );
    assert!(stats.stop_p50_ns <= stats.stop_p99_ns && stats.stops == stats.collections, "{stats:?}");
    assert!(stats.small_bytes <= stats.allocated_bytes, "{stats:?}");
}

#[test]
fn the_phases_add_up() {
    let heap = heap(PRECISE.background_release(false));
    garbage(&heap, 300_000);
    attach(&heap).collect().unwrap();
    heap.memory().release_free();
    let stats = heap.inspect().stats();
    adds_up(&stats);
    assert!(stats.collections > 2, "{stats:?}");
    for phase in [stats.phase_prep_ns, stats.phase_mark_ns, stats.phase_sweep_ns, stats.phase_recovery_ns] {
        assert!(phase > 0, "{stats:?}");
    }
    for phase in [stats.phase_prep_cpu_ns, stats.phase_mark_cpu_ns] {
        assert!(phase > 0, "{stats:?}");
    }
}

#[test]
fn sweeps_are_counted_by_who_sweeps() {
    let heap = heap(PRECISE.background_release(false));
    let swept =
        |stats: Stats| [stats.swept_by_allocation, stats.swept_by_background, stats.swept_by_collector];
    garbage(&heap, 20_000);
    attach(&heap).collect().unwrap();
    let first = heap.inspect().stats();
    assert_eq!(swept(first), [0, 0, 0]);
    assert!(first.spans > 16 && first.small_bytes >= 20_000 * 32, "{first:?}");
    assert!(first.shared_rmws > 0 && first.refills >= first.spans && first.spans_taken == 0, "{first:?}");

    // Another thread needs cells of the same kind: it sweeps what was dead, and has told when it leaves.
    std::thread::scope(|scope| {
        scope.spawn(|| garbage(&heap, 1_000));
    });
    let second = heap.inspect().stats();
    let by_thread = second.swept_by_allocation;
    assert!(by_thread > 0 && swept(second)[1..] == [0, 0], "{second:?}");
    assert!(second.spans_taken >= by_thread && second.spans_returned > first.spans_returned, "{second:?}");

    // What it has left the collector sweeps.
    attach(&heap).collect().unwrap();
    let third = heap.inspect().stats();
    assert!(third.swept_by_allocation == by_thread && third.swept_by_collector > 0, "{third:?}");
    assert!(third.sweep_collector_ns > 0);
    assert_eq!(by_thread + third.swept_by_collector, first.spans, "each span once");

    // The heap's own thread would do this.
    garbage(&heap, 20_000);
    attach(&heap).collect().unwrap();
    let before = heap.inspect().stats();
    while heap.space().sweep_some(Sweeping::Background) {}
    let after = heap.inspect().stats();
    assert!(after.swept_by_background > 0 && after.sweep_background_ns > 0, "{after:?}");
    assert_eq!(after.swept_by_collector, before.swept_by_collector);
    adds_up(&after);

    // A large object is no small one.
    let mutator = attach(&heap);
    mutator.allocate(pointer_free(&heap, 800_000)).unwrap();
    drop(mutator);
    let stats = heap.inspect().stats();
    assert_eq!(stats.small_bytes, after.small_bytes);
    assert!(stats.allocated_bytes >= after.allocated_bytes + 800_000);
}

/// What a process of its own that runs `body` says on its standard error, with this variable.
#[track_caller]
fn told(variable: Option<&str>, body: impl FnOnce()) -> String {
    let child = Child::new();
    variable.into_iter().fold(child, |child, text| child.with("HEAPWOOD", text)).run(body).well().err
}

/// Makes a heap without a look at the variable, and collects: twice because allocation needs it, once because asked to.
fn collect() {
    let heap = heap(FULL.min_heap(4 << 20).background_release(false).mark_threads(1));
    garbage(&heap, 300_000);
    attach(&heap).collect().unwrap();
    assert_eq!(heap.inspect().stats().collections, 3, "{:?}", heap.inspect().stats());
}

#[test]
fn a_line_a_collection_reads_as_gos() {
    let (line, own) = (Regex::new(LINE).unwrap(), Regex::new(OWN).unwrap());
    let text = told(Some("trace=1"), collect);
    let lines: Vec<_> =
        text.lines().map(|l| line.captures(l).unwrap_or_else(|| panic!("{l}\n{text}"))).collect();
    assert_eq!(lines.len(), 3, "{text}");
    let mut at = 0.0;
    for (i, found) in lines.iter().enumerate() {
        let number = |name: &str| found[name].parse::<f64>().unwrap();
        assert_eq!(number("number"), (i + 1) as f64);
        assert!(number("at") >= at, "{text}");
        at = number("at");
        assert!(number("percent") <= 100.0, "{text}");
        assert_eq!((number("goal"), number("live"), number("processors")), (4.0, 0.0, 1.0), "{text}");
        assert_eq!(found["size"], found["found"], "nothing is allocated in a stop");
        assert_eq!(found.name("forced").is_some(), i == 2, "{text}");
        if i < 2 {
            assert_eq!(number("size"), 4.0, "{text}");
        }
        let mine = own.captures(&found["own"]).unwrap_or_else(|| panic!("{}", &found["own"]));
        assert_eq!((&mine["kind"], &mine["cause"]), ("full", ["budget", "program"][i / 2]), "{text}");
        assert!(
            mine.name("awaited").is_none() && mine.name("beside").is_none(),
            "there is one thread: {text}"
        );
        assert!(mine.name("external").is_none(), "nothing is outside: {text}");
        let number = |name: &str| mine[name].parse::<u64>().unwrap();
        // Between two collections: all that the first found dead is swept, by the thread or by the collection.
        let swept = number("allocation") + number("others") + number("collector");
        assert_eq!(swept > 0, i > 0, "{text}");
        assert!(number("small") > 0 && number("spans") > 0 && number("rmws") > 0, "{text}");
        assert_eq!(number("taken") > 0, i > 0, "nothing lies on lists before the first: {text}");
        assert!(mine["rate"].parse::<f64>().unwrap() > 0.0, "{text}");
    }
}

#[test]
fn a_line_has_what_is_outside_the_heap() {
    let own = Regex::new(OWN).unwrap();
    let text = told(Some("trace=1"), || {
        let heap = heap(FULL.background_release(false));
        let mutator = attach(&heap);
        for change in [3 << 20, -(1 << 20), -(2 << 20)] {
            mutator.external(change).unwrap();
            mutator.collect().unwrap();
        }
    });
    let behind_the_bar = text.lines().map(|line| line.split_once(" | ").unwrap().1);
    let told: Vec<_> = behind_the_bar
        .map(|l| own.captures(l).unwrap_or_else(|| panic!("{l}"))["external"].to_string())
        .collect();
    assert_eq!(told, ["3072", "2048", "0"], "{text}");
}

/// Begins markings beside the program and ends them in all ways: by themselves, for the program, for an allocation.
fn mark_beside() {
    let heap = heap(FULL.min_heap(4 << 20).background_release(false));
    let (mutator, node) = (attach(&heap), node_type(&heap));
    let mut roots = Slots::new(&heap, 1);
    roots.set(0, new(&mutator, node));
    let begin = || {
        link(&mutator, roots.get(0), 0, new(&mutator, node));
        assert_eq!(mutator.incremental_marking().begin(), Ok(true));
        // What is overwritten is shaded.
        link(&mutator, roots.get(0), 0, 0);
    };
    begin();
    assert_eq!(mutator.incremental_marking().finish(), Ok(true));
    begin();
    mutator.collect().unwrap();
    begin();
    while heap.inspect().stats().concurrent_degenerated == 0 {
        mutator.allocate(node).unwrap();
    }
    mutator.collect_young().unwrap();
}

#[test]
fn a_line_names_what_a_pause_did_and_why() {
    let (line, own) = (Regex::new(LINE).unwrap(), Regex::new(OWN).unwrap());
    let text = told(Some("trace=1"), mark_beside);
    let found = text.lines().map(|l| line.captures(l).unwrap_or_else(|| panic!("{l}")));
    let found = found.map(|of| {
        let mine = own.captures(of.name("own").unwrap().as_str()).unwrap_or_else(|| panic!("{text}"));
        // What a marking was is told when it has ended.
        let shaded = mine.name("shaded").map(|n| n.as_str().parse::<u64>().unwrap());
        let [kind, cause] = ["kind", "cause"].map(|name| mine.name(name).unwrap().as_str());
        (kind, cause, of.name("forced").is_some(), shaded)
    });
    let wanted = [
        ("start", "marker", false, None),
        ("end", "marker", false, Some(1)),
        ("start", "marker", false, None),
        // The program wants all that is dead: once the marking has ended a full collection follows.
        ("end", "program", true, Some(1)),
        ("full", "program", true, None),
        ("start", "marker", false, None),
        ("degenerated", "budget", false, Some(1)),
        ("full", "program", true, None),
    ];
    assert_eq!(found.collect::<Vec<_>>(), wanted, "{text}");
}

/// One thread collects, another runs and polls; says who that is.
fn wait_for_another() {
    let (heap, attached, over) =
        (heap(FULL.background_release(false)), AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let other = attach(&heap);
            // SAFETY: it only asks who this thread is.
            eprintln!("other {}", unsafe { libc::gettid() });
            attached.store(true, Ordering::Relaxed);
            while !over.load(Ordering::Relaxed) {
                other.safepoint();
            }
        });
        while !attached.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let mutator = attach(&heap);
        (0..100).for_each(|_| mutator.collect().unwrap());
        over.store(true, Ordering::Relaxed);
    });
    attach(&heap).collect().unwrap();
}

#[test]
fn a_line_names_the_thread_that_was_waited_for() {
    let (line, own) = (Regex::new(LINE).unwrap(), Regex::new(OWN).unwrap());
    let text = told(Some("trace=1"), wait_for_another);
    let other = text.lines().find_map(|l| l.strip_prefix("other ")).unwrap_or_else(|| panic!("{text}"));
    let lines: Vec<_> = text.lines().filter_map(|l| line.captures(l)).collect();
    assert_eq!(lines.len(), 101, "{text}");
    let mut awaited = 0;
    for (i, found) in lines.iter().enumerate() {
        let mine = own.captures(found.name("own").unwrap().as_str()).unwrap_or_else(|| panic!("{text}"));
        // Now and then the other may stop of its own accord, before anybody looks.
        let Some(thread) = mine.name("awaited") else { continue };
        assert!(thread.as_str() == other && i < 100, "{text}");
        // It stopped before the stop was over; both are cut.
        let [waited, stop] = ["awaited_ms", "stop"].map(|name| mine[name].parse::<f64>().unwrap());
        assert!(waited <= stop, "{text}");
        awaited += 1;
    }
    assert!(awaited > 0, "{text}");
}

/// Marks with two threads what is alive.
fn mark_with_two() {
    let heap = heap(PRECISE.mark_threads(2).background_release(false));
    let (mutator, node) = (attach(&heap), node_type(&heap));
    let mut roots = Slots::new(&heap, 1);
    roots.extend_list(0, &mutator, node, 100_000, 7);
    (0..50).for_each(|_| mutator.collect().unwrap());
    let stats = heap.inspect().stats();
    adds_up(&stats);
    assert!(stats.live_bytes > 3_000_000, "{stats:?}");
}

#[test]
fn all_threads_that_mark_are_told_of() {
    let text = told(Some("trace=1"), mark_with_two);
    let line = Regex::new(LINE).unwrap();
    let forced: Vec<_> = text.lines().filter(|line| line.contains("(forced)")).collect();
    assert_eq!(forced.len(), 50, "{text}");
    let mut both = 0;
    for found in forced.iter().map(|l| line.captures(l).unwrap_or_else(|| panic!("{l}"))) {
        let alone = found["processors"] == *"1";
        assert!(alone || found["processors"] == *"2", "{text}");
        assert!(found["live"] == *"3" && found["idle"] == *"0", "{text}");
        assert!(!alone || found["background"] == *"0", "who did not mark used no CPU for it: {text}");
        both += usize::from(!alone);
    }
    // Now and then a thread comes when all is marked; not always.
    assert!(!is_thorough() || both > 0, "{text}");
}

#[test]
fn nothing_is_told_unless_it_is_asked_for() {
    for variable in [None, Some(""), Some("trace=off"), Some("trace=0,percent=50"), Some("percent=50")] {
        assert_eq!(told(variable, collect), "", "{variable:?}");
    }
}

#[test]
fn totals_are_told_in_five_lines_that_add_up() {
    let five = Regex::new(FIVE_LINES).unwrap();
    let text = told(Some("trace=phases"), collect);
    let found = five.captures(&text).unwrap_or_else(|| panic!("{text:?}"));
    let number = |name: &str| found[name].parse::<u64>().unwrap();
    let parts: u64 = ["prep", "mark", "sweep", "recovery"].map(number).iter().sum();
    // Each is cut to milliseconds.
    assert!((parts..=parts + 3).contains(&number("total")), "{text}");

    let both = told(Some(" trace = phases + 1 "), collect);
    let (lines, totals) = both.split_at(both.find("\tTotal").unwrap());
    assert!(Regex::new(FIVE_LINES).unwrap().is_match(totals), "{both}");
    assert!(lines.lines().count() == 3 && lines.lines().all(|l| Regex::new(LINE).unwrap().is_match(l)));
}

/// Heaps that are not dropped: as a `static` has them, or a thread that never ends.
fn leave_the_heaps() {
    let heaps: Vec<_> = (0..3).map(|_| heap(PRECISE.background_release(false))).collect();
    heaps.iter().for_each(|heap| attach(heap).collect().unwrap());
    let mut heaps = heaps.into_iter();
    drop(heaps.next());
    // One with a thread that is attached for ever.
    let attached = heaps.next().unwrap();
    core::mem::forget(attach(&attached));
    core::mem::forget((heaps, attached));
    std::process::exit(0);
}

#[test]
fn heaps_that_are_left_to_the_end_tell_then_and_once() {
    let text = told(Some("trace=phases"), leave_the_heaps);
    assert_eq!(text.matches("\tGrand total GC time:").count(), 3, "{text}");
    assert_eq!(text.lines().count(), 15, "{text}");
    assert_eq!(told(Some("trace=0"), leave_the_heaps), "");
}

/// A heap that has been told of at exit ends after that, as one of C++ may whose destructor runs late.
fn end_a_heap_after_exit_has_told() {
    static KEPT: Mutex<Option<HeapBox>> = Mutex::new(None);
    extern "C" fn end() {
        KEPT.lock().unwrap().take();
    }
    // What was asked for first is called last.
    assert!(at_exit(end));
    *KEPT.lock().unwrap() = Some(heap(PRECISE));
    std::process::exit(0);
}

#[test]
fn a_heap_that_ends_late_tells_once() {
    let text = told(Some("trace=phases"), end_a_heap_after_exit_has_told);
    assert_eq!(text.lines().count(), 5, "{text}");
}

/// Heaps end while the process does.
fn end_heaps_while_it_exits() {
    let ended = Arc::new(AtomicUsize::new(0));
    for _ in 0..4 {
        let ended = Arc::clone(&ended);
        std::thread::spawn(move || {
            loop {
                drop(heap(PRECISE.address_space(16 << 20).background_release(false)));
                ended.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    // The first heap of a process may take long.
    while ended.load(Ordering::Relaxed) < 40 {
        std::thread::yield_now();
    }
    std::process::exit(0);
}

/// Three full collections, and a young one.
fn collect_some() {
    let heap = Heap::create(&SYSTEM, YOUNG.background_release(false)).unwrap();
    let (mutator, node) = (attach(&heap), node_type(&heap));
    let mut slots = Slots::new(&heap, 3000);
    for round in 0..3 {
        (0..1000).for_each(|i| slots.set(1000 * round + i, new(&mutator, node)));
        mutator.collect().unwrap();
    }
    mutator.collect_young().unwrap();
}

/// A line before each full collection, whose parts add up; what has just been made is young, and what came before alive.
#[test]
fn a_trace_says_where_the_memory_was() {
    let text = told(Some("trace=memory"), collect_some);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    for (round, line) in lines.into_iter().enumerate() {
        let parts = line.strip_prefix(&format!("mem {}: KiB ", round + 1)).unwrap();
        let parts: BTreeMap<&str, usize> = parts
            .split(' ')
            .map(|part| part.split_once('=').map(|(name, kib)| (name, kib.parse().unwrap())).unwrap())
            .collect();
        let kib = |name: &str| parts.get(name).copied().unwrap_or(0);
        let nodes = (1000 * 4 * WORD).div_ceil(1024);
        assert_eq!(kib("young"), nodes, "{line}");
        assert_eq!(kib("survived"), (1000 * round * 4 * WORD).div_ceil(1024), "{line}");
        let sums = kib("backed") + kib("process");
        // Each part is rounded up.
        let all = parts.values().sum::<usize>() - sums;
        assert!((kib("backed")..kib("backed") + parts.len()).contains(&all), "{line}");
        assert!(kib("process") > kib("backed"), "{line}");
    }
}

#[test]
fn a_heap_may_end_while_the_process_does() {
    for _ in 0..10 {
        let text = told(Some("trace=phases"), end_heaps_while_it_exits);
        assert!(text.lines().count().is_multiple_of(5) && text.contains("Grand total GC time:"), "{text}");
    }
}

/// Makes heaps with and without a look at the variable.
fn ask_and_do_not() {
    let made = |config: Config| Heap::create(&SYSTEM, config).unwrap();
    let small = PRECISE.address_space(16 << 20);
    for _ in 0..2 {
        assert_eq!(made(small).config().percent, Config::DEFAULT.percent, "only trace is read unasked");
    }
    assert_eq!(made(small).config().trace, Some(GcTrace::PHASES));
    // What the program says counts.
    assert_eq!(made(small.trace(GcTrace::OFF)).config().trace, Some(GcTrace::OFF));
    for _ in 0..2 {
        let asked = made(small.with_env());
        assert_eq!((asked.config().percent, asked.config().trace), (50, Some(GcTrace::PHASES)));
    }
}

#[test]
fn what_is_wrong_in_the_variable_is_told_once_a_process() {
    let text = told(Some("percnt=1,trace=phases,trace=1+often,percent=0,verify,percent=50"), ask_and_do_not);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('\t')).collect();
    let wanted = [
        "heapwood: ignored in HEAPWOOD: no option is called percnt: is percent meant? ",
        "heapwood: ignored in HEAPWOOD: option trace is often: it must be 1, phases, memory, some of them joined by +, or off",
        "heapwood: ignored in HEAPWOOD: verify has no value: write key=value",
        // Told when all of it is read for the first time.
        "heapwood: ignored in HEAPWOOD: option percent is 0: it must be 1 to 100000; ",
    ];
    assert!(lines.len() == 4 && lines.iter().zip(wanted).all(|(line, w)| line.starts_with(w)), "{text}");
    assert_eq!(text.matches("Grand total").count(), 5, "all heaps but the one that was to be quiet: {text}");
}
