//! What a heap tells of its collections reads as Go's gctrace does, and comes from every heap where the variable asks for it.

use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_gc::settings::options::{Concurrent, GcTrace, Generational};
use heapwood_gc::{Config, Heap};
use heapwood_gc_testing::*;
use heapwood_layout::{TraceContext, TypeDescriptor};
use heapwood_os::SYSTEM;
use heapwood_os::process::cores;
use regex::Regex;
use std::collections::BTreeSet;

/// The line as those who parse Go's read it: the fields of runtime/extern.go, and behind a bar what is this heap's own.
const LINE: &str = r"^gc (?<number>\d+) @(?<at>\d+\.\d{3})s (?<percent>\d+)%: (?<prep>[\d.]+)\+(?<mark>[\d.]+)\+(?<end>[\d.]+) ms clock, (?<prep_cpu>[\d.]+)\+(?<assist>[\d.]+)/(?<background>[\d.]+)/(?<idle>[\d.]+)\+(?<end_cpu>[\d.]+) ms cpu, (?<size>\d+)->(?<found>\d+)->(?<live>\d+) MB, (?<goal>\d+) MB goal, (?<stacks>\d+) MB stacks, (?<globals>\d+) MB globals, (?<processors>\d+) P(?<forced> \(forced\))? \| (?<own>.*)$";

const OWN: &str = r"^kind=(?<kind>full|young|promotion|start|end|degenerated) cause=(?<cause>budget|no-room|program|idle|marker)( why=(?<why>short|late|limit|asked|trace-functions|one-core|off))? prep_ms=[\d.]+ stop_ms=(?<stop>[\d.]+)( awaited=(?<awaited>\d+) awaited_ms=(?<awaited_ms>[\d.]+))?( beside_ms=[\d.]+ beside_KiB=(?<beside>\d+)( floating=(?<floating>\d+))?)?( external_KiB=(?<external>\d+))? sweep_ms=[\d.]+ recovery_ms=[\d.]+ small_KiB=(?<small>\d+) locks=(?<spans>\d+)\+(?<pages>\d+)( locks_per_MiB=(?<rate>[\d.]+))?$";

/// Allocates so many nodes that nothing keeps.
fn garbage(heap: &Heap, nodes: usize) {
    let (mutator, node) = (attach(heap), node_type(heap));
    for _ in 0..nodes {
        mutator.allocate(node).unwrap();
    }
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
        assert!(number("small") > 0 && number("spans") > 0, "{text}");
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
    let told = behind_the_bar.map(|l| {
        let found = own.captures(l).unwrap_or_else(|| panic!("{l}"));
        found.name("external").map_or(0, |kib| kib.as_str().parse::<u32>().unwrap())
    });
    assert_eq!(told.collect::<Vec<_>>(), [3072, 2048, 0], "{text}");
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
        let [kind, cause] = ["kind", "cause"].map(|name| mine.name(name).unwrap().as_str());
        let why = mine.name("why").map(|why| why.as_str());
        (kind, cause, why, of.name("forced").is_some(), mine.name("beside").is_some())
    });
    // What a marking was is told when it has ended.
    let wanted = [
        ("start", "marker", None, false, false),
        ("end", "marker", None, false, true),
        ("start", "marker", None, false, false),
        // The program wants all that is dead: once the marking has ended a full collection follows.
        ("end", "program", Some("asked"), true, true),
        ("full", "program", Some("asked"), true, false),
        ("start", "marker", None, false, false),
        ("degenerated", "budget", Some("late"), false, true),
        ("full", "program", Some("asked"), true, false),
    ];
    // Others come meanwhile.
    let found: Vec<_> = found.filter(|(kind, ..)| !["young", "promotion"].contains(kind)).collect();
    assert_eq!(found, wanted, "{text}");
}

