//! The tests of the workloads. `shared_locks` is a test program of its own.

mod check_values;
mod stores;
