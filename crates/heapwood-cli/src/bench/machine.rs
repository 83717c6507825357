//! What was measured on, as far as the kernel tells.

use serde::Serialize;
use std::fs::read_to_string;

/// A machine.
#[derive(Serialize, Clone, Debug)]
pub(crate) struct Machine {
    cpu: String,
    cores: usize,
    memory_bytes: u64,
    kernel: String,
}

impl Machine {
    pub(crate) fn this() -> Machine {
        let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Machine {
            cpu: model.map_or(std::env::consts::ARCH, |(_, name)| name).trim().to_string(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            memory_bytes: heapwood_os::usage::physical_memory(),
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
