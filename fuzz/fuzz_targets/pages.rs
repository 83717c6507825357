//! Steps of the page allocator from whatever bytes, against its model: the same as `tests/pages/model.rs` of `heapwood-pages` does
//! with bytes of its own.
//!
//! `cargo +nightly fuzz run pages`

#![no_main]

#[path = "../../crates/heapwood-pages/tests/pages/common/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod common;

libfuzzer_sys::fuzz_target!(|data: &[u8]| common::play::replay(data));
