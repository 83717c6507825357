//! Verify and stress mode, misuse, and explicit frees.

mod frees;
mod misuse;
mod stores;
mod stress;
