//! Memory: the limit of this process, overcommit, and swap. A heap checks none of these: it uses only its own limit, if
//! it has one.

use super::cgroup::{Kind, Limits};
use super::finding::{Finding, Text};
use heapwood_report::machine::{MEMINFO, meminfo_bytes};
use heapwood_report::size::show;

pub(crate) const OVERCOMMIT: &str = "/proc/sys/vm/overcommit_memory";

pub(crate) fn memory(physical: u64, cgroup: &Limits) -> Finding {
    const NAME: &str = "memory";
    let machine = match physical {
        0 => "a machine of unknown memory".into(),
        _ => format!("{} in the machine", show(physical)),
    };
    if let Some(least) = cgroup.least.filter(|least| physical == 0 || least.bytes < physical) {
        let kind = match least.kind {
            Kind::Ends => "The kernel ends the program",
            Kind::Slows => "The kernel slows the program down and takes its pages away",
        };
        return Finding::warning(
            NAME,
            format!("{} ({} bytes, {}), {machine}", show(least.bytes), least.bytes, least.place()),
            format!("{kind} if it takes more than that. A heap uses only its own limit."),
            remedy(least.bytes),
        );
    }
    match &cgroup.unknown {
        Some(why) => Finding::note(
            NAME,
            format!("{machine}; whether a cgroup allows less is unknown: {why}"),
            "If it does, the kernel ends the program that takes more.",
            "Find out the container's limit, and give heaps a limit (--limit) below it.",
        ),
        None if physical == 0 => Finding::unknown(NAME, machine),
        None => Finding::ok(
            NAME,
            format!("{machine}, no lower cgroup limit"),
            "A heap may take all of it unless it has a limit.",
        ),
    }
}

/// The rest is for the program itself, the collector's tables, and pages that are not released yet.
fn remedy(bytes: u64) -> String {
    let three_quarters = bytes / 4 * 3;
    if three_quarters < heapwood::Config::MIN_LIMIT as u64 {
        return "Raise it: a heap does not fit.".into();
    }
    let limit = show(three_quarters).replace(' ', "");
    format!("Give heaps a limit below it, such as --limit {limit}, or raise it.")
}

pub(crate) fn overcommit(mode: &Text, meminfo: &Text) -> Finding {
    const NAME: &str = "overcommit";
    let text = match mode {
        Ok(text) => text,
        Err(why) => return Finding::unread(NAME, OVERCOMMIT, why),
    };
    match text.trim() {
        "0" => Finding::ok(
            NAME,
            "0 (heuristic)",
            "Reservations are free, and a commit is refused only if it alone exceeds the machine; when \
             memory runs out, the kernel ends a process.",
        ),
        "1" => Finding::note(
            NAME,
            "1 (always)",
            "The kernel refuses no commit: when memory runs out, a heap gets no error, and a process is \
             ended.",
            "Give heaps a limit (--limit) below what the machine has.",
        ),
        "2" => {
            let fields = meminfo.as_ref().ok().and_then(|text| {
                Some((meminfo_bytes(text, "Committed_AS")?, meminfo_bytes(text, "CommitLimit")?))
            });
            let found = match fields {
                Some((now, most)) => format!(
                    "2 (strict), {} of {} committed (Committed_AS of CommitLimit), {} left",
                    show(now),
                    show(most),
                    show(most.saturating_sub(now))
                ),
                None => format!("2 (strict), CommitLimit unknown: {MEMINFO} does not say"),
            };
            Finding::warning(
                NAME,
                found,
                "Reservations without access do not count, but commits do, used or not, and memory that a \
                 heap gives back counts on: once the limit is reached, a heap cannot grow.",
                "Give heaps a limit (--limit) below what is left, raise vm.overcommit_ratio, or as root: \
                 sysctl vm.overcommit_memory=0",
            )
        }
        _ => Finding::odd(NAME, OVERCOMMIT, text),
    }
}

