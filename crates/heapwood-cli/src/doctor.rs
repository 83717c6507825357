//! `heapwood doctor`: the limits of this kernel and process that matter for a heap, which reserves a large range of
//! addresses, commits it in steps, wants huge pages and releases memory. [`examine`] asks the system. Pure functions turn
//! the answers into findings, so that tests can show them other machines. The command only reports. Something that it
//! cannot find out is a finding, too. A finding that is not `ok` has a remedy.

use crate::args::Doctor;
use heapwood::Config;
use heapwood_os::process::usage;
use heapwood_os::{HUGE_PAGE, Kernel, LEAST_KERNEL_PAGE, MOST_KERNEL_PAGE, OsError, Reservation, SYSTEM};
use heapwood_report::CommandError;
use heapwood_report::output::json;
use heapwood_report::say;
use heapwood_report::size::show;
use serde::Serialize;
use std::fmt;

/// The importance of a finding for a heap.
#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum State {
    /// As a heap needs it.
    Ok,
    /// Another setting may be better, or it is unknown.
    Note,
    /// It costs time or memory, or may end the program.
    Warning,
}

/// One thing found.
#[derive(Serialize, Clone, Debug)]
struct Finding {
    name: &'static str,
    state: State,
    found: String,
    /// The consequence for a heap.
    consequence: String,
    /// What to set. `null` where nothing needs to be.
    remedy: Option<String>,
}

/// The findings, as `--json` prints them.
#[derive(Serialize)]
struct Report {
    findings: Vec<Finding>,
}

pub(crate) fn run(args: &Doctor) -> Result<(), CommandError> {
    let report = Report { findings: examine() };
    if args.json {
        return json(&report);
    }
    report.findings.iter().for_each(|finding| say!("{finding}"));
    Ok(())
}

const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const MAX_PTES_NONE: &str = "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none";
const OVERCOMMIT: &str = "/proc/sys/vm/overcommit_memory";

fn examine() -> Vec<Finding> {
    let read = |path: &str| std::fs::read_to_string(path).map_err(|e| format!("{path} cannot be read ({e})"));
    let physical = usage::physical_memory();
    vec![
        page_size(SYSTEM.page_size()),
        huge_pages(read(ENABLED), huge_pages_forbidden()),
        khugepaged(read(MAX_PTES_NONE)),
        released(released_reads_zero()),
        memory(physical, usage::memory_limit()),
        overcommit(read(OVERCOMMIT)),
        address_space(usage::address_space_limit(), physical),
        data(usage::data_limit()),
    ]
}

impl Finding {
    fn ok(name: &'static str, found: impl Into<String>, consequence: &str) -> Finding {
        let (found, consequence) = (found.into(), consequence.into());
        Finding { name, state: State::Ok, found, consequence, remedy: None }
    }

    fn note(name: &'static str, found: impl Into<String>, consequence: &str, remedy: &str) -> Finding {
        Finding { state: State::Note, remedy: Some(remedy.into()), ..Finding::ok(name, found, consequence) }
    }

    fn warning(name: &'static str, found: impl Into<String>, consequence: &str, remedy: &str) -> Finding {
        Finding { state: State::Warning, ..Finding::note(name, found, consequence, remedy) }
    }

    fn unknown(name: &'static str, why: String) -> Finding {
        Finding::note(
            name,
            format!("unknown: {why}"),
            "The consequence for a heap is unknown, too.",
            "If a container or sandbox hides it, run `heapwood doctor` outside as well.",
        )
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.state {
            State::Ok => "ok",
            State::Note => "note",
            State::Warning => "warning",
        };
        write!(f, "{mark:<9}{}: {}", self.name, self.found)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\n{:9}{} {remedy}", "", self.consequence),
            None => Ok(()),
        }
    }
}

/// The text of a file, or why there is none.
type Text = Result<String, String>;

fn page_size(bytes: usize) -> Finding {
    const NAME: &str = "page size";
    let found = format!("{bytes} bytes");
    match bytes {
        LEAST_KERNEL_PAGE => Finding::ok(NAME, found, "Heaps are built for it."),
        ..=MOST_KERNEL_PAGE => Finding::note(
            NAME,
            found,
            "Heaps work, but release memory only in units of that size, and get huge pages late or not at all.",
            "Nothing needs to be set; a kernel with pages of 4 KiB (on aarch64 it is a choice at build time) needs \
             less memory.",
        ),
        _ => Finding::warning(
            NAME,
            found,
            "No heap can be made: its pages are too large.",
            "Use a kernel with pages of 4 to 64 KiB (it is a choice at build time).",
        ),
    }
}

