//! Transparent huge pages: the settings, a trial, and whether khugepaged undoes releases. A heap requests them by
//! madvise, so the settings for other memory do not matter here. The settings are described in the kernel's admin guide
//! (transhuge). Go met khugepaged's filling of holes in golang/go#55328 and golang/go#64332, and stalls by compaction
//! in golang/go#61718.

use super::finding::{Finding, Text};
use heapwood_os::{HUGE_PAGE, OsError};
use heapwood_report::size::show;
use std::ops::Range;

pub(crate) const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
pub(crate) const DEFRAG: &str = "/sys/kernel/mm/transparent_hugepage/defrag";
pub(crate) const SIZE: &str = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
pub(crate) const MAX_PTES_NONE: &str = "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none";
pub(crate) const ACCOUNT: &str = "/proc/self/smaps";

/// The memory of the trial.
pub(crate) const TRIED: usize = 2 * HUGE_PAGE;

/// The word that is set: `always [madvise] never`.
fn chosen(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word)
}

pub(crate) fn setting(enabled: &Text) -> Finding {
    const NAME: &str = "transparent huge pages";
    let text = match enabled {
        Ok(text) => text,
        Err(why) => {
            return Finding::note(
                NAME,
                format!("unknown: {ENABLED} cannot be read ({why})"),
                "Either the kernel has none, and a heap takes more page faults and misses of the TLB, or its \
                 settings are hidden; a trial is below.",
                "If a container or sandbox hides them, run `heapwood doctor` outside as well.",
            );
        }
    };
    match chosen(text) {
        Some("always") => Finding::ok(NAME, "always", "Heaps get them, and so does all other memory."),
        Some("madvise") => Finding::ok(NAME, "madvise", "Heaps ask for them and get them."),
        Some("never") => Finding::warning(
            NAME,
            "never",
            "Heaps lie in pages of 4 KiB: more page faults, and slower marking of large heaps.",
            format!("As root: echo madvise > {ENABLED}"),
        ),
        _ => Finding::odd(NAME, ENABLED, text),
    }
}

pub(crate) fn defrag(defrag: &Text) -> Finding {
    const NAME: &str = "huge page defrag";
    let text = match defrag {
        Ok(text) => text,
        Err(why) => return Finding::unread(NAME, DEFRAG, why),
    };
    match chosen(text) {
        Some(word @ ("always" | "madvise" | "defer+madvise")) => Finding::ok(
            NAME,
            word,
            "A heap's page fault compacts memory if no huge page is free; on a full machine that may take \
             long.",
        ),
        Some("defer") => Finding::note(
            NAME,
            "defer",
            "If no huge page is free when a heap grows, it gets small pages, and huge ones only later.",
            format!("If that matters, as root: echo defer+madvise > {DEFRAG}"),
        ),
        Some("never") => Finding::note(
            NAME,
            "never",
            "If no huge page is free when a heap grows, it gets small pages, and the kernel makes no room for \
             huge ones.",
            format!("If that matters, as root: echo defer+madvise > {DEFRAG}"),
        ),
        _ => Finding::odd(NAME, DEFRAG, text),
    }
}

pub(crate) fn size(size: &Text) -> Finding {
    const NAME: &str = "huge page size";
    let text = match size {
        Ok(text) => text,
        Err(why) => return Finding::unread(NAME, SIZE, why),
    };
    match text.trim().parse::<u64>() {
        Ok(bytes) if bytes == HUGE_PAGE as u64 => {
            Finding::ok(NAME, show(bytes), "Heaps are aligned to it and grow by whole ones.")
        }
        Ok(bytes) => Finding::note(
            NAME,
            show(bytes),
            format!(
                "Heaps are aligned to {} and grow in steps of it: huge pages come late or not at all.",
                show(HUGE_PAGE as u64)
            ),
            "Use a kernel with pages of 4 KiB; its huge pages have 2 MiB.",
        ),
        Err(_) => Finding::odd(NAME, SIZE, text),
    }
}

