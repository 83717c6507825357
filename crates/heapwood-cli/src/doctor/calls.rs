//! The kernel, its page size, and trials of its calls. Releasing memory must work. The other calls are of newer
//! kernels, and a heap does not need them. A version is only named as a remedy.

use super::finding::{Finding, Text};
use heapwood_os::{LEAST_KERNEL_PAGE, MOST_KERNEL_PAGE, OsError};
use std::io;

pub(crate) const RELEASE: &str = "/proc/sys/kernel/osrelease";

pub(crate) fn kernel(release: &Text) -> Finding {
    const NAME: &str = "kernel";
    let text = match release {
        Ok(text) => text,
        Err(why) => return Finding::unread(NAME, RELEASE, why),
    };
    // The rest after the number names the distribution.
    let number = text.trim().split('-').next().unwrap_or_default();
    let dotted = number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.');
    if !dotted {
        return Finding::odd(NAME, RELEASE, text);
    }
    Finding::ok(NAME, format!("Linux {number}"), "Its calls are tried below.")
}

pub(crate) fn page_size(bytes: usize) -> Finding {
    const NAME: &str = "page size";
    let found = format!("{bytes} bytes");
    match bytes {
        LEAST_KERNEL_PAGE => Finding::ok(NAME, found, "Heaps are built for it."),
        ..=MOST_KERNEL_PAGE => Finding::note(
            NAME,
            found,
            "Heaps work, but release memory only in units of that size, and zero smaller parts.",
            "Nothing needs to be set; a kernel with pages of 4 KiB (on aarch64 it is a choice at build time) needs \
             less memory.",
        ),
        _ => Finding::warning(
            NAME,
            found,
            format!("Heaps work with pages of up to {MOST_KERNEL_PAGE} bytes: none can be made here."),
            "Use a kernel with smaller pages (it is a choice at build time).",
        ),
    }
}

pub(crate) fn give_back(reads_zero: &Result<bool, OsError>) -> Finding {
    const NAME: &str = "MADV_DONTNEED";
    match reads_zero {
        Ok(true) => Finding::ok(NAME, "works", "Released memory reads as zeros, which heaps rely on."),
        Ok(false) => Finding::warning(
            NAME,
            "leaves contents in place",
            "Heaps rely on zeros in released memory: they will break.",
            "Do not use Heapwood here: this system does not behave as Linux does.",
        ),
        Err(why) => Finding::warning(
            NAME,
            format!("could not be tried: {why}"),
            "Heaps commit and release memory in the same way.",
            "Raise the limits that are named above.",
        ),
    }
}

pub(crate) fn free(outcome: &io::Result<()>) -> Finding {
    offered(
        "MADV_FREE",
        outcome,
        "Heaps do not need it: they release memory by MADV_DONTNEED.",
        "Nothing: heaps release memory by MADV_DONTNEED.",
        "4.5",
    )
}

pub(crate) fn collapse(outcome: &io::Result<()>) -> Finding {
    offered(
        "MADV_COLLAPSE",
        outcome,
        "Huge pages can be requested at any time; heaps do not need it.",
        "Huge pages come only by page faults and khugepaged, which is enough for heaps.",
        "6.1, if transparent huge pages are built in and allowed",
    )
}

pub(crate) fn populate(outcome: &io::Result<()>) -> Finding {
    offered(
        "MADV_POPULATE_WRITE",
        outcome,
        "Memory can be made resident before it is touched; heaps do not need it.",
        "Memory becomes resident when it is touched, which is enough for heaps.",
        "5.14",
    )
}

/// A call that Linux has since some version, and the consequences with and without it.
fn offered(name: &'static str, outcome: &io::Result<()>, works: &str, without: &str, since: &str) -> Finding {
    match outcome {
        Ok(()) => Finding::ok(name, "works", works),
        Err(why) => {
            let remedy = format!("Nothing needs to be set; Linux has it since {since}.");
            Finding::note(name, refused(why), without, remedy)
        }
    }
}

pub(crate) fn barrier(available: &io::Result<bool>) -> Finding {
    const NAME: &str = "membarrier";
    let note = |found: String| {
        Finding::note(
            NAME,
            found,
            "Nothing yet: heaps stop threads by a flag that these poll.",
            "Nothing needs to be set; Linux has it since 4.14, unless a sandbox forbids it.",
        )
    };
    match available {
        Ok(true) => Finding::ok(
            NAME,
            "private expedited",
            "Heaps do not need it: they stop threads by a flag that these poll.",
        ),
        Ok(false) => note("without private expedited".into()),
        Err(why) => note(refused(why)),
    }
}

fn refused(why: &io::Error) -> String {
    format!("refused ({why})")
}

#[cfg(test)]
mod tests {
    use super::super::finding::State::*;
    use super::*;

    #[test]
    fn kernel_releases_are_parsed() {
        let of = |text: &str| kernel(&Result::Ok(text.into()));
        assert_eq!(of("6.8.0-45-generic\n").found, "Linux 6.8.0");
        assert_eq!(
            (of("6.8.0").state, of("").state, of("-").state, of("beta").state),
            (Ok, Note, Note, Note)
        );
        assert_eq!(kernel(&Err(io::ErrorKind::NotFound.into())).state, Note);
    }

    #[test]
    fn only_the_smallest_page_size_is_ok() {
        assert_eq!(
            (page_size(4096).state, page_size(65536).state, page_size(1 << 18).state),
            (Ok, Note, Warning)
        );
        assert!(page_size(16384).found.contains("16384"));
    }

    #[test]
    fn released_memory_that_keeps_its_contents_is_a_warning() {
        let refused = OsError::new(heapwood_os::Request::Commit, 1, 12);
        assert_eq!(give_back(&Result::Ok(true)).state, Ok);
        assert_eq!(give_back(&Result::Ok(false)).state, Warning);
        assert_eq!(give_back(&Err(refused)).state, Warning);
    }

    #[test]
    fn missing_calls_of_newer_kernels_are_notes() {
        for finding in [free, collapse, populate] {
            assert_eq!(finding(&Result::Ok(())).state, Ok);
            let old = finding(&Err(io::Error::from_raw_os_error(22)));
            assert_eq!(old.state, Note);
            assert!(old.found.contains("Invalid argument"), "{old}");
        }
        assert_eq!(barrier(&Result::Ok(true)).state, Ok);
        assert_eq!(barrier(&Result::Ok(false)).state, Note);
        assert_eq!(barrier(&Err(io::Error::from_raw_os_error(38))).state, Note);
    }
}
