//! What a heap tells of itself.

mod trace;
mod values;
