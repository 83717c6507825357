//! The machine of a measurement, as the kernel reports it. Invariant: a file that cannot be read is no error.

use heapwood_os::process::usage::{memory_limit, physical_memory};
use serde::Serialize;
use std::fs::read_to_string;

/// The kernel's file with the sizes of memory.
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
    /// This machine.
    pub fn this() -> Machine {
        let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Machine {
            cpu: model.map_or(std::env::consts::ARCH, |(_, name)| name).trim().to_string(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            memory_bytes: physical_memory(),
            // The part after the number names the builder, not the kernel.
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

/// The bytes of memory that this process may still use: the machine's available memory without swapping, or the rest
/// of its control groups' limit, if that is less.
pub fn available_memory() -> u64 {
    let meminfo = read_to_string(MEMINFO).unwrap_or_default();
    let machine = meminfo_bytes(&meminfo, "MemAvailable").unwrap_or_else(physical_memory);
    memory_limit().map_or(machine, |limit| machine.min(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_the_kernels_number() {
        let meminfo = "MemTotal:       8000000 kB\nMemAvailable:   7000000 kB\nHugePages_Total:       5\n";
        assert_eq!(meminfo_bytes(meminfo, "MemAvailable"), Some(7_000_000 << 10));
        assert_eq!(meminfo_bytes(meminfo, "Mem"), None);
        assert_eq!(meminfo_bytes(meminfo, "HugePages_Total"), None, "a number of pages");
        assert!((1 << 20..=physical_memory()).contains(&available_memory()));
    }
}
