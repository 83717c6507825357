//! `heapwood doctor`: what this kernel and process allow, as far as it matters for a heap that reserves a
//! large range of addresses, commits it piece by piece, wants huge pages and gives memory back. This file
//! reads and tries; what that means is decided by functions from what was read to a finding, so that tests
//! can show them other machines. It reports and changes nothing; whatever it cannot find out is a finding,
//! too.
//!
//! | module | what it holds |
//! |---|---|
//! | `finding` | a finding, and its form for people and for machines |
//! | `huge_pages` | transparent huge pages: settings, and whether they come |
//! | `address_space` | ulimits, a large reservation, mappings |
//! | `memory` | how much there is, overcommit, swap |
//! | `cgroup` | the limits of control groups |
//! | `calls` | the kernel, its pages, and which of its calls work |

mod address_space;
mod calls;
mod cgroup;
mod finding;
mod huge_pages;
mod memory;

use crate::args::Doctor;
use crate::system::probe::{self, Advice};
use finding::{Finding, Text};
use heapwood_os::process::usage;
use heapwood_os::{Kernel, SYSTEM};
use heapwood_report::CommandError;
use heapwood_report::machine::MEMINFO;
use heapwood_report::output::json;
use heapwood_report::say;
use serde::Serialize;
use std::path::Path;

/// What was found, as `--json` prints it.
#[derive(Serialize)]
struct Report {
    findings: Vec<Finding>,
}

pub(crate) fn run(args: &Doctor) -> Result<(), CommandError> {
    let report = Report { findings: examine() };
    if args.json {
        json(&report)?;
    } else {
        for finding in &report.findings {
            say!("{finding}");
        }
    }
    Ok(())
}

fn examine() -> Vec<Finding> {
    let enabled = read(huge_pages::ENABLED);
    let meminfo = read(MEMINFO);
    let physical = usage::physical_memory();
    let cgroup = cgroup::limits(&read(cgroup::MEMBERSHIP), &read(cgroup::MOUNTS), |path| read(path));
    let address_limit = usage::address_space_limit();
    vec![
        calls::kernel(&read(calls::RELEASE)),
        calls::page_size(SYSTEM.page_size()),
        huge_pages::setting(&enabled),
        huge_pages::defrag(&read(huge_pages::DEFRAG)),
        huge_pages::size(&read(huge_pages::SIZE)),
        try_huge_pages(),
        huge_pages::khugepaged(&read(huge_pages::MAX_PTES_NONE), &enabled),
        memory::memory(physical, &cgroup),
        memory::overcommit(&read(memory::OVERCOMMIT), &meminfo),
        memory::swap(&meminfo),
        address_space::limit(address_limit, physical),
        address_space::reservation(&probe::reserve(address_space::TRIED), address_limit),
        address_space::data_limit(usage::data_limit()),
        address_space::mappings(&read(address_space::MAX_MAPPINGS), &read(address_space::MAPPINGS)),
        calls::give_back(&probe::given_back_reads_zero()),
        calls::free(&probe::takes(Advice::Free)),
        calls::collapse(&probe::takes(Advice::Collapse)),
        calls::populate(&probe::takes(Advice::PopulateWrite)),
        calls::barrier(&probe::private_expedited_barrier()),
    ]
}

/// The memory must still be there when the kernel's account of it is read.
fn try_huge_pages() -> Finding {
    let touched = probe::TouchProbe::new(huge_pages::TRIED);
    let range = touched.as_ref().map(|touched| touched.range()).map_err(|e| *e);
    huge_pages::tried(&range, &read(huge_pages::ACCOUNT), probe::huge_pages_forbidden())
}

/// Paths in /proc/self/maps need not be UTF-8.
fn read(path: impl AsRef<Path>) -> Text {
    std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_nothing_is_empty() {
        let findings = examine();
        for (i, finding) in findings.iter().enumerate() {
            assert!(findings[..i].iter().all(|other| other.name != finding.name), "{finding}");
            assert!(!finding.found.is_empty() && !finding.consequence.is_empty(), "{finding}");
        }
    }

    #[test]
    fn a_file_that_is_missing_is_an_error_and_no_panic() {
        assert!(read("/proc/self/no such file").is_err());
        assert!(read("/proc").is_err());
    }
}
