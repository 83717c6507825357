//! The C interface's types, roots and handles: calls chosen by bytes, through the `extern "C"` functions, as in
//! `crates/heapwood-c/rlib/tests`. It is linked as Rust, so that the fuzzer sees its branches.
//!
//! `cargo +nightly fuzz run c_types`

#![no_main]

#[path = "../../crates/heapwood-c/rlib/tests/hostile/calls.rs"]
mod calls;

libfuzzer_sys::fuzz_target!(|data: &[u8]| calls::replay(data));