/// Heaps ask for huge pages by madvise. The file has all modes, with the one that is set in brackets.
fn huge_pages(enabled: Text, forbidden: bool) -> Finding {
    const NAME: &str = "transparent huge pages";
    const SMALL: &str = "Heaps lie in pages of 4 KiB: more page faults, and slower marking of large heaps.";
    let mode = match enabled {
        Ok(text) => text,
        Err(why) => return Finding::unknown(NAME, why),
    };
    match mode.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        _ if forbidden => {
            let remedy = "A parent process set PR_SET_THP_DISABLE: start the program without it.";
            Finding::warning(NAME, "forbidden to this process", SMALL, remedy)
        }
        Some((mode @ ("always" | "madvise"), _)) => {
            Finding::ok(NAME, mode, "Heaps ask for them and get them.")
        }
        Some(("never", _)) => {
            Finding::warning(NAME, "never", SMALL, &format!("As root: echo madvise > {ENABLED}"))
        }
        _ => Finding::unknown(NAME, format!("{ENABLED} says {:?}", mode.trim())),
    }
}

/// Go met khugepaged's filling of holes in golang/go#55328 and golang/go#64332.
fn khugepaged(max_ptes_none: Text) -> Finding {
    const NAME: &str = "khugepaged max_ptes_none";
    match max_ptes_none.as_ref().map(|text| text.trim()) {
        Err(why) => Finding::unknown(NAME, why.clone()),
        Ok("0") => Finding::ok(NAME, "0", "Memory that a heap releases stays released."),
        Ok(most) => Finding::note(
            NAME,
            most,
            "Memory that a heap releases may become resident again, as a part of huge pages (golang/go#64332).",
            &format!("If resident memory grows again by itself, as root: echo 0 > {MAX_PTES_NONE}"),
        ),
    }
}

fn released(reads_zero: Result<bool, OsError>) -> Finding {
    const NAME: &str = "released memory";
    match reads_zero {
        Ok(true) => Finding::ok(NAME, "reads as zeros", "Heaps rely on that."),
        Ok(false) => Finding::warning(
            NAME,
            "keeps its contents",
            "Heaps rely on zeros in released memory: they will break.",
            "Do not use Heapwood here: this system does not behave as Linux does.",
        ),
        Err(why) => Finding::warning(
            NAME,
            format!("could not be tried: {why}"),
            "Heaps commit and release memory in the same way.",
            "Raise the limits that are named below.",
        ),
    }
}

fn memory(physical: u64, limit: Option<u64>) -> Finding {
    const NAME: &str = "memory";
    let machine = format!("{} in the machine", show(physical));
    let Some(limit) = limit.filter(|&limit| limit < physical) else {
        let found = format!("{machine}, no lower cgroup limit");
        return Finding::ok(NAME, found, "A heap may take all of it unless it has a limit.");
    };
    // The rest is for the program itself, the collector's tables, and pages that are not released yet.
    let below = limit / 4 * 3;
    let remedy = match below < Config::MIN_LIMIT as u64 {
        true => "Raise it: a heap does not fit.".into(),
        false => {
            let below = show(below).replace(' ', "");
            format!("Give heaps a limit below it, such as --limit {below}, or raise it.")
        }
    };
    Finding::warning(
        NAME,
        format!("{} ({limit} bytes) by the cgroup, {machine}", show(limit)),
        "The kernel ends the program if it takes more than that. A heap uses only its own limit.",
        &remedy,
    )
}

fn overcommit(mode: Text) -> Finding {
    const NAME: &str = "overcommit";
    match mode.as_ref().map(|text| text.trim()) {
        Err(why) => Finding::unknown(NAME, why.clone()),
        Ok("0") => Finding::ok(NAME, "0 (heuristic)", "Reservations are free."),
        Ok("1") => Finding::note(
            NAME,
            "1 (always)",
            "The kernel refuses no commit: when memory runs out, a heap gets no error, and a process is ended.",
            "Give heaps a limit (--limit) below what the machine has.",
        ),
        Ok("2") => Finding::warning(
            NAME,
            "2 (strict)",
            "Reservations without access do not count, but commits do, used or not, and memory that a heap gives back \
             counts on: at CommitLimit of /proc/meminfo a heap cannot grow.",
            "Give heaps a limit (--limit) below what is left, raise vm.overcommit_ratio, or as root: sysctl \
             vm.overcommit_memory=0",
        ),
        Ok(other) => Finding::unknown(NAME, format!("{OVERCOMMIT} says {other:?}")),
    }
}

fn address_space(limit: Option<u64>, physical: u64) -> Finding {
    const NAME: &str = "address space limit";
    let Some(bytes) = limit else { return Finding::ok(NAME, "none", "Reservations are not limited.") };
    let found = format!("{bytes} bytes ({}, ulimit -v)", show(bytes));
    let reservation = |limit| Config::usual_reservation(limit, physical);
    if reservation(limit) >= reservation(None) {
        return Finding::ok(NAME, found, "A heap has as many addresses as without it.");
    }
    Finding::warning(
        NAME,
        found,
        &format!("A heap cannot grow beyond what the program leaves of {}.", show(bytes)),
        "Before the program starts: ulimit -v unlimited (the hard limit, too, if that is refused); limit \
         memory by --limit or a cgroup instead.",
    )
}