/// The trial: whether memory that requested huge pages got them. `touched` is its range, `smaps` the kernel's account.
pub(crate) fn tried(touched: &Result<Range<usize>, OsError>, smaps: &Text, forbidden: bool) -> Finding {
    const NAME: &str = "huge pages, tried";
    let range = match touched {
        Ok(range) => range,
        Err(why) => {
            return Finding::warning(
                NAME,
                format!("not tried: {why}"),
                "A heap needs at least that much.",
                "Raise the limits that are named below.",
            );
        }
    };
    let smaps = match smaps {
        Ok(smaps) => smaps,
        Err(why) => return Finding::unread(NAME, ACCOUNT, why),
    };
    let Some(huge) = huge_bytes(smaps, range) else {
        return Finding::unknown(NAME, format!("{ACCOUNT} does not have the mapping"));
    };
    let (huge, asked) = (huge.min(range.len() as u64), range.len() as u64);
    let found = format!("{} of {} touched", show(huge), show(asked));
    match huge {
        0 if forbidden => Finding::warning(
            NAME,
            format!("{found}: forbidden to this process"),
            "Heaps lie in pages of 4 KiB: more page faults, and slower marking of large heaps.",
            "A parent process set PR_SET_THP_DISABLE: start the program without it.",
        ),
        0 => Finding::warning(
            NAME,
            found,
            "Heaps lie in pages of 4 KiB: more page faults, and slower marking of large heaps.",
            "See the settings above, and hugepages-2048kB/enabled beside them, which must not be never; if \
             they allow it, no huge page was free: as root, echo 1 > /proc/sys/vm/compact_memory",
        ),
        _ if huge < asked => Finding::note(
            NAME,
            found,
            "Memory is fragmented: a part of a heap lies in pages of 4 KiB.",
            "Free memory, or as root: echo 1 > /proc/sys/vm/compact_memory",
        ),
        _ => Finding::ok(NAME, found, "Heaps get huge pages."),
    }
}

/// The bytes in anonymous huge pages of all mappings that overlap `range`. `None` if unknown.
fn huge_bytes(smaps: &str, range: &Range<usize>) -> Option<u64> {
    let (mut inside, mut sum) = (false, None);
    for line in smaps.lines() {
        if let Some(mapping) = addresses(line) {
            inside = mapping.start < range.end && range.start < mapping.end;
        } else if let Some(rest) = line.strip_prefix("AnonHugePages:")
            && inside
        {
            let kib = rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?;
            sum = Some(kib.saturating_mul(1024).saturating_add(sum.unwrap_or(0)));
        }
    }
    sum
}

/// `7f5c2a600000-7f5c2aa00000 rw-p ..`
fn addresses(line: &str) -> Option<Range<usize>> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
}

