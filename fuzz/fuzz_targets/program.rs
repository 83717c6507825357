//! Programs from any bytes: checked, printed, and, if valid, decoded alone, as elements of a slice and by their loops, and
//! compared with the reference decoder. `tests/corpus.rs` of `heapwood-layout` replays the found inputs through the same
//! function.
//!
//! `cargo +nightly fuzz run program` at the root of the repository; `cargo +nightly fuzz cmin program` minimises the inputs.

#![no_main]

#[path = "../../crates/heapwood-layout/tests/reference/mod.rs"]
mod reference;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reference::program::replay(data));
