//! The names of types, for the reports of verify mode. Types of one layout share a shape, so a shape has the names of the first two
//! that were registered, and knows whether there were more. Invariant: a name that is there never changes, and may be read at any time.

use super::sites::Site;
use core::fmt;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_heap::{MAX_SHAPES, ScanKind, ShapeId, Space, Span};
use heapwood_os::{KernelRef, Mapped, MappedArray, OsError};

/// The names that a shape has at most, and a mark for others.
const NAMES: usize = 2;
const WORDS: usize = 2 * NAMES + 1;

/// The names of a heap's types.
pub(crate) struct TypeNames {
    /// For each shape the length and the address of each name, and 1 if there are more.
    words: MappedArray<AtomicUsize>,
    /// Their layouts were written by hand.
    are_by_hand: AtomicBool,
}

impl TypeNames {
    pub(crate) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let words = MappedArray::new(kernel, MAX_SHAPES * WORDS)?;
        words.commit(0..MAX_SHAPES * WORDS)?;
        Ok(TypeNames { words, are_by_hand: AtomicBool::new(false) })
    }

    /// Whether the types' layouts were written by hand.
    pub(crate) fn are_by_hand(&self) -> bool {
        self.are_by_hand.load(Ordering::Relaxed)
    }

    /// They are, from now on.
    pub(crate) fn set_by_hand(&self) {
        self.are_by_hand.store(true, Ordering::Relaxed);
    }

    fn word(&self, shape: ShapeId, index: usize) -> &AtomicUsize {
        // SAFETY: shape numbers are below MAX_SHAPES, and all words are committed.
        unsafe { &*self.words.at(shape.index() * WORDS + index) }
    }

    fn name(&self, shape: ShapeId, number: usize) -> Option<&'static str> {
        let at = self.word(shape, 2 * number + 1).load(Ordering::Acquire) as *const u8;
        let len = self.word(shape, 2 * number).load(Ordering::Relaxed);
        // SAFETY: the address was stored last, and both are a static text's.
        (!at.is_null())
            .then(|| unsafe { core::str::from_utf8_unchecked(core::slice::from_raw_parts(at, len)) })
    }

    /// Types of this name have the shape.
    pub(crate) fn note(&self, shape: ShapeId, name: &'static str) {
        for number in 0..NAMES {
            let [len, at] = [2 * number, 2 * number + 1].map(|index| self.word(shape, index));
            let is_taken = len.compare_exchange(0, name.len(), Ordering::Relaxed, Ordering::Relaxed).is_err();
            if !is_taken {
                return at.store(name.as_ptr() as usize, Ordering::Release);
            }
            // Of two threads that register types at once one may not see the other's name yet.
            if self.name(shape, number) == Some(name) {
                return;
            }
        }
        self.word(shape, WORDS - 1).store(1, Ordering::Relaxed);
    }

    /// What is known of the type of an object in a span.
    pub(crate) fn of(&self, space: &Space, span: &Span, object: usize) -> TypeName {
        let mut shape = span.shape();
        if space.layouts().shape(shape).kind() == ScanKind::Numbered {
            // SAFETY: the object is, or was, one of such a span.
            shape = unsafe { space.numbered_entry(heapwood_heap::ObjectRef::new(object)) }.shape();
        }
        TypeName {
            names: [0, 1].map(|number| self.name(shape, number)),
            has_more: self.word(shape, WORDS - 1).load(Ordering::Relaxed) != 0,
            site: Site::default(),
        }
    }
}

/// What is known of an object: its type, and where it was made. It is shown with a comma behind it, or not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypeName {
    names: [Option<&'static str>; NAMES],
    has_more: bool,
    site: Site,
}

impl TypeName {
    /// Whether it has a name.
    pub(crate) fn is_known(&self) -> bool {
        self.names[0].is_some()
    }

    /// The same of an object that was made there.
    pub(super) fn made_at(self, site: Site) -> Self {
        TypeName { site, ..self }
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.names, self.has_more) {
            ([Some(name), None], _) => write!(f, "{name}, "),
            ([Some(first), Some(second)], false) => write!(f, "{first} or {second}, "),
            ([Some(first), Some(second)], true) => write!(f, "{first}, {second} or another type, "),
            ([None, _], _) => Ok(()),
        }?;
        if self.site.is_known() { write!(f, "made at {}, ", self.site) } else { Ok(()) }
    }
}

impl Mapped for TypeNames {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.words.for_each_mapping(f);
    }
}
