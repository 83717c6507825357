//! The Rust programs in the README and the guide: each is compiled and run as a documentation test of this crate, which has
//! nothing else. (`.ci/documents` does the same for commands and for C.)

#![cfg_attr(doctest, allow(missing_docs, reason = "the documents speak for themselves"))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

#[cfg(doctest)]
#[doc = include_str!("guide/rust.md")]
pub struct Rust;

#[cfg(doctest)]
#[doc = include_str!("guide/tuning.md")]
pub struct Tuning;

#[cfg(doctest)]
#[doc = include_str!("guide/options.md")]
pub struct Options;

#[cfg(doctest)]
#[doc = include_str!("guide/statistics.md")]
pub struct Statistics;
