//! What shows that the models can fail: each without an order of the product, or a rule of the design, in a process of its own,
//! which loom must end. Invariant: a process has one such model, or none.

use super::publication::{Load, Store};
use super::{beside, lookups, publication};
use crate::publication::mutant::{self, *};
use core::sync::atomic::Ordering::Relaxed;

/// No order of the product: a rule of the design is left out.
const RULE: u8 = 0;
/// What loom says of accesses that nothing orders.
const UNORDERED: &str = "Causality violation";
const EARLIER: &str = "an earlier";
const FREED: &str = "a freed cell is taken for an object";

/// What is left out, the order of the product, what the failing model says, and the model.
const ALL: [(&str, u8, &str, fn()); 15] = [
    ("no barrier", NO_BARRIER, UNORDERED, || publication::a_new_object_is_known(Store::Plain, Load::Acquire)),
    ("a barrier after the store", NO_BARRIER, UNORDERED, || {
        publication::a_new_object_is_known(Store::PlainThenBarrier, Load::Acquire)
    }),
    ("a pointer that is not observed", NOT_OBSERVED, UNORDERED, || {
        publication::a_new_object_is_known(Store::Plain, Load::PlainThenObserve)
    }),
    ("a plain store of a pointer", PLAIN_STORE, UNORDERED, publication::contents_are_seen),
    ("a run that is not published", NO_BARRIER, EARLIER, || {
        beside::a_new_object_has_its_page(beside::used_pages, true)
    }),
    ("an entry that is written after the pointer", ENTRY_LATE, EARLIER, || {
        beside::a_new_object_has_its_page(beside::used_pages, true)
    }),
    ("a look-up that does not depend on the address", RULE, EARLIER, || {
        beside::a_new_object_has_its_page(beside::used_pages, false)
    }),
    ("a plain store of an entry", PLAIN_ENTRY, EARLIER, beside::an_entry_has_its_descriptor),
    ("a look-up as in a stop", RULE, "an object that never was", || {
        beside::a_stray_word_leads_into(beside::LookUp::Any)
    }),
    ("a free of the snapshot at once", RULE, "another span in its place", || {
        beside::an_object_of_the_snapshot_is_freed(false)
    }),
    ("a bit that a marker reads in no order", BIT_UNORDERED, FREED, || {
        beside::a_new_object_is_freed(beside::Looker::Marker, false)
    }),
    ("a bit that a barrier reads in no order", BIT_UNORDERED, FREED, || {
        beside::a_new_object_is_freed(beside::Looker::Barrier, false)
    }),
    ("a bit that is read for a word in no order", BIT_UNORDERED, FREED, || {
        beside::a_new_object_is_freed(beside::Looker::Word, true)
    }),
    ("a span that is not counted as a move", SPAN_UNCOUNTED, "used again is missing", || {
        lookups::what_was_made_in_a_freed_cell_is_found(2)
    }),
    (
        "a freed bit that goes before the buffer has the cell",
        TAKEN_FIRST,
        "a cell that nobody has been given is found",
        lookups::a_waiting_cell_is_not_found,
    ),
];

const LEFT_OUT: &str = "HEAPWOOD_TEST_LEFT_OUT";

#[test]
fn each_order_is_needed() {
    for (number, (what, _, says, _)) in ALL.iter().enumerate() {
        let run = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["model::left_out::child", "--exact", "--ignored"])
            .env(LEFT_OUT, number.to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
        assert!(!run.status.success() && said.contains(says), "{what}: {said}");
    }
}

#[test]
#[ignore = "fails, as it must: run in a process of its own by the test above"]
fn child() {
    let Ok(number) = std::env::var(LEFT_OUT) else { return };
    let (_, order, _, model) = ALL[number.parse::<usize>().unwrap()];
    mutant::LEFT_OUT.store(order, Relaxed);
    model();
}
