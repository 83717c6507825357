//! Descriptions of types from whatever bytes, as text or as items: read, printed, read again, compiled, and compared with a
//! reader that recurses and unrolls. `tests/corpus.rs` of `heapwood-layout` replays the inputs that were found, through the
//! same function.
//!
//! `cargo +nightly fuzz run describe fuzz/corpus/describe crates/heapwood-layout/tests/corpus_of_types`

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| heapwood_layout::describe::reference::replay(data));
