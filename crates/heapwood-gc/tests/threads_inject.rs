//! Tests of the oracle of many threads: an error planted in the collector must be caught by it. What is lost is soon another
//! thread's, and what happens then is anybody's guess: so each runs in a process of its own, which must not end well.

#![cfg(heapwood_inject)]

mod common;
#[allow(dead_code, reason = "no shares are played here")]
#[path = "threads_oracle/mod.rs"]
mod crowd;

use common::*;
use crowd::World;
use crowd::settings::ALL;
use heapwood_gc::inject::Fault;

const FAULT: &str = "HEAPWOOD_TEST_FAULT";

/// How often an error is played before it counts as missed: what threads do in one play may never need what was lost (one in
/// six does not, of arenas that lose the rest of their ring).
const PLAYS: u64 = 12;

/// Two heaps with a few threads, and an error planted once all that they share is made.
fn play(what: Option<(Fault, u64)>, seed: u64) {
    let young = std::env::var(FAULT).is_ok_and(|fault| fault.starts_with("young"));
    for settings in if young { [&ALL[12], &ALL[13]] } else { [&ALL[2], &ALL[4]] } {
        let world = World::new(*settings, seed);
        if let Some((what, every)) = what {
            world.heap.faults().inject(what, every);
        }
        let played = world.play(seed, 50_000);
        assert!(
            what.is_none() || world.heap.faults().injected() > 0 || played.is_err(),
            "nothing was planted"
        );
        played.unwrap_or_else(|what| panic!("the oracle says: {what}"));
    }
}

/// Plays with an error in a process of its own; what it said as it failed.
fn caught(fault: &str) -> String {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["child_with_a_fault", "--exact", "--ignored", "--nocapture", "--test-threads", "1"])
        .env(CHILD, "1")
        .env(FAULT, fault)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{fault} was not caught");
    let lines = said.lines().filter(|l| l.contains("the oracle says: ") || l.starts_with("heapwood: "));
    let lines = lines.collect::<Vec<_>>().join("\n");
    assert!(!lines.is_empty(), "{said}");
    lines
}

#[test]
fn nothing_planted_nothing_caught() {
    play(None, 1);
}

#[test]
fn lost_edges_are_caught() {
    println!("{}", caught("lose mark"));
}

#[test]
fn missed_roots_are_caught() {
    println!("{}", caught("miss root"));
}

#[test]
fn wrongly_freed_objects_are_caught() {
    println!("{}", caught("wrong free"));
}

#[test]
fn what_young_collections_are_not_told_is_caught() {
    for fault in ["store", "chunk", "init", "large", "reused", "handle"] {
        println!("{}", caught(&format!("young: {fault}")));
    }
}

#[test]
fn arenas_that_are_lost_in_part_are_caught() {
    for fault in ["arena ring", "arena bits", "young: arena", "young: arena store"] {
        println!("{}", caught(fault));
    }
}

#[test]
#[ignore = "fails, as it must: run in a process of its own by the tests above"]
fn child_with_a_fault() {
    if alone() {
        let what = match std::env::var(FAULT).unwrap().as_str() {
            "lose mark" => (Fault::LoseMark, 100),
            "miss root" => (Fault::MissRoot, 50),
            "wrong free" => (Fault::WrongFree, 2_000),
            "young: store" => (Fault::StoreNotRecorded, 20),
            "young: chunk" => (Fault::RecordLost, 5),
            "young: init" => (Fault::InitNotRecorded, 2),
            "young: large" => (Fault::YoungLargeForgotten, 2),
            "young: reused" => (Fault::ReusedNotRecorded, 2),
            "young: handle" => (Fault::HandleNotNoted, 1),
            "arena ring" => (Fault::RingCut, 1),
            "arena bits" => (Fault::ArenaBitsShort, 1),
            "young: arena" => (Fault::ArenaWindowLost, 1),
            "young: arena store" => (Fault::ArenaStoreNotRecorded, 1),
            other => panic!("no fault is called {other:?}"),
        };
        (1..=PLAYS).for_each(|seed| play(Some(what), seed));
    }
}
