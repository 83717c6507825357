//! Why memory was not handed out.

use core::fmt;
use heapwood_os::OsError;

/// The reason an allocation could not be served now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The budget of this cycle is spent: collect, then ask again.
    CollectionDue,
    /// The heap may not grow above its limit.
    Limit {
        /// The limit in bytes.
        limit: usize,
        /// How many bytes were asked for, in whole pages.
        bytes: usize,
    },
    /// The heap may not grow beyond what the process's memory leaves it.
    Memory {
        /// How many bytes were asked for, in whole pages.
        bytes: usize,
        /// How many it may take up.
        most: usize,
    },
    /// The address range reserved for the heap has no room of this size left.
    Window {
        /// How many bytes were asked for.
        bytes: usize,
        /// The size of the reserved range.
        window: usize,
    },
    /// The kernel gave no memory.
    Kernel(OsError),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::CollectionDue => write!(f, "a collection is due"),
            Refused::Limit { limit, bytes } => write!(
                f,
                "no room for {bytes} bytes under the heap's limit of {limit}: raise the limit or keep less alive"
            ),
            Refused::Memory { bytes, most } => {
                write!(
                    f,
                    "no room for {bytes} bytes in the {most} that the heap may take up: keep less alive"
                )
            }
            Refused::Window { bytes, window } => {
                write!(f, "no room for {bytes} bytes in the heap's address range of {window} bytes: ")?;
                match heapwood_os::usage::address_space_limit() {
                    Some(most) => {
                        write!(f, "raise `ulimit -v`, which is {most} bytes, or reserve a larger one")
                    }
                    None => write!(f, "reserve a larger one"),
                }
            }
            Refused::Kernel(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for Refused {}

impl From<OsError> for Refused {
    fn from(e: OsError) -> Self {
        Refused::Kernel(e)
    }
}
