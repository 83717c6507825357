//! Which limit a refusal probably met, and what to set: the kernel says only that there is no memory. The limits of
//! this process are looked up when the message is written; nothing is allocated for it.

use crate::request::Request;
use crate::usage::{address_space_limit, data_limit};
use core::ffi::CStr;
use core::fmt;

const OVERCOMMIT: &CStr = c"/proc/sys/vm/overcommit_memory";

/// What the limits that are set say of a refused request.
#[derive(Clone, Copy, Debug)]
struct Limits {
    address_space: Option<u64>,
    data: Option<u64>,
    /// Promises are counted, and not more is promised than there is.
    no_overcommit: bool,
}

/// Writes which limit a request met, and what to set.
pub(crate) fn explain(request: Request, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let limits =
        Limits { address_space: address_space_limit(), data: data_limit(), no_overcommit: no_overcommit() };
    limits.explain(request, f)
}

/// Whether the kernel promises no more memory than there is.
fn no_overcommit() -> bool {
    crate::file::number(OVERCOMMIT) == Some(2)
}

impl Limits {
    fn explain(self, request: Request, f: &mut impl fmt::Write) -> fmt::Result {
        match request {
            Request::Reserve => match self.address_space {
                Some(most) => {
                    write!(f, "`ulimit -v` is {most} bytes: raise it, or ask for a smaller heap window")
                }
                None => write!(f, "ask for a smaller heap window"),
            },
            Request::Commit | Request::Decommit => {
                if let Some(most) = self.data {
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
            Request::Thread => write!(f, "raise `ulimit -u`, or the container's limit of processes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(request: Request, address_space: Option<u64>, data: Option<u64>, no_overcommit: bool) -> String {
        let mut text = String::new();
        Limits { address_space, data, no_overcommit }.explain(request, &mut text).unwrap();
        text
    }

    #[test]
    fn the_limit_that_is_set_is_named() {
        let most = Some(102_400_000);
        assert!(said(Request::Reserve, most, None, false).starts_with("`ulimit -v` is 102400000 bytes"));
        assert_eq!(said(Request::Reserve, None, most, true), "ask for a smaller heap window");
        let data = said(Request::Commit, None, most, false);
        assert!(data.starts_with("`ulimit -d` is 102400000 bytes: raise it"), "{data}");
        let strict = said(Request::Commit, most, None, true);
        assert!(
            strict.starts_with("overcommit is off") && strict.contains("vm.overcommit_ratio"),
            "{strict}"
        );
        assert!(said(Request::Commit, most, None, false).contains("the machine's memory"));
        assert!(said(Request::Thread, None, None, false).contains("ulimit -u"));
    }
}
