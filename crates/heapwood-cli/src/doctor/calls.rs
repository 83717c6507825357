//! The kernel, its pages, and which of its calls work: giving memory back must; the rest is what newer
//! kernels offer beyond what a heap needs. Whether a call works was tried; its version is told only to say
//! where to find it.

use super::finding::Finding;
use super::text::Text;
use heapwood_os::{LEAST_KERNEL_PAGE, MOST_KERNEL_PAGE, OsError};
use std::io;

pub(crate) const RELEASE: &str = "/proc/sys/kernel/osrelease";

pub(crate) fn kernel(release: &Text) -> Finding {
    const NAME: &str = "kernel";
    let text = match release {
        Ok(text) => text,
        Err(why) => return Finding::unread(NAME, RELEASE, why),
    };
    // What follows the number names the builder, not the kernel.
    let number = text.trim().split('-').next().unwrap_or_default();
    let dotted = number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.');
    if !dotted {
        return Finding::odd(NAME, RELEASE, text);
    }
    Finding::ok(NAME, format!("Linux {number}"), "What it offers is found out below by trying.")
}

pub(crate) fn page_size(bytes: usize) -> Finding {
    const NAME: &str = "page size";
    let found = format!("{bytes} bytes");
    match bytes {
        LEAST_KERNEL_PAGE => Finding::ok(NAME, found, "It is what heaps are made for."),
        ..=MOST_KERNEL_PAGE => Finding::note(
            NAME,
            found,
            "Heaps work, but give memory back in pieces of that size only, and zero smaller ones.",
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
        Ok(true) => Finding::ok(NAME, "works", "Memory that is given back reads as zeros, as heaps rely on."),
        Ok(false) => Finding::warning(
            NAME,
            "leaves contents in place",
            "Heaps rely on zeros in memory that was given back: they will break.",
            "Do not use Heapwood here: what runs the program does not behave as Linux does.",
        ),
        Err(why) => Finding::warning(
            NAME,
            format!("could not be tried: {why}"),
            "Heaps commit memory and give it back in the same way.",
            "Raise the limits that are named above.",
        ),
    }
}

pub(crate) fn free(outcome: &io::Result<()>) -> Finding {
    offered(
        "MADV_FREE",
        outcome,
        "Heaps do not need it: they give back with MADV_DONTNEED.",
        "Nothing: heaps give back with MADV_DONTNEED.",
        "4.5",
    )
}

pub(crate) fn collapse(outcome: &io::Result<()>) -> Finding {
    offered(
        "MADV_COLLAPSE",
        outcome,
        "Huge pages can be had when wanted; heaps do not need it.",
        "Huge pages come with page faults and from khugepaged only, which is what heaps go by.",
        "6.1, if transparent huge pages are built in and allowed",
    )
}

pub(crate) fn populate(outcome: &io::Result<()>) -> Finding {
    offered(
        "MADV_POPULATE_WRITE",
        outcome,
        "Memory can be had before it is touched; heaps do not need it.",
        "Memory comes when it is touched, which is what heaps go by.",
        "5.14",
    )
}

/// A call that Linux has since some version, and what follows where it works and where not.
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
    fn releases() {
        let of = |text: &str| kernel(&Result::Ok(text.into()));
        assert_eq!(of("6.8.0-45-generic\n").found, "Linux 6.8.0");
        assert_eq!(
            (of("6.8.0").state, of("").state, of("-").state, of("beta").state),
            (Ok, Note, Note, Note)
        );
        assert_eq!(kernel(&Err(io::ErrorKind::NotFound.into())).state, Note);
    }

    #[test]
    fn page_sizes() {
        assert_eq!(
            (page_size(4096).state, page_size(65536).state, page_size(1 << 18).state),
            (Ok, Note, Warning)
        );
        assert!(page_size(16384).found.contains("16384"));
    }

    #[test]
    fn memory_that_keeps_its_contents() {
        let refused = OsError::new(heapwood_os::Request::Commit, 1, 12);
        assert_eq!(give_back(&Result::Ok(true)).state, Ok);
        assert_eq!(give_back(&Result::Ok(false)).state, Warning);
        assert_eq!(give_back(&Err(refused)).state, Warning);
    }

    #[test]
    fn what_newer_kernels_offer_is_no_more_than_a_note() {
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
