//! Threads on one heap, and on several.

mod crowd;
mod fork;
mod frees;
mod idle;
mod moving_bottom;
mod ownership;
mod publication;
mod reenter;
mod stopped_world;
mod two_heaps;
