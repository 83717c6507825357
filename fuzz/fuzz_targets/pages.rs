//! Steps of the page allocator from any bytes, compared with its model, as in `tests/heapwood-pages/model.rs`.
//!
//! `cargo +nightly fuzz run pages`

#![no_main]

#[path = "../../crates/heapwood-pages/tests/heapwood-pages/common/mod.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|data: &[u8]| common::play::replay(data));
