//! A random program during whose steps a full marking goes on, a few edges after each, beside the model of its graph. What it
//! stores, it stores through the barrier, now and then on a second thread; it moves the only pointer to something from where the
//! marking has not been to where it has, or into a root, or into an object made since, frees what led to it, and lets young collections come
//! between. When the marking ends, all that can be reached must be there, and what was dead when it began must be gone.

pub(crate) mod driver;
mod ops;
pub(crate) mod second;
#[path = "../oracle/mod.rs"]
pub(crate) mod shadow;
