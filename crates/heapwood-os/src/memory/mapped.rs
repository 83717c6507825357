//! What lies in mapped memory of its own, as an observer sees it who wants to know what a process's memory is for.
//! Invariant: each mapping of the value is named once, from its first byte to the highest that was ever committed, and
//! so a mapping of which nothing was committed is named as an empty range.

use core::ops::Range;

/// A value with mapped memory of its own.
pub trait Mapped {
    /// Calls `f` with the addresses of each of its mappings.
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>));
}

/// Calls `f` with the mappings of several values.
pub fn for_each_mapping_of(all: &[&dyn Mapped], f: &mut dyn FnMut(Range<usize>)) {
    all.iter().for_each(|mapped| mapped.for_each_mapping(f));
}

impl<M: Mapped + ?Sized> Mapped for &M {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        (**self).for_each_mapping(f);
    }
}

impl<M: Mapped> Mapped for Option<M> {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.iter().for_each(|mapped| mapped.for_each_mapping(f));
    }
}

impl<M: Mapped, const N: usize> Mapped for [M; N] {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.iter().for_each(|mapped| mapped.for_each_mapping(f));
    }
}
