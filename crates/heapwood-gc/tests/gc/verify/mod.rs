//! Verify and stress mode, misuse, explicit frees, and stores into dead memory.

mod frees;
mod misuse;
mod stores;
mod stress;
mod written;
