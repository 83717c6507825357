//! The tests of a space without a collector.

mod pauses;
mod space;
