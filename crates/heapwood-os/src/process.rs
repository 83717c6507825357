//! The process: fork, exit, loaded libraries, clocks, and what it may use of the machine.

pub mod cgroup;
pub mod clock;
pub mod cores;
pub mod exit;
pub(crate) mod file;
pub mod fork;
pub mod loaded;
pub mod usage;
