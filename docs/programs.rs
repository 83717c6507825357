//! The Rust programs in the README and the guide, as documentation tests. The crate has nothing else. (`.ci/documents` runs
//! the commands and the programs in C.)

#![cfg_attr(doctest, allow(missing_docs, reason = "the documents are the text"))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

#[cfg(doctest)]
#[doc = include_str!("guide/session.md")]
pub struct Session;

#[cfg(doctest)]
#[doc = include_str!("guide/rust.md")]
pub struct Rust;

#[cfg(doctest)]
#[doc = include_str!("guide/weak.md")]
pub struct Weak;

#[cfg(doctest)]
#[doc = include_str!("guide/tuning.md")]
pub struct Tuning;

#[cfg(doctest)]
#[doc = include_str!("guide/options.md")]
pub struct Options;

#[cfg(doctest)]
#[doc = include_str!("guide/statistics.md")]
pub struct Statistics;
