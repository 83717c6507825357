//! Text that grows. Invariants: the bytes are UTF-8; bytes that have been text once are never written again. So a `&str` of it stays
//! what it is while the text changes: what grows is written behind it or into another array, and what is shortened gets another.

use super::gc_vec::GcVec;
use crate::gc::Gc;
use crate::gc_str::GcStr;
use crate::mutator::Mutator;
use crate::trace::{Trace, TypeMap};
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// Growable text in the heap, as a field of an object, or an object of its own. It dereferences to [`str`], and compares, hashes
/// and sorts as it.
///
/// ```
/// # use heapwood::{Config, GcString, Heap, Trace};
/// use std::fmt::Write;
///
/// #[derive(Trace, Default)]
/// struct Console {
///     output: GcString,
/// }
/// # // SAFETY: this program keeps `Gc`s on the stack only.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let console = m.alloc(Console::default());
/// console.output.push_str(&m, "seven = ");
/// write!(console.output.writer(&m), "{}", 7).unwrap();
/// assert_eq!(console.output, "seven = 7");
/// assert!(console.output.ends_with('7'));
/// # Ok::<(), heapwood::HeapError>(())
/// ```
///
/// A `&str` of it is a borrow from an object of the heap: it is kept where a [`Gc`] is. It stays as it is when the text changes
/// afterwards. Adding is as cheap as in a `String`; [`truncate`](GcString::truncate) copies what is left, and is no way to take
/// characters away one by one.
///
/// It belongs to one thread, and is not [`Shared`](crate::Shared). [`GcStr`] is text that never changes.
#[derive(Default)]
#[repr(transparent)]
pub struct GcString {
    bytes: GcVec<u8>,
}

// SAFETY: its bytes' map.
unsafe impl Trace for GcString {
    const MAP: TypeMap = GcVec::<u8>::MAP;
}

impl GcString {
    /// An empty text.
    #[inline]
    pub const fn new() -> Self {
        GcString { bytes: GcVec::new() }
    }

    /// A copy of a text. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn from_str(m: &Mutator, text: &str) -> Self {
        let new = Self::new();
        new.push_str(m, text);
        new
    }

    /// The text as it is now.
    #[inline]
    pub fn as_str(&self) -> &str {
        // SAFETY: whole texts and characters are added and left. What is text now is never written again.
        unsafe { core::str::from_utf8_unchecked(self.bytes.values()) }
    }

    /// Adds a text at the end, perhaps a part of this one. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn push_str(&self, m: &Mutator, text: &str) {
        self.bytes.extend_bytes(m, text.as_bytes());
    }

    /// Adds a character at the end. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn push(&self, m: &Mutator, character: char) {
        self.push_str(m, character.encode_utf8(&mut [0; 4]));
    }

    /// Makes room for `more` bytes. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn reserve(&self, m: &Mutator, more: usize) {
        self.bytes.reserve(m, more);
    }

    /// Leaves the first `len` bytes, as a copy. May collect.
    ///
    /// # Panics
    /// If that is in the middle of a character; and as [`Mutator::alloc`].
    #[track_caller]
    pub fn truncate(&self, m: &Mutator, len: usize) {
        if len < self.len() {
            assert!(self.is_char_boundary(len), "byte {len} is in the middle of a character");
            self.bytes.replace_by_first(m, len);
        }
    }

    /// Takes all text away, and its room.
    pub fn clear(&self, m: &Mutator) {
        self.bytes.replace_by_first(m, 0);
    }

    /// A copy that does not change. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn to_gc_str(&self, m: &Mutator) -> Gc<GcStr> {
        m.alloc_str(self)
    }

    /// What is written to it, by `write!`, is added at the end. May collect.
    pub fn writer<'a>(&'a self, m: &'a Mutator) -> impl fmt::Write + 'a {
        Writer { text: self, m }
    }
}

struct Writer<'a> {
    text: &'a GcString,
    m: &'a Mutator,
}

impl fmt::Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.push_str(self.m, text);
        Ok(())
    }
}

impl Deref for GcString {
    type Target = str;
    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for GcString {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for GcString {}

impl PartialEq<str> for GcString {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for GcString {
    #[inline]
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialOrd for GcString {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for GcString {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for GcString {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

// It hashes, compares and sorts as the text, as `Borrow` requires.
impl Borrow<str> for GcString {
    fn borrow(&self) -> &str {
        self
    }
}

impl AsRef<str> for GcString {
    fn as_ref(&self) -> &str {
        self
    }
}

impl fmt::Debug for GcString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Display for GcString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
