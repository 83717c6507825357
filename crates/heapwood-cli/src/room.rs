//! The check that a workload fits into memory, before it starts. Invariant: a workload is refused only if its live data
//! does not fit even once, so no workload is refused that could run. An accepted one may still meet a limit.

use crate::args::Size;
use heapwood::Config;
use heapwood_os::process::usage::{address_space_limit, memory_limit, physical_memory};
use heapwood_report::CommandError;
use heapwood_report::size::show;
use heapwood_workloads::Workload;

/// The memory for a heap and everything beside it, in bytes.
#[derive(Clone, Copy, Debug)]
struct Room {
    machine: u64,
    /// The limit of this process's control groups, if lower.
    cgroup: Option<u64>,
    /// `ulimit -v`.
    address_space: Option<u64>,
    /// The requested reservation.
    reserve: Option<usize>,
}

/// Refuses a workload whose live data does not fit: into the machine, the control groups of this process, or the
/// reservation of a heap, given or default, in this process's address space.
pub(crate) fn check_size(
    workload: &Workload,
    size: Size,
    reserve: Option<usize>,
) -> Result<(), CommandError> {
    let room = Room {
        machine: physical_memory(),
        cgroup: memory_limit(),
        address_space: address_space_limit(),
        reserve,
    };
    let least = least_bytes(workload, size);
    let Some(has) = room.lacks(least) else { return Ok(()) };
    let on = match whole(workload, size) {
        1 => String::new(),
        threads => format!(" on each of {threads} threads"),
    };
    let least = u64::try_from(least).map_or("more than 16 EiB".into(), show);
    Err(CommandError::run(format!(
        "{} with a {} of {}{on} would need {least} of memory, but {has}",
        workload.name, workload.n.unit, size.n
    )))
}

/// The threads that do the whole work.
fn whole(workload: &Workload, size: Size) -> u32 {
    if workload.shared.is_some() { 1 } else { size.threads }
}

/// The minimum of bytes alive at once.
fn least_bytes(workload: &Workload, size: Size) -> u128 {
    (workload.least_bytes)(size.n).saturating_mul(whole(workload, size).into())
}

impl Room {
    /// The limit that N bytes exceed, if any.
    fn lacks(self, bytes: u128) -> Option<String> {
        let Room { machine, cgroup, address_space, reserve } = self;
        if bytes > u128::from(machine) {
            return Some(format!("this machine has {}", show(machine)));
        }
        if let Some(most) = cgroup.filter(|&most| bytes > u128::from(most)) {
            return Some(format!(
                "its memory cgroup allows {}, and the kernel would end it there: raise the limit of that \
                 group, or of the one above it that has it",
                show(most)
            ));
        }
        match (reserve, address_space) {
            (Some(reservation), _) if bytes > reservation as u128 => Some(format!(
                "--address-space gives the heap {} of addresses: raise it",
                show(reservation as u64)
            )),
            (None, Some(most)) => {
                let reservation = Config::usual_reservation(Some(most), machine) as u64;
                (bytes > u128::from(reservation)).then(|| {
                    format!(
                        "a heap gets {} of address space here: raise `ulimit -v`, which is {}",
                        show(reservation),
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

    /// The message for N bytes.
    fn said(room: Room, bytes: u64) -> Option<String> {
        room.lacks(bytes.into())
    }

    #[test]
    fn shared_data_counts_once() {
        let least =
            |workload: &str, threads| least_bytes(Workload::find(workload).unwrap(), Size { n: 20, threads });
        for (shared, alone) in [("trees-shared", "trees"), ("trees-arena", "trees")] {
            assert_eq!(least(shared, 8), least(alone, 1));
            assert_eq!(least(alone, 8), 8 * least(alone, 1));
        }
    }

    #[test]
    fn the_machines_memory_refuses_a_workload() {
        assert_eq!(said(FREE, 16 * GIB), None);
        assert!(said(FREE, 16 * GIB + 1).unwrap().contains("machine has 16.0 GiB"));
        assert!(FREE.lacks(u128::MAX).is_some());
    }

    #[test]
    fn a_cgroup_limit_refuses_a_workload() {
        let boxed = Room { cgroup: Some(64 << 20), ..FREE };
        assert_eq!(said(boxed, 64 << 20), None);
        let words = said(boxed, 112_000_000).unwrap();
        assert!(words.contains("cgroup allows 64.0 MiB") && words.contains("raise the limit"), "{words}");
        // A limit above the machine's memory does not count.
        assert!(said(Room { cgroup: Some(u64::MAX), ..FREE }, 17 * GIB).unwrap().contains("machine"));
        assert!(said(Room { cgroup: Some(0), ..FREE }, 1).is_some());
    }

    #[test]
    fn a_small_address_space_refuses_a_workload() {
        let few = Room { address_space: Some(102_400_000), ..FREE };
        assert_eq!(said(few, 1 << 20), None);
        assert!(said(few, 156_000_000).unwrap().contains("raise `ulimit -v`"));
        let smallest = Room { reserve: Some(16 << 20), ..FREE };
        assert!(said(smallest, 17 << 20).unwrap().contains("--address-space gives the heap 16.0 MiB"));
        // A heap requests the given reservation, for any ulimit.
        assert_eq!(said(Room { reserve: Some(64 << 20), ..few }, 60 << 20), None);
    }
}