fn data(limit: Option<u64>) -> Finding {
    const NAME: &str = "data limit";
    match limit {
        None => Finding::ok(NAME, "none", "Commits are not counted against a ulimit."),
        Some(bytes) => Finding::warning(
            NAME,
            format!("{bytes} bytes ({}, ulimit -d)", show(bytes)),
            "Reservations do not count, but commits do: a heap cannot grow beyond it, together with \
             everything else that the program writes to.",
            "Before the program starts: ulimit -d unlimited; limit the heap by --limit instead.",
        ),
    }
}

/// Whether huge pages are disabled for this process, also for memory with madvise (PR_SET_THP_DISABLE, which is inherited).
fn huge_pages_forbidden() -> bool {
    const PR_GET_THP_DISABLE: i32 = 42;
    /// With the bit for "disabled", since Linux 6.18.
    const EXCEPT_ADVISED: i32 = 1 << 1;
    const NONE: libc::c_ulong = 0;
    // SAFETY: this prctl reads a flag; all its other arguments must be zero.
    let flags = unsafe { libc::prctl(PR_GET_THP_DISABLE, NONE, NONE, NONE, NONE) };
    flags > 0 && flags & EXCEPT_ADVISED == 0
}

/// Whether memory that was written to and released reads as zeros.
fn released_reads_zero() -> Result<bool, OsError> {
    let memory = Reservation::new(&SYSTEM, HUGE_PAGE, HUGE_PAGE)?;
    memory.commit(0..memory.len())?;
    let offsets = || (0..memory.len()).step_by(SYSTEM.page_size());
    let at = |offset| (memory.start() + offset) as *mut u8;
    // SAFETY: the range was committed just above, and is not shared.
    offsets().for_each(|offset| unsafe { at(offset).write_volatile(7) });
    // SAFETY: it was committed just above, and its contents are not needed.
    unsafe { memory.decommit(0..memory.len()) }?;
    // SAFETY: the range stays committed.
    Ok(offsets().all(|offset| unsafe { at(offset).read_volatile() } == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn text(text: &str) -> Text {
        Ok(text.into())
    }

    /// Other machines, with the state of their finding and words of its text.
    #[test]
    fn other_machines_are_told_of() {
        let refused = OsError::new(heapwood_os::Request::Commit, HUGE_PAGE, libc::ENOMEM);
        for (finding, state, words) in [
            (page_size(4096), State::Ok, "4096 bytes"),
            (page_size(16384), State::Note, "units of that size"),
            (page_size(1 << 20), State::Warning, "No heap can be made"),
            (huge_pages(text("always [madvise] never\n"), false), State::Ok, "madvise"),
            (huge_pages(text("[always] madvise never\n"), true), State::Warning, "PR_SET_THP_DISABLE"),
            (huge_pages(text("always madvise [never]\n"), false), State::Warning, "echo madvise > /sys"),
            (huge_pages(text("on"), false), State::Note, "says \"on\""),
            (huge_pages(Err("hidden".into()), false), State::Note, "unknown: hidden"),
            (khugepaged(text("0\n")), State::Ok, "0"),
            (khugepaged(text("511\n")), State::Note, "echo 0 > /sys"),
            (released(Ok(true)), State::Ok, "zeros"),
            (released(Ok(false)), State::Warning, "will break"),
            (released(Err(refused)), State::Warning, "could not be tried"),
            (memory(8 * GIB, None), State::Ok, "8.0 GiB in the machine, no lower cgroup limit"),
            (memory(8 * GIB, Some(9 * GIB)), State::Ok, "no lower"),
            (memory(8 * GIB, Some(GIB)), State::Warning, "--limit 768.0MiB"),
            (memory(8 * GIB, Some(4 << 20)), State::Warning, "does not fit"),
            (overcommit(text("0\n")), State::Ok, "heuristic"),
            (overcommit(text("1\n")), State::Note, "refuses no commit"),
            (overcommit(text("2\n")), State::Warning, "CommitLimit"),
            (overcommit(text("3\n")), State::Note, "says \"3\""),
            (address_space(None, GIB), State::Ok, "none"),
            (address_space(Some(1 << 50), GIB), State::Ok, "as without it"),
            (address_space(Some(100 << 20), GIB), State::Warning, "104857600 bytes"),
            (data(None), State::Ok, "none"),
            (data(Some(3000 << 10)), State::Warning, "3072000 bytes"),
        ] {
            let said = finding.to_string();
            assert!(
                finding.state == state && (said.clone() + &finding.consequence).contains(words),
                "{words}: {said}"
            );
            assert_eq!(finding.remedy.is_none(), state == State::Ok, "{said}");
        }
    }

    #[test]
    fn this_machine_is_examined() {
        let findings = examine();
        assert_eq!(findings.len(), 8);
        assert_eq!(released_reads_zero(), Ok(true));
    }
}