pub(crate) fn khugepaged(max_ptes_none: &Text, enabled: &Text) -> Finding {
    const NAME: &str = "khugepaged max_ptes_none";
    let text = match max_ptes_none {
        Ok(text) => text,
        Err(why) => return Finding::unread(NAME, MAX_PTES_NONE, why),
    };
    let Ok(most) = text.trim().parse::<u32>() else {
        return Finding::odd(NAME, MAX_PTES_NONE, text);
    };
    let mode = enabled.as_ref().ok().and_then(|text| chosen(text));
    match (most, mode) {
        (0, _) => Finding::ok(NAME, "0", "Memory that a heap releases stays released."),
        (_, Some("never")) => Finding::ok(
            NAME,
            format!("{most}, but huge pages are off"),
            "Memory that a heap releases stays released.",
        ),
        _ => {
            // With mode always, not requesting huge pages has no effect.
            let without =
                if mode == Some("madvise") { " make heaps that do not ask for huge pages, or" } else { "" };
            Finding::note(
                NAME,
                most.to_string(),
                format!(
                    "Memory that a heap releases may become resident again: khugepaged makes huge pages of ranges of \
                     which up to {most} small pages are not there (golang/go#64332)."
                ),
                format!(
                    "If resident memory grows again by itself,{without} as root: echo 0 > {MAX_PTES_NONE}"
                ),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State::{self, *};
    use super::*;

    fn text(text: &str) -> Text {
        Result::Ok(text.into())
    }

    fn missing() -> Text {
        Err(std::io::ErrorKind::NotFound.into())
    }

    #[test]
    fn every_huge_page_setting_is_judged() {
        for (enabled, state, found) in [
            ("[always] madvise never\n", Ok, "always"),
            ("always [madvise] never\n", Ok, "madvise"),
            ("always madvise [never]\n", Warning, "never"),
            ("always madvise never\n", Note, "unknown"),
            ("", Note, "unknown"),
            ("]always[", Note, "unknown"),
        ] {
            let finding = setting(&text(enabled));
            assert_eq!(finding.state, state, "{enabled:?}");
            assert!(finding.found.starts_with(found), "{enabled:?}: {finding}");
        }
        let finding = setting(&missing());
        assert_eq!(finding.state, Note);
        assert!(finding.found.contains(ENABLED), "{finding}");
        let never = setting(&text("always madvise [never]"));
        assert_eq!(never.remedy.as_deref(), Some(&*format!("As root: echo madvise > {ENABLED}")));
    }

    #[test]
    fn every_defrag_setting_is_judged() {
        let all = ["always", "defer", "defer+madvise", "madvise", "never"];
        for (word, state) in all.iter().zip([Ok, Note, Ok, Ok, Note]) {
            let line = all.join(" ").replace(&format!(" {word} "), &format!(" [{word}] "));
            let line = match *word {
                "always" => line.replacen("always", "[always]", 1),
                "never" => line.replacen("never", "[never]", 1),
                _ => line,
            };
            let finding = defrag(&text(&line));
            assert_eq!((finding.state, finding.found.as_str()), (state, *word), "{line}");
        }
        assert_eq!(defrag(&missing()).state, Note);
        assert_eq!(defrag(&text("yes")).state, Note);
    }

    #[test]
    fn other_huge_page_sizes_are_notes() {
        assert_eq!(size(&text("2097152\n")).state, Ok);
        let big = size(&text("536870912\n"));
        assert_eq!((big.state, big.found.as_str()), (Note, "512.0 MiB"));
        assert_eq!(size(&text("-1")).state, Note);
        assert_eq!(size(&missing()).state, Note);
    }

    #[test]
    fn khugepaged_matters_where_huge_pages_are_on() {
        let of = |most: &str, enabled: &str| khugepaged(&text(most), &text(enabled));
        assert_eq!(of("0\n", "[always] madvise never").state, Ok);
        assert_eq!(of("511\n", "always madvise [never]").state, Ok);
        let asked = of("511\n", "always [madvise] never");
        assert_eq!(asked.state, Note);
        assert!(asked.consequence.contains("511"), "{asked}");
        assert!(asked.remedy.unwrap().contains("do not ask"));
        let always = of("64\n", "[always] madvise never");
        assert!(!always.remedy.unwrap().contains("do not ask"));
        assert_eq!(khugepaged(&text("511"), &missing()).state, Note);
        assert_eq!(khugepaged(&missing(), &missing()).state, Note);
        assert_eq!(of("many", "[always]").state, Note);
    }

    const SMAPS: &str = "\
55d0c0000000-55d0c0200000 rw-p 00000000 00:00 0                          [heap]
Size:               2048 kB
AnonHugePages:      2048 kB
7f0000200000-7f0000600000 rw-p 00000000 00:00 0
Size:               4096 kB
AnonHugePages:      @ kB
VmFlags: rd wr mr mw me ac sd hg
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
Size:                  4 kB
AnonHugePages:         0 kB
";

    fn outcome(kib: &str, forbidden: bool) -> (State, String) {
        let range = 0x7f0000200000..0x7f0000600000;
        let finding = tried(&Result::Ok(range), &text(&SMAPS.replace('@', kib)), forbidden);
        (finding.state, finding.to_string())
    }

    #[test]
    fn missing_huge_pages_are_a_warning() {
        assert_eq!(outcome("4096", false).0, Ok);
        assert_eq!(outcome("2048", false).0, Note);
        let (state, none) = outcome("0", false);
        assert!(state == Warning && none.contains("compact_memory"), "{none}");
        let (state, none) = outcome("0", true);
        assert!(state == Warning && none.contains("PR_SET_THP_DISABLE"), "{none}");
        assert_eq!(outcome("99999999999999999999", false).0, Note);
        assert_eq!(outcome("18446744073709551615", false).0, Ok);
        assert_eq!(outcome("all", false).0, Note);
    }

    #[test]
    fn unknown_huge_pages_are_notes() {
        let here = Result::Ok(0x1000..0x2000);
        assert_eq!(tried(&here, &missing(), false).state, Note);
        assert_eq!(tried(&here, &text(SMAPS), false).state, Note, "the mapping is not in the account");
        assert_eq!(tried(&here, &text(""), false).state, Note);
        let refused = OsError::new(heapwood_os::Request::Commit, TRIED, 12);
        let finding = tried(&Err(refused), &text(SMAPS), false);
        assert_eq!(finding.state, Warning);
        assert!(finding.found.contains("commit"), "{finding}");
    }
}
