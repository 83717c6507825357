//! What a heap tells of itself.

mod locks;
mod trace;
mod values;
