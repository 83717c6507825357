//! Mistakes of C programs, each with what verify mode says of it.

use super::c_programs::{Link, compile, program};
use std::os::unix::process::ExitStatusExt;

/// How a program ends that makes a mistake.
#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    Abort,
    Fault,
    /// With the status 0.
    Well,
}
use End::{Abort, Fault, Well};

/// The mistake, the end of the process, and what it says before that.
const MISTAKES: [(&str, End, &str); 23] = [
    (
        "mask_without_a_field",
        Well,
        "hint: word 1 of the object at 0x.. (half, 32 bytes) is no pointer by its layout, and holds the address of an object that collection 2 has freed (node, 32 bytes)",
    ),
    ("no_mask", Well, "hint: word 0 of the object at 0x.. (none, 32 bytes) is no pointer by its layout"),
    ("object_that_is_no_root", Fault, "a word of freed memory (0x..) is used as an address"),
    (
        "stale_pointer_in_a_slot",
        Abort,
        "word 0 of the object at 0x.. (node, 32 bytes) holds 0x.., where the object was freed by collection 2 (node, 32 bytes)",
    ),
    (
        "stale_root",
        Abort,
        "the root slot at 0x.. holds 0x.., where the object was freed by collection 2 (node, 32 bytes)",
    ),
    (
        "root_of_what_was_freed",
        Abort,
        "the root slot at 0x.. holds 0x.., which the program has freed (node, 32 bytes)",
    ),
    (
        "slot_of_what_was_freed",
        Abort,
        "word 0 of the object at 0x.. (node, 32 bytes) holds 0x.., which the program has freed (node, 32 bytes)",
    ),
    ("store_into_what_was_freed", Abort, "a store names 0x.. as its object, which the program had freed"),
    (
        "plain_store_into_what_was_freed",
        Abort,
        "0x.. was written to 0x.., word 2 of an object of 32 bytes that the program had freed before",
    ),
    ("freed_twice", Well, "has been freed already"),
    (
        "stale_table",
        Well,
        "verify: a function was called with 32 bytes at 0x.., that collection 2 freed, since nothing that collections look at led there",
    ),
    (
        "grown_buffer",
        Well,
        "word 0 of the object at 0x.. (node, 32 bytes) changed from 0x.. to 0x.. without the write barrier",
    ),
    (
        "plain_store_beside_a_proper_one",
        Well,
        "word 0 of the object at 0x.. (node, 32 bytes) changed from 0x.. to 0x.. without the write barrier",
    ),
    (
        "overrun",
        Well,
        "word 0 of the object at 0x.. (node, 32 bytes) changed from 0x.. to 0x.. without the write barrier",
    ),
    (
        "frame_of_a_function_that_has_returned",
        Abort,
        "the frame at 0x.. lies below 0x.., the lowest word of its thread's stack in use: its function has returned, or was left by longjmp",
    ),
    (
        "frame_that_longjmp_has_left",
        Abort,
        "the frame at 0x.. lies below 0x.., the lowest word of its thread's stack in use: its function has returned, or was left by longjmp",
    ),
    (
        "frame_that_was_overwritten",
        Abort,
        "slots from 0x.. on, which cannot be read: its function has returned",
    ),
    (
        "unreadable_range",
        Abort,
        "the words from 0x.. to 0x.. are registered as roots, and cannot be read at 0x..",
    ),
    (
        "unmapped_slots",
        Abort,
        "the slots from 0x.. to 0x.. are registered as roots, and cannot be read at 0x..",
    ),
    (
        "object_of_another_heap",
        Abort,
        "a store names 0x.. as its object, which is of another heap than the mutator",
    ),
    (
        "value_of_another_heap",
        Well,
        "hint: 0x.., which is stored to 0x.., is an address of another heap: it keeps nothing alive",
    ),
    ("object_after_its_heap", Fault, "0x.. is used, which lies in a heap that has ended"),
    ("three_plain_stores", Well, "heapwood: verify: 4 reports"),
];

/// The text with each address as `0x..`.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut all = parts.next().unwrap_or_default().to_string();
    for part in parts {
        all += "0x..";
        all += part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    all
}

#[test]
fn each_mistake_is_named() {
    let built = compile("tests/c/mistakes.c", Link::Static, "-O1");
    for (mistake, end, said) in MISTAKES {
        let ended = program(&built).arg(mistake).env("HEAPWOOD", "quarantine=1MiB").output().unwrap();
        let text = without_addresses(
            &(String::from_utf8_lossy(&ended.stderr) + String::from_utf8_lossy(&ended.stdout)),
        );
        let found = match ended.status.signal() {
            Some(6) => Some(Abort),
            Some(11) => Some(Fault),
            _ => ended.status.success().then_some(Well),
        };
        assert!(found == Some(end) && text.contains(said), "{mistake}: {:?}\n{text}", ended.status);
        assert_eq!(
            text.matches("hint: ").count(),
            usize::from(said.starts_with("hint: ")),
            "{mistake}: {text}"
        );
    }
    std::fs::remove_file(built).unwrap();
}
