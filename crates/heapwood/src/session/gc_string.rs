//! Text that grows in a session's heap: that of the plain door, with a brand of its own, as [`GcVec`](super::GcVec) has. A part of it that
//! was borrowed stays what it was for the whole call, whatever is added meanwhile.

use super::gc::{Brand, Gc};
use super::mutation::Mutation;
use crate::gc_str::GcStr;
use crate::trace::{Trace, TypeMap};
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

/// Text that grows in a session's heap, as a field of an object, or an object of its own; see [`crate::GcString`].
///
/// ```
/// #![forbid(unsafe_code)]
/// use heapwood::session::{GcString, Session};
/// use heapwood::{Config, Rootable};
///
/// let mut session = Session::<Rootable![GcString<'_>]>::new(Config::default(), |_| GcString::new())?;
/// session.mutate(|m, text| text.push_str(m, "to be"));
/// session.collect();
/// assert_eq!(session.mutate(|_, text| text.len()), 5);
/// # Ok::<(), heapwood::Error>(())
/// ```
#[derive(Default)]
#[repr(transparent)]
pub struct GcString<'gc>(crate::GcString, Brand<'gc>);

// SAFETY: it is a `GcString`.
unsafe impl Trace for GcString<'_> {
    const MAP: TypeMap = <crate::GcString as Trace>::MAP;
}

impl<'gc> GcString<'gc> {
    /// An empty text.
    #[inline]
    pub const fn new() -> Self {
        GcString(crate::GcString::new(), PhantomData)
    }

    /// A copy of a text.
    ///
    /// # Panics
    /// As [`Mutation::alloc`]; so do all functions that add text.
    pub fn from_str(m: &Mutation<'gc>, text: &str) -> Self {
        GcString(crate::GcString::from_str(m.mutator(), text), PhantomData)
    }

    /// The text as it is now.
    #[inline]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Adds a text at the end, perhaps a part of this one.
    pub fn push_str(&self, m: &Mutation<'gc>, text: &str) {
        self.0.push_str(m.mutator(), text);
    }

    /// Adds a character at the end.
    pub fn push(&self, m: &Mutation<'gc>, character: char) {
        self.0.push(m.mutator(), character);
    }

    /// Makes room for `more` bytes.
    pub fn reserve(&self, m: &Mutation<'gc>, more: usize) {
        self.0.reserve(m.mutator(), more);
    }

    /// Leaves the first `len` bytes, as a copy.
    ///
    /// # Panics
    /// If that is in the middle of a character.
    #[track_caller]
    pub fn truncate(&self, m: &Mutation<'gc>, len: usize) {
        self.0.truncate(m.mutator(), len);
    }

    /// Takes all text away, and its room.
    pub fn clear(&self, m: &Mutation<'gc>) {
        self.0.clear(m.mutator());
    }

    /// A copy that does not change.
    pub fn to_gc_str(&self, m: &Mutation<'gc>) -> Gc<'gc, GcStr> {
        m.alloc_str(self)
    }

    /// What is written to it, by `write!`, is added at the end.
    pub fn writer<'a>(&'a self, m: &'a Mutation<'gc>) -> impl fmt::Write + use<'a, 'gc> {
        self.0.writer(m.mutator())
    }
}

impl Deref for GcString<'_> {
    type Target = str;
    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for GcString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for GcString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