pub(crate) fn swap(meminfo: &Text) -> Finding {
    const NAME: &str = "swap";
    let text = match meminfo {
        Ok(text) => text,
        Err(why) => return Finding::unread(NAME, MEMINFO, why),
    };
    match meminfo_bytes(text, "SwapTotal") {
        Some(0) => {
            Finding::ok(NAME, "none", "A heap is never swapped out: collections never wait for a disk.")
        }
        Some(bytes) => Finding::note(
            NAME,
            show(bytes),
            "A collection reads all live objects: if a part of the heap is swapped out, the program waits \
             for the disk.",
            "Give heaps a limit (--limit) that fits into memory, or set memory.swap.max of the cgroup to 0.",
        ),
        None => Finding::unknown(NAME, format!("{MEMINFO} has no SwapTotal")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::cgroup::Limit;
    use super::super::finding::State::*;
    use super::*;

    const MACHINE: u64 = 16 << 30;
    const MEMINFO_TEXT: &str = "MemTotal:       16777216 kB\nSwapTotal:             0 kB\nSwapFree:  0 kB\n\
        CommitLimit:    8388608 kB\nCommitted_AS:    2097152 kB\n";

    fn text(text: &str) -> Text {
        Result::Ok(text.into())
    }

    fn missing() -> Text {
        Err(std::io::ErrorKind::NotFound.into())
    }

    fn limited(bytes: u64, kind: Kind) -> Limits {
        Limits { least: Some(Limit { bytes, file: "memory.max", kind, above: false }), unknown: None }
    }

    #[test]
    fn every_overcommit_setting_is_judged() {
        let of = |mode: &str| overcommit(&text(mode), &text(MEMINFO_TEXT));
        assert_eq!((of("0\n").state, of("1\n").state, of("2\n").state), (Ok, Note, Warning));
        assert!(of("2").found.contains("2.0 GiB of 8.0 GiB committed"), "{}", of("2"));
        assert!(of("2").found.contains("6.0 GiB left"), "{}", of("2"));
        for odd in ["", "3", "two"] {
            assert_eq!(of(odd).state, Note, "{odd:?}");
        }
        assert_eq!(overcommit(&missing(), &text(MEMINFO_TEXT)).state, Note);
        for meminfo in [missing(), text(""), text("CommitLimit: 7 kB\nCommitted_AS: lots kB\n")] {
            let blind = overcommit(&text("2"), &meminfo);
            assert!(blind.state == Warning && blind.found.contains("unknown"), "{blind}");
        }
        let over = overcommit(&text("2"), &text("CommitLimit: 1 kB\nCommitted_AS: 2 kB\n"));
        assert!(over.found.contains("0 bytes left"), "{over}");
    }

    #[test]
    fn memory_is_the_least_of_machine_and_cgroup() {
        let free = memory(MACHINE, &Limits::default());
        assert!(free.state == Ok && free.found.contains("16.0 GiB"), "{free}");
        let less = memory(MACHINE, &limited(8 << 30, Kind::Ends));
        assert!(less.state == Warning && less.found.contains("8589934592 bytes"), "{less}");
        assert!(less.consequence.contains("ends"), "{less}");
        let remedy = less.remedy.unwrap();
        assert!(remedy.contains("--limit 6.0GiB"), "{remedy}");
        assert_eq!(heapwood_report::size::parse_size("6.0GiB"), Result::Ok(6 << 30));
        assert!(memory(MACHINE, &limited(8 << 30, Kind::Slows)).consequence.contains("slows"));
        assert_eq!(memory(MACHINE, &limited(32 << 30, Kind::Ends)).state, Ok);
        assert!(memory(MACHINE, &limited(0, Kind::Ends)).remedy.unwrap().contains("does not fit"));
        assert_eq!(memory(0, &limited(8 << 30, Kind::Ends)).state, Warning);
        assert_eq!(memory(0, &Limits::default()).state, Note);
        let hidden = memory(MACHINE, &Limits { least: None, unknown: Some("it is hidden".into()) });
        assert!(hidden.state == Note && hidden.found.contains("hidden"), "{hidden}");
    }

    #[test]
    fn swap_is_a_note() {
        assert_eq!(swap(&text(MEMINFO_TEXT)).state, Ok);
        let some = swap(&text("SwapTotal:       2097148 kB\n"));
        assert_eq!((some.state, some.found.as_str()), (Note, "2.0 GiB"));
        for odd in [missing(), text(""), text("SwapTotal: much"), text("SwapTotal: 99999999999999999999 kB")]
        {
            assert_eq!(swap(&odd).state, Note);
        }
    }
}