/// Heaps of which each is collected in a stop for a reason of its own; one allocates until no room is left.
fn collect_in_stops() {
    let base = PRECISE.generational(Generational::Off).min_heap(1 << 20).verify(false);
    let heaps = [
        (base.concurrent(Concurrent::Off), 2 << 20),
        // It has the type when its first collection looks ahead to the second.
        (base.concurrent(Concurrent::Auto), 12 << 20),
        (base.concurrent(Concurrent::Auto), 2 << 20),
        (base.concurrent(Concurrent::Auto).limit(4 << 20), 8 << 20),
    ];
    for (number, (config, bytes)) in heaps.into_iter().enumerate() {
        let heap = heap(config);
        let mutator = attach(&heap);
        eprintln!("heap {number}");
        if number == 1 {
            heap.types().register(&TypeDescriptor::traced(WORD, trace_nothing).unwrap()).unwrap();
        }
        let (node, mut roots) = (node_type(&heap), Slots::new(&heap, 1));
        for _ in 0..bytes / node.size() {
            let Ok(next) = mutator.allocate(node) else { break };
            let next = next.as_ptr() as usize;
            link(&mutator, next, 0, roots.get(0));
            roots.set(0, next);
        }
    }
}

unsafe extern "C" fn trace_nothing(_: *mut u8, _: usize, _: *mut TraceContext) {}

#[test]
fn a_line_says_why_a_full_collection_was_made_in_a_stop() {
    let why = Regex::new(r"^heap (\d)$| kind=full cause=([a-z-]+) why=([a-z-]+) ").unwrap();
    let text = told(Some("trace=1"), collect_in_stops);
    let (mut heap, mut found) = (String::new(), BTreeSet::new());
    for line in text.lines().filter_map(|line| why.captures(line)) {
        match line.get(1) {
            Some(number) => heap = number.as_str().into(),
            None => _ = found.insert(format!("{heap} {} {}", &line[2], &line[3])),
        }
    }
    let found: Vec<_> = found.iter().map(String::as_str).collect();
    for mut wanted in
        ["0 budget off", "1 budget trace-functions", "2 budget short", "3 no-room limit"].map(String::from)
    {
        if cores::available() < 2 {
            wanted = wanted.replace("trace-functions", "one-core").replace("short", "one-core");
        }
        assert!(found.contains(&wanted.as_str()), "{wanted}: {found:?}");
    }
    assert!(!text.contains("why=late"), "{text}");
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
        wait_for(&attached);
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

#[test]
fn nothing_is_told_unless_it_is_asked_for() {
    for variable in [None, Some(""), Some("trace=off"), Some("trace=0,percent=50"), Some("percent=50")] {
        assert_eq!(told(variable, collect), "", "{variable:?}");
    }
}

/// Makes heaps with and without a look at the variable.
fn ask_and_do_not() {
    let made = |config: Config| Heap::create(&SYSTEM, config).unwrap();
    let small = PRECISE.address_space(16 << 20);
    for _ in 0..2 {
        assert_eq!(made(small).config().percent, Config::DEFAULT.percent, "only trace is read unasked");
    }
    assert_eq!(made(small).config().trace, Some(GcTrace::On));
    // What the program says counts.
    assert_eq!(made(small.trace(GcTrace::Off)).config().trace, Some(GcTrace::Off));
    for _ in 0..2 {
        let asked = made(small.with_env());
        assert_eq!((asked.config().percent, asked.config().trace), (50, Some(GcTrace::On)));
    }
}

#[test]
fn what_is_wrong_in_the_variable_is_told_once_a_process() {
    let text = told(Some("percnt=1,trace=1,trace=1+often,percent=0,verify,percent=50"), ask_and_do_not);
    let lines: Vec<&str> = text.lines().collect();
    let wanted = [
        "heapwood: ignored in HEAPWOOD: no option is called percnt: is percent meant? ",
        "heapwood: ignored in HEAPWOOD: option trace is 1+often: it must be 1 or off (2)",
        "heapwood: ignored in HEAPWOOD: verify has no value: write key=value",
        // Told when all of it is read for the first time.
        "heapwood: ignored in HEAPWOOD: option percent is 0: it must be 1 to 100000; ",
    ];
    assert!(lines.len() == 4 && lines.iter().zip(wanted).all(|(line, w)| line.starts_with(w)), "{text}");
}
