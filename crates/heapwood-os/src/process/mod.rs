//! The process: fork, exit, descriptors of events, loaded libraries, clocks, resource usage and limits.

mod cgroup;
pub mod clock;
pub mod cores;
pub mod eventfd;
pub mod exit;
pub mod file;
pub mod fork;
pub mod loaded;
pub mod ticks;
pub mod usage;
