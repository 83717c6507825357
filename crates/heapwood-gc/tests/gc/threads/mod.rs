//! Threads on one heap, and on several.

mod crowd;
mod fork;
mod frees;
mod idle;
mod ownership;
mod publication;
mod stopped_world;
mod two_heaps;
