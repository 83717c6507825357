//! Errors of the page allocator: why pages were not allocated, wrong frees, and inconsistencies of an allocator. Other wrong
//! arguments are bugs of the caller, and panic. Invariant: an error holds everything that its message says.

use crate::units::{PageCount, PageIndex};
use core::fmt;

/// No run of free pages is long enough; growing may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllocateError {
    /// The requested pages.
    pub asked: PageCount,
    /// The free pages, in all runs together.
    pub free: PageCount,
}

impl fmt::Display for AllocateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no run of {} among {} free ones", self.asked, self.free.0)
    }
}

impl core::error::Error for AllocateError {}

/// A page that was to be freed is not in use, or does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FreeError {
    /// The first such page.
    pub page: PageIndex,
}

impl fmt::Display for FreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not in use", self.page)
    }
}

impl core::error::Error for FreeError {}

/// An inconsistency of an allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValidationError {
    /// What is wrong.
    pub what: &'static str,
    /// The page, or the first of those that it is about.
    pub page: PageIndex,
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.page, self.what)
    }
}

impl core::error::Error for ValidationError {}
