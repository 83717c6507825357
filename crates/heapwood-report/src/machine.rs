//! What was measured on, as far as the kernel tells.

use heapwood_os::process::usage::{memory_limit, physical_memory};
use serde::Serialize;
use std::fs::read_to_string;

/// Where the kernel says how much memory there is, and of what.
pub const MEMINFO: &str = "/proc/meminfo";

/// A machine.
#[derive(Serialize, Clone, Debug)]
pub struct Machine {
    cpu: String,
    cores: usize,
    memory_bytes: u64,
    kernel: String,
}

impl Machine {
    /// The one that this runs on.
    pub fn this() -> Machine {
        let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Machine {
            cpu: model.map_or(std::env::consts::ARCH, |(_, name)| name).trim().to_string(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            memory_bytes: physical_memory(),
            // What follows the number names the builder, not the kernel.
            kernel: kernel.trim().split('-').next().unwrap_or_default().to_string(),
        }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let memory = crate::size::show(self.memory_bytes);
        write!(f, "{} ({} cores, {memory}), Linux {}", self.cpu, self.cores, self.kernel)
    }
}

/// The bytes that [`MEMINFO`] has under `key`.
pub fn meminfo_bytes(meminfo: &str, key: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The bytes of memory that this process may still take: what the machine has available without swapping, or what the
/// process's control groups allow, if that is less.
pub fn available_memory() -> u64 {
    let meminfo = read_to_string(MEMINFO).unwrap_or_default();
    let machine = meminfo_bytes(&meminfo, "MemAvailable").unwrap_or_else(physical_memory);
    memory_limit().map_or(machine, |limit| machine.min(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_the_kernel_says() {
        let meminfo = "MemTotal:       8000000 kB\nMemAvailable:   7000000 kB\nHugePages_Total:       5\n";
        assert_eq!(meminfo_bytes(meminfo, "MemAvailable"), Some(7_000_000 << 10));
        assert_eq!(meminfo_bytes(meminfo, "Mem"), None);
        assert_eq!(meminfo_bytes(meminfo, "HugePages_Total"), None, "a number of pages");
        assert!((1 << 20..=physical_memory()).contains(&available_memory()));
    }
}
