//! Steps of the page allocator from any bytes, compared with its model, as in `tests/pages/model.rs`.
//!
//! `cargo +nightly fuzz run pages`

#![no_main]

#[path = "../../crates/heapwood-pages/tests/pages/common/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod common;

libfuzzer_sys::fuzz_target!(|data: &[u8]| common::play::replay(data));
