//! Which limit a refusal probably met, and what to set: the kernel says only that there is no memory. Looked up when an
//! error is made; nothing is allocated for it.

use crate::memory::request::Request;
use crate::process::usage::{address_space_limit, data_limit};
use core::ffi::CStr;
use core::fmt;

const OVERCOMMIT: &CStr = c"/proc/sys/vm/overcommit_memory";

/// The limits that bear on a request, as they were when it was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The most bytes of what was asked for that the process may have: addresses or writable memory; `UNLIMITED` if
    /// all that there are.
    most: u64,
    /// Promises are counted, and not more is promised than there is.
    no_overcommit: bool,
}

const UNLIMITED: u64 = u64::MAX;

/// Whether the kernel promises no more memory than there is.
fn no_overcommit() -> bool {
    crate::process::file::number(OVERCOMMIT) == Some(2)
}

impl Limits {
    /// Nothing is limited.
    pub(crate) const NONE: Limits = Limits { most: UNLIMITED, no_overcommit: false };

    /// Those that are set now.
    pub(crate) fn of(request: Request) -> Self {
        let (most, no_overcommit) = match request {
            Request::Reserve => (address_space_limit(), false),
            Request::Commit | Request::Decommit => (data_limit(), no_overcommit()),
            Request::Thread | Request::Signal => (None, false),
        };
        Limits { most: most.unwrap_or(UNLIMITED), no_overcommit }
    }

    /// Writes which limit the request met, and what to set.
    pub(crate) fn explain(self, request: Request, f: &mut impl fmt::Write) -> fmt::Result {
        let most = Some(self.most).filter(|&most| most != UNLIMITED);
        match request {
            Request::Reserve => match most {
                Some(most) => {
                    write!(f, "`ulimit -v` is {most} bytes: raise it, or ask for a smaller heap window")
                }
                None => write!(f, "ask for a smaller heap window"),
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
                        "overcommit is off (vm.overcommit_memory is 2) and all memory is promised: raise \
                         vm.overcommit_ratio, or give the heap a limit"
                    )
                } else {
                    write!(
                        f,
                        "the machine's memory, or its number of mappings (vm.max_map_count), is exhausted"
                    )
                }
            }
            Request::Signal => Ok(()),
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
        assert_eq!(said(Request::Reserve, None, true), "ask for a smaller heap window");
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

    #[test]
    fn a_request_is_explained_by_its_own_limit() {
        assert_eq!(Limits::of(Request::Reserve).most, address_space_limit().unwrap_or(UNLIMITED));
        assert_eq!(Limits::of(Request::Commit).most, data_limit().unwrap_or(UNLIMITED));
        assert_eq!(Limits::of(Request::Thread), Limits::NONE);
    }
}
