//! Steps of the page allocator from whatever bytes, against its model: the same as `tests/heapwood-pages/model.rs` does
//! with bytes of its own.
//!
//! `cargo +nightly fuzz run pages`

#![no_main]

#[path = "../../crates/heapwood-pages/tests/heapwood-pages/common/mod.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|data: &[u8]| common::play::replay(data));
