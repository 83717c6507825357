//! Tests that the header and this library agree: the C compiler checks assertions that are generated from the Rust
//! types.

use crate::arena::RECYCLE;
use crate::control::{Statistics, VERSION};
use crate::error_report::ErrorReport;
use crate::finalize::{AT_ONCE, FinalizedEntry, ORDERED};
use crate::link::LONG;
use crate::memory::Memory;
use crate::options::{Options, TRACE_WORDS};
use crate::status::Status;
use core::mem::{offset_of, size_of};
use heapwood_gc::mutator::{BARRIER_OFFSET, BUFFERS_OFFSET, FRAMES_OFFSET, POLL_OFFSET};
use heapwood_gc::{
    ClassParts, CollectionKind, CollectionMoment, CollectionTicket, Frame, MEMORY_PARTS, OPTIONS, STATISTICS,
};
use heapwood_heap::{AllocBuffer, ArenaHeader, MAX_SHAPES};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

const HEADER: &str = include_str!("../include/heapwood.h");
const SOURCES: [&str; 13] = [
    include_str!("alloc.rs"),
    include_str!("arena.rs"),
    include_str!("barrier.rs"),
    include_str!("control.rs"),
    include_str!("external.rs"),
    include_str!("finalize.rs"),
    include_str!("heap.rs"),
    include_str!("hook.rs"),
    include_str!("memory.rs"),
    include_str!("options.rs"),
    include_str!("roots.rs"),
    include_str!("stacks.rs"),
    include_str!("threads.rs"),
];
const MORE_SOURCES: [&str; 7] = [
    include_str!("check.rs"),
    include_str!("status.rs"),
    include_str!("trace.rs"),
    include_str!("types.rs"),
    include_str!("weak.rs"),
    include_str!("weak_table.rs"),
    include_str!("link.rs"),
];

