//! Text in the heap: bytes that are UTF-8, behind their length. Invariant: they are, and never change. `Gc<GcStr>` is to
//! [`str`] what `Rc<str>` is, in one word.

use crate::gc::Gc;
use crate::mutator::Mutator;
use crate::shared::Shared;
use crate::slice::Slice;
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;
use core::ptr::NonNull;
use heapwood_gc::AllocError;

/// Text in the heap; made by [`Mutator::alloc_str`]. It dereferences to [`str`], and compares, hashes and sorts as it.
///
/// It exists only behind a [`Gc`](crate::Gc).
#[repr(transparent)]
pub struct GcStr(Slice<u8>);

impl Mutator {
    /// Copies a text into the heap. May collect.
    ///
    /// ```
    /// # use heapwood::{Config, Gc, GcStr, Heap, Trace};
    /// #[derive(Trace)]
    /// struct Page {
    ///     title: Gc<GcStr>,
    /// }
    /// # // SAFETY: this program keeps no `Gc` but on the stack.
    /// # let heap = unsafe { Heap::new(Config::default()) }?;
    /// # let m = heap.attach()?;
    /// let page = m.alloc(Page { title: m.alloc_str("Home") });
    /// assert!(page.title.starts_with("Ho") && *page.title == "Home");
    /// # Ok::<(), heapwood::HeapError>(())
    /// ```
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    pub fn alloc_str(&self, text: &str) -> Gc<GcStr> {
        match self.try_alloc_str(text) {
            Ok(text) => text,
            Err(error) => self.fail(error),
        }
    }

    /// Copies a text into the heap. May collect.
    ///
    /// # Errors
    /// As [`Mutator::try_alloc`].
    pub fn try_alloc_str(&self, text: &str) -> Result<Gc<GcStr>, AllocError> {
        let bytes = NonNull::from(&*self.try_alloc_copy(text.as_bytes())?);
        // SAFETY: a new object, whose bytes are the text's, and which is a slice of bytes (`repr(transparent)`).
        Ok(unsafe { Gc::from_raw(bytes.cast()) })
    }
}

// SAFETY: bytes that never change.
unsafe impl Shared for GcStr {}

impl Deref for GcStr {
    type Target = str;
    #[inline]
    fn deref(&self) -> &str {
        // SAFETY: the bytes were copied from a text, and never change.
        unsafe { core::str::from_utf8_unchecked(&self.0) }
    }
}

impl PartialEq for GcStr {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for GcStr {}

impl PartialEq<str> for GcStr {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for GcStr {
    #[inline]
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialEq<GcStr> for str {
    #[inline]
    fn eq(&self, other: &GcStr) -> bool {
        *self == **other
    }
}

impl PartialOrd for GcStr {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for GcStr {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for GcStr {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

// Both hash, compare and sort as the text, as `Borrow` requires.
impl Borrow<str> for GcStr {
    fn borrow(&self) -> &str {
        self
    }
}

impl Borrow<str> for Gc<GcStr> {
    fn borrow(&self) -> &str {
        self
    }
}

impl AsRef<str> for GcStr {
    fn as_ref(&self) -> &str {
        self
    }
}

impl AsRef<str> for Gc<GcStr> {
    fn as_ref(&self) -> &str {
        self
    }
}

impl AsRef<[u8]> for GcStr {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl fmt::Debug for GcStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Display for GcStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
