//! The shadow-graph oracle: random programs at the collector's own interface, beside a plain model of the object
//! graph. After every collection the heap must agree with the model.
//!
//! | module | what it holds |
//! |---|---|
//! | [`rng`] | the random numbers, from a seed |
//! | [`kinds`] | the kinds of objects: sizes, layouts, where their slots are |
//! | [`model`] | the graph as the program means it, with masked addresses |
//! | [`world`] | a heap, a mutator, roots of every sort, and the model of them |
//! | [`program`] | random operations |
//! | [`arenas`] | those on arenas (plain functions of which are in [`arena`]) |
//! | [`check`] | heap against model |
//! | [`disturb`] | another thread that collects all the time |
//! | [`settings`] | the heaps it is played on |

#![allow(dead_code, reason = "two test programs use this, each a part")]

#[path = "../common/arena.rs"]
pub(crate) mod arena;
pub(crate) mod arenas;
pub(crate) mod check;
pub(crate) mod disturb;
pub(crate) mod kinds;
pub(crate) mod model;
pub(crate) mod program;
pub(crate) mod rng;
pub(crate) mod settings;
pub(crate) mod world;
