//! Threads on one heap, and on several.

mod chains;
mod collections_off;
mod crowd;
mod fork;
mod frees;
mod idle;
mod lookups;
mod moving_bottom;
pub(crate) mod no_collection;
mod ownership;
mod publication;
mod reenter;
mod regions;
mod stopped_world;
mod suspended;
mod two_heaps;
