//! Whether there is room for a workload, asked before it starts. Invariant: what is refused cannot be held even once, so
//! nothing is refused that could have run; what is let through may still meet a limit on the way.

use crate::args::Size;
use heapwood::Config;
use heapwood_os::process::usage::{address_space_limit, memory_limit, physical_memory};
use heapwood_report::CommandError;
use heapwood_report::size::show;
use heapwood_workloads::Workload;

/// What there is for a heap and everything beside it, in bytes.
#[derive(Clone, Copy, Debug)]
struct Room {
    machine: u64,
    /// What the control groups of this process allow, if that is less.
    cgroup: Option<u64>,
    /// `ulimit -v`.
    address_space: Option<u64>,
    /// The window that was asked for.
    reserve: Option<usize>,
}

/// Refuses what cannot be held here even once: by the machine, by the control groups of this process, or by a heap with
/// this window, or the usual one, in the address space of this process.
pub(crate) fn check_size(
    workload: &Workload,
    size: Size,
    reserve: Option<usize>,
) -> Result<(), CommandError> {
    let least = least_bytes(workload, size);
    let room = Room {
        machine: physical_memory(),
        cgroup: memory_limit(),
        address_space: address_space_limit(),
        reserve,
    };
    let Some(has) = room.lacks(least) else { return Ok(()) };
    let least = u64::try_from(least).map_or("more than 16 EiB".into(), show);
    let on = match whole(workload, size) {
        1 => String::new(),
        threads => format!(" on each of {threads} threads"),
    };
    Err(CommandError::run(format!(
        "{} with a {} of {}{on} would need {least} of memory, but {has}",
        workload.name, workload.n.unit, size.n
    )))
}

/// How many threads do the whole of it.
fn whole(workload: &Workload, size: Size) -> u32 {
    if workload.shared.is_some() { 1 } else { size.threads }
}

/// What is alive at once at the least.
fn least_bytes(workload: &Workload, size: Size) -> u128 {
    (workload.least_bytes)(size.n).saturating_mul(whole(workload, size).into())
}

impl Room {
    /// What there is instead of N bytes, if they do not fit.
    fn lacks(self, bytes: u128) -> Option<String> {
        let Room { machine, cgroup, address_space, reserve } = self;
        if bytes > u128::from(machine) {
            return Some(format!("this machine has {}", show(machine)));
        }
        if let Some(most) = cgroup.filter(|&most| bytes > u128::from(most)) {
            return Some(format!(
                "its memory cgroup allows {}, and the kernel would end it there: raise the limit (heapwood doctor says \
                 which file has it)",
                show(most)
            ));
        }
        match (reserve, address_space) {
            (Some(window), _) if bytes > window as u128 => {
                Some(format!("--address-space gives the heap {} of addresses: raise it", show(window as u64)))
            }
            (None, Some(most)) => {
                let window = Config::usual_window(Some(most), machine) as u64;
                (bytes > u128::from(window)).then(|| {
                    format!(
                        "a heap gets {} of address space here: raise `ulimit -v`, which is {}",
                        show(window),
                        show(most)
                    )
                })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;
    const FREE: Room = Room { machine: 16 * GIB, cgroup: None, address_space: None, reserve: None };

    /// What is said of N bytes.
    fn said(room: Room, bytes: u64) -> Option<String> {
        room.lacks(bytes.into())
    }

    #[test]
    fn what_threads_share_is_there_once() {
        let least =
            |workload: &str, threads| least_bytes(Workload::find(workload).unwrap(), Size { n: 20, threads });
        for (shared, alone) in [("trees-shared", "trees"), ("trees-arena", "trees")] {
            assert_eq!(least(shared, 8), least(alone, 1));
            assert_eq!(least(alone, 8), 8 * least(alone, 1));
        }
    }

    #[test]
    fn the_machine_is_the_last_word() {
        assert_eq!(said(FREE, 16 * GIB), None);
        assert!(said(FREE, 16 * GIB + 1).unwrap().contains("machine has 16.0 GiB"));
        assert!(FREE.lacks(u128::MAX).is_some());
    }

    #[test]
    fn a_cgroup_is_asked_beforehand() {
        let boxed = Room { cgroup: Some(64 << 20), ..FREE };
        assert_eq!(said(boxed, 64 << 20), None);
        let words = said(boxed, 112_000_000).unwrap();
        assert!(words.contains("cgroup allows 64.0 MiB") && words.contains("heapwood doctor"), "{words}");
        // One that allows more than there is says nothing.
        assert!(said(Room { cgroup: Some(u64::MAX), ..FREE }, 17 * GIB).unwrap().contains("machine"));
        assert!(said(Room { cgroup: Some(0), ..FREE }, 1).is_some());
    }

    #[test]
    fn addresses_are_counted() {
        let few = Room { address_space: Some(102_400_000), ..FREE };
        assert_eq!(said(few, 1 << 20), None);
        assert!(said(few, 156_000_000).unwrap().contains("raise `ulimit -v`"));
        let window = Room { reserve: Some(16 << 20), ..FREE };
        assert!(said(window, 17 << 20).unwrap().contains("--address-space gives the heap 16.0 MiB"));
        // What was asked for is what a heap asks the kernel for, whatever the ulimit.
        assert_eq!(said(Room { reserve: Some(64 << 20), ..few }, 60 << 20), None);
    }
}