/// Asserts in C that each expression has its value.
fn assert_in_c(facts: &[(String, i64)]) {
    let mut text = String::from("#include <heapwood.h>\n");
    for (expression, value) in facts {
        writeln!(text, "_Static_assert((long long)({expression}) == {value}, \"{expression}\");").unwrap();
    }
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut compiler = Command::new(&cc)
        .args(["-std=c11", "-fsyntax-only", "-I", concat!(env!("CARGO_MANIFEST_DIR"), "/include")])
        .args(["-x", "c", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("no C compiler: running {cc:?} failed ({e}); install one or set CC"));
    compiler.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = compiler.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

macro_rules! offsets {
    ($rust:ty, $c:literal: $($field:ident),*) => { [
        (format!("sizeof({})", $c), size_of::<$rust>() as i64),
        $((format!("offsetof({}, {})", $c, stringify!($field)), offset_of!($rust, $field) as i64)),*
    ] };
}

#[test]
fn structs_have_the_headers_layout() {
    let mut facts = Vec::new();
    let options = OPTIONS.iter().zip(Options::FIELDS).map(|(option, (_, offset))| (option.name, offset));
    facts.push(("sizeof(hw_options)".into(), size_of::<Options>() as i64));
    facts.extend(options.map(|(name, offset)| (format!("offsetof(hw_options, {name})"), offset as i64)));
    let statistics = STATISTICS.iter().zip(1..).map(|(s, word)| (s.name, word * size_of::<u64>()));
    facts.push(("sizeof(hw_stats)".into(), size_of::<Statistics>() as i64));
    facts.extend(statistics.map(|(name, offset)| (format!("offsetof(hw_stats, {name})"), offset as i64)));
    let parts = MEMORY_PARTS.iter().zip(1..).map(|(part, word)| (part.name, word * size_of::<u64>()));
    facts.push(("sizeof(hw_memory)".into(), size_of::<Memory>() as i64));
    facts.extend(parts.map(|(name, offset)| (format!("offsetof(hw_memory, {name})"), offset as i64)));
    facts.extend(offsets!(
        ClassParts,
        "hw_memory_class": cell, spans, bytes, old, young, freed, unswept, partial, cached, open, tails
    ));
    facts.extend(offsets!(Frame, "hw_frame": prev, count, slots));
    facts.extend(offsets!(FinalizedEntry, "hw_finalized": object, tag));
    facts.push(("sizeof(hw_error)".into(), size_of::<ErrorReport>() as i64));
    facts.push(("offsetof(hw_error, text)".into(), 4));
    facts.push(("sizeof(hw_ticket)".into(), size_of::<CollectionTicket>() as i64));
    facts.push(("_Alignof(hw_ticket)".into(), align_of::<CollectionTicket>() as i64));
    assert_in_c(&facts);
}

#[test]
fn the_mutators_prefix_equals_the_headers() {
    let facts = [
        ("offsetof(hw_mutator, poll)", POLL_OFFSET),
        ("offsetof(hw_mutator, barrier)", BARRIER_OFFSET),
        ("offsetof(hw_mutator, frames)", FRAMES_OFFSET),
        ("offsetof(hw_mutator, bumps)", BUFFERS_OFFSET),
        ("sizeof(hw_bump)", size_of::<AllocBuffer>()),
        ("HW_BUMPS", MAX_SHAPES),
        ("offsetof(hw_arena, cursor)", ArenaHeader::CURSOR_OFFSET),
        ("offsetof(hw_arena, limit)", ArenaHeader::LIMIT_OFFSET),
        ("offsetof(hw_arena, run)", ArenaHeader::RUN_OFFSET),
        ("offsetof(hw_arena, step)", ArenaHeader::STEP_OFFSET),
        ("offsetof(hw_arena, data)", ArenaHeader::DATA_OFFSET),
        ("offsetof(hw_arena, data_limit)", ArenaHeader::DATA_LIMIT_OFFSET),
    ];
    assert_in_c(&facts.map(|(name, value)| (name.to_string(), value as i64)));
    // The offsets inside a bump are asserted on both sides: here by heapwood-heap, there by the header.
}

#[test]
fn constants_equal_the_headers() {
    let facts = [
        ("HW_OK", Status::OK.0),
        ("HW_ENOMEM", Status::ENOMEM.0),
        ("HW_ELIMIT", Status::ELIMIT.0),
        ("HW_EINVAL", Status::EINVAL.0),
        ("HW_EDESC", Status::EDESC.0),
        ("HW_ESTATE", Status::ESTATE.0),
        ("HW_ENOSYS", Status::ENOSYS.0),
        ("HW_EFULL", Status::EFULL.0),
        ("HW_VERSION", VERSION as i32),
        ("HW_ARENA_RECYCLE", RECYCLE as i32),
        ("HW_LINK_LONG", LONG as i32),
        ("HW_FRAME_FIXED", Frame::FIXED as i32),
        ("HW_FINALIZE_ORDERED", ORDERED as i32),
        ("HW_FINALIZE_AT_ONCE", AT_ONCE as i32),
        ("HW_COLLECTION_START", CollectionMoment::Start as i32),
        ("HW_COLLECTION_END", CollectionMoment::End as i32),
        ("HW_COLLECTION_YOUNG", CollectionKind::Young as i32),
        ("HW_COLLECTION_FULL", CollectionKind::Full as i32),
        ("HW_COLLECTION_MARKING_START", CollectionKind::MarkingStart as i32),
        ("HW_COLLECTION_MARKING_END", CollectionKind::MarkingEnd as i32),
        ("sizeof(hw_status)", size_of::<Status>() as i32),
    ];
    let trace = TRACE_WORDS.map(|(name, words)| (name.to_string(), words as i64));
    assert_in_c(&trace);
    assert_in_c(&facts.map(|(name, value)| (name.to_string(), value as i64)));
    for (name, status) in facts.iter().take(8) {
        let text = Status(*status).text().to_str().unwrap();
        assert!(text.starts_with(&format!("{name}: ")), "{text}");
    }
}

/// The names that follow `before` in `text` and begin with `hw_`.
fn names_after<'a>(text: &'a str, before: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(before).filter_map(move |(at, _)| {
        let rest = &text[at + before.len()..];
        rest.starts_with("hw_").then(|| &rest[..rest.find('(').unwrap_or(0)])
    })
}

#[test]
fn the_header_declares_exactly_the_exported_functions() {
    let sources = SOURCES.iter().chain(&MORE_SOURCES);
    let mut exported: Vec<&str> = sources.flat_map(|s| names_after(s, "extern \"C\" fn ")).collect();
    // A declaration begins a line.
    let mut declared: Vec<&str> = HEADER
        .lines()
        .filter(|line| line.ends_with([';', ',']) && !line.starts_with([' ', '/', '#', '}']))
        .filter(|line| !line.starts_with("typedef") && !line.starts_with("static inline"))
        .filter_map(|line| {
            let name = &line[..line.find('(')?];
            name.rfind("hw_").map(|at| &name[at..])
        })
        .collect();
    exported.sort_unstable();
    declared.sort_unstable();
    assert!(exported.len() > 30);
    assert_eq!(exported, declared);
}
