//! Threads on one heap, and on several.

mod collections_off;
mod crowd;
mod deferral;
mod fork;
mod frees;
mod idle;
mod lookups;
mod moving_bottom;
mod ownership;
mod publication;
mod reenter;
mod stopped_world;
mod two_heaps;
