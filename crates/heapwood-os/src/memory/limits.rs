//! The limit that a refusal probably met, and its remedy: the kernel reports only a lack of memory. The limits are
//! read when an error is made, without allocation. Invariant: a limit that cannot be read counts as unlimited.

use crate::memory::request::Request;
use crate::process::usage::{address_space_limit, data_limit};
use core::ffi::CStr;
use core::fmt;

const OVERCOMMIT: &CStr = c"/proc/sys/vm/overcommit_memory";

/// The limits that apply to a request, as of its refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The bytes of address space or writable memory that the process may have, or `UNLIMITED`.
    most: u64,
    /// The kernel does not overcommit memory.
    no_overcommit: bool,
}

const UNLIMITED: u64 = u64::MAX;

/// Whether the kernel refuses to overcommit.
fn no_overcommit() -> bool {
    crate::process::file::number(OVERCOMMIT) == Some(2)
}

impl Limits {
    /// No limit.
    pub(crate) const NONE: Limits = Limits { most: UNLIMITED, no_overcommit: false };

    /// The current limits.
    pub(crate) fn of(request: Request) -> Self {
        let (most, no_overcommit) = match request {
            Request::Reserve => (address_space_limit(), false),
            Request::Commit | Request::Decommit => (data_limit(), no_overcommit()),
            Request::Thread | Request::Signal | Request::LoaderLock => (None, false),
        };
        Limits { most: most.unwrap_or(UNLIMITED), no_overcommit }
    }

    /// Writes the limit that the request met, and its remedy.
    pub(crate) fn explain(self, request: Request, f: &mut impl fmt::Write) -> fmt::Result {
        let most = Some(self.most).filter(|&most| most != UNLIMITED);
        match request {
            Request::Reserve => match most {
                Some(most) => {
                    write!(f, "`ulimit -v` is {most} bytes: raise it, or give the heap a limit below it")
                }
                None => write!(f, "ask for a smaller heap reservation"),
            },
            Request::Commit | Request::Decommit => {
                if let Some(most) = most {
                    write!(
                        f,
                        "`ulimit -d` is {most} bytes: raise it, or give the heap a limit below it; or "
                    )?;
                }
                if self.no_overcommit {
                    write!(
                        f,
                        "overcommit is off (vm.overcommit_memory is 2) and all memory is committed: raise \
                         vm.overcommit_ratio, or give the heap a limit"
                    )
                } else {
                    write!(
                        f,
                        "the machine's memory, or its number of mappings (vm.max_map_count), is exhausted"
                    )
                }
            }
            Request::Signal | Request::LoaderLock => Ok(()),
            Request::Thread => write!(f, "raise `ulimit -u`, or the container's limit of processes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(request: Request, most: Option<u64>, no_overcommit: bool) -> String {
        let mut text = String::new();
        Limits { most: most.unwrap_or(UNLIMITED), no_overcommit }.explain(request, &mut text).unwrap();
        text
    }

    #[test]
    fn the_limit_that_is_set_is_named() {
        let most = Some(102_400_000);
        assert!(said(Request::Reserve, most, false).starts_with("`ulimit -v` is 102400000 bytes"));
        assert_eq!(said(Request::Reserve, None, true), "ask for a smaller heap reservation");
        let data = said(Request::Commit, most, false);
        assert!(data.starts_with("`ulimit -d` is 102400000 bytes: raise it"), "{data}");
        let strict = said(Request::Commit, None, true);
        assert!(
            strict.starts_with("overcommit is off") && strict.contains("vm.overcommit_ratio"),
            "{strict}"
        );
        assert!(said(Request::Commit, None, false).contains("the machine's memory"));
        assert!(said(Request::Thread, None, false).contains("ulimit -u"));
    }
}
