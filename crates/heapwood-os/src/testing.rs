//! Kernels for tests: one that refuses on command, one with large pages, and one that knows its reservations.

pub mod faulty;
pub mod large_page_kernel;
pub mod recording;
