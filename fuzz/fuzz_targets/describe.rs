//! Descriptions of types from any bytes, as text or as items: read, printed, read again, compiled, and compared with a
//! reader that recurses and unrolls. `tests/corpus.rs` of `heapwood-layout` replays the found inputs through the same
//! function.
//!
//! `cargo +nightly fuzz run describe fuzz/corpus/describe crates/heapwood-layout/tests/corpus_of_types`

#![no_main]

#[path = "../../crates/heapwood-layout/tests/reference/mod.rs"]
mod reference;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reference::describe::replay(data));
