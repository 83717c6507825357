//! The tests of a space without a collector.

mod frees;
mod pauses;
mod space;
