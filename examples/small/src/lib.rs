//! Two small programs, in each way to use Heapwood and with counted memory: `src/bin`. `heapwood bench rust` compares them with other
//! collectors for Rust (peers/rust-gc).
#![forbid(unsafe_code)]

pub mod work;
