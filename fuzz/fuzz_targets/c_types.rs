//! The C interface's types, roots and handles: calls that bytes choose, through the `extern "C"` functions, as
//! `crates/heapwood-c/rlib/tests` makes them. It is linked as Rust, so that the fuzzer sees its branches.
//!
//! `cargo +nightly fuzz run c_types`

#![no_main]

#[path = "../../crates/heapwood-c/rlib/tests/hostile/calls.rs"]
mod calls;

libfuzzer_sys::fuzz_target!(|data: &[u8]| calls::replay(data));
