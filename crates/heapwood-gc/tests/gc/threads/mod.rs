//! Threads on one heap, and on several.

mod chains;
mod collections_off;
mod crowd;
mod fork;
mod frees;
mod idle;
mod lookups;
mod ownership;
mod publication;
mod stopped_world;
mod two_heaps;
