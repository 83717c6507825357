//! Text that grows. Invariants: the bytes are UTF-8; those that are there never change, so a `&str` of them stays right while more come.

use super::GcVec;
use crate::access::Access;
use crate::trace::{Trace, TypeMap};
use core::fmt;
use core::ops::Deref;

/// A `String` in the heap: a value of two words, in an object. It grows, and is cleared as a whole. Text that does not change is a
/// [`GcStr`](crate::GcStr).
///
/// ```
/// # use heapwood::{Config, Gc, GcString, Heap};
/// # // SAFETY: this program keeps no `Gc` but on the stack.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let text = m.alloc(GcString::new());
/// text.push_str(&m, "seven");
/// text.push(&m, '!');
/// assert_eq!(&**text, "seven!");
/// # Ok::<(), heapwood::Error>(())
/// ```
pub struct GcString<'gc> {
    bytes: GcVec<'gc, u8>,
}

// SAFETY: its field.
unsafe impl Trace for GcString<'_> {
    const MAP: TypeMap = <GcVec<'static, u8> as Trace>::MAP;
}

impl<'gc> GcString<'gc> {
    /// Without text or memory.
    pub const fn new() -> Self {
        GcString { bytes: GcVec::new() }
    }

    /// Appends a text. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`](crate::Mutator::alloc).
    pub fn push_str(&self, m: &impl Access<'gc>, text: &str) {
        self.bytes.extend_from_slice(m, text.as_bytes());
    }

    /// Appends a character. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`](crate::Mutator::alloc).
    pub fn push(&self, m: &impl Access<'gc>, character: char) {
        self.push_str(m, character.encode_utf8(&mut [0; 4]));
    }

    /// Drops the text, and its memory.
    pub fn clear(&self, m: &impl Access<'gc>) {
        self.bytes.clear(m);
    }
}

impl Deref for GcString<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        // SAFETY: whole texts were appended, and what is there never changes: `clear` leaves the bytes to who still reads them.
        unsafe { str::from_utf8_unchecked(self.bytes.plain()) }
    }
}

impl Default for GcString<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for GcString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for GcString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
