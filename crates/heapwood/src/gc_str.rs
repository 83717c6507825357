//! Text in the heap. Invariant: the bytes of a [`GcStr`] are UTF-8 and never change.

use crate::mutator::Mutator;
use crate::shared::Shared;
use crate::slice::Slice;
use crate::unbranded::Gc;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;
use heapwood_gc::AllocError;

/// Text in the heap; made by [`Mutator::alloc_str`]. It dereferences to `str`, and compares, orders, hashes and prints as that does.
///
/// ```
/// # use heapwood::{Config, Gc, GcStr, Heap, Trace};
/// #[derive(Trace)]
/// struct Person {
///     name: Gc<GcStr>,
/// }
/// # // SAFETY: this program keeps no `Gc` but on the stack.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let ada = m.alloc(Person { name: m.alloc_str("Ada") });
/// assert!(ada.name.starts_with('A') && *ada.name == "Ada");
/// assert_eq!(format!("{}!", ada.name), "Ada!");
/// # Ok::<(), heapwood::HeapError>(())
/// ```
///
/// It exists only behind a [`Gc`], which is one word. Its length is in the heap, in front of the text.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct GcStr(Slice<u8>);

// SAFETY: it never changes, and leads nowhere.
unsafe impl Shared for GcStr {}

impl Mutator {
    /// Allocates a copy of a text. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn alloc_str(&self, text: &str) -> Gc<GcStr> {
        match self.try_alloc_str(text) {
            Ok(text) => text,
            Err(error) => self.fail(error),
        }
    }

    /// Allocates a copy of a text. May collect.
    ///
    /// # Errors
    /// As [`Mutator::try_alloc`].
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_alloc_str(&self, text: &str) -> Result<Gc<GcStr>, AllocError> {
        let bytes = self.try_alloc_copy(text.as_bytes())?;
        // SAFETY: a GcStr is a transparent slice of bytes, which here are those of a text.
        Ok(unsafe { Gc::from_raw(Gc::start(bytes).cast()) })
    }
}

impl Deref for GcStr {
    type Target = str;
    #[inline]
    fn deref(&self) -> &str {
        // SAFETY: a copy of a text, which never changes.
        unsafe { str::from_utf8_unchecked(&self.0) }
    }
}

impl PartialEq<str> for GcStr {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for GcStr {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl Hash for GcStr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl AsRef<str> for GcStr {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for GcStr {
    fn borrow(&self) -> &str {
        self
    }
}

impl fmt::Debug for GcStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for GcStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
