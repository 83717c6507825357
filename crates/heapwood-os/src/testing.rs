//! Kernels for tests: one that refuses on command, and one with large pages.

pub mod faulty;
pub mod large_page_kernel;
