//! A pointer to an object in a heap, with the brand of a session: `'gc` is one call of `Session::mutate`, or `'static` for heaps
//! without a session, where the crate's `Gc` leaves it out. Invariant: a `Gc<T>` that safe code can reach points to the start of a live
//! `T`; it is never null, and never leaves the thread, because the collector finds it on that thread's stack. It is
//! one word and `Copy`, and costs nothing to make, copy or forget: objects never move, and stacks are scanned
//! conservatively.

use crate::checked;
use crate::trace::{Trace, TypeMap};
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

/// Invariant in `'gc`: a pointer of one session is none of another.
pub(crate) type Brand<'gc> = PhantomData<fn(&'gc ()) -> &'gc ()>;

/// A pointer to a `T` in a heap, which keeps it alive.
///
/// `'gc` says how long: in a [session](crate::session) it is the call in which the pointer was found or made, elsewhere
/// `'static`, and [`heapwood::Gc<T>`](crate::Gc) leaves it out. What follows is about those.
///
/// It is seen by the collector on the stack of a thread that is attached to the heap, in an object of the heap, and in
/// a root. It is **not** seen in memory of the ordinary allocator (`Box`, `Vec`, `thread_local!`). The safety contract
/// of [`Heap::new`](crate::Heap::new) forbids that.
///
/// Two of them are equal if they point to the same object; compare `*a == *b` for the contents.
///
/// It does not cross threads:
///
/// ```compile_fail,E0277
/// fn send<T: Send>() {}
/// send::<heapwood::Gc<u64>>();
/// ```
///
/// nor do references to it:
///
/// ```compile_fail,E0277
/// fn share<T: Sync>() {}
/// share::<heapwood::Gc<u64>>();
/// ```
#[repr(transparent)]
pub struct Gc<'gc, T> {
    ptr: NonNull<T>,
    /// Invariant in `T`: others may write to the object through a cell in it. (NonNull makes it neither Send nor
    /// Sync; the compiler's message is shorter if nothing else does.)
    _marker: PhantomData<fn(T) -> T>,
    _brand: Brand<'gc>,
}

const _: () = assert!(size_of::<Gc<[u64; 9]>>() == heapwood_layout::WORD);
const _: () = assert!(size_of::<Option<Gc<[u64; 9]>>>() == heapwood_layout::WORD);
const _: () = assert!(align_of::<Gc<u8>>() == heapwood_layout::WORD);

impl<'gc, T> Gc<'gc, T> {
    /// A `Gc` from the address of an object.
    ///
    /// # Safety
    /// 1. `ptr` is the address of an object of a heap, of its start and not of its inside.
    /// 2. The object holds an initialised `T`, and was allocated with a descriptor that fits `T`.
    /// 3. It is live now: something that the collector sees has referred to it ever since it was allocated.
    /// 4. The calling thread is attached to that heap.
    /// 5. Nobody holds a `&mut` to the object, now or later.
    #[inline]
    pub const unsafe fn from_raw(ptr: NonNull<T>) -> Self {
        Gc { ptr, _marker: PhantomData, _brand: PhantomData }
    }

    /// The address of the object. It keeps the object alive only while it is on the stack.
    #[inline]
    pub const fn as_ptr(self) -> *mut T {
        self.ptr.as_ptr()
    }

    /// Whether both point to the same object, as `==` does.
    #[inline]
    pub fn ptr_eq(self, other: Self) -> bool {
        self.ptr == other.ptr
    }
}

// Not `T: Trace`: a recursive type would otherwise need its own map to compute its map. A `Gc` comes from an
// allocation, which asks for it.
// SAFETY: a `Gc` is one word, which is never zero, and changes only where its owner does.
unsafe impl<T> Trace for Gc<'_, T> {
    const MAP: TypeMap = TypeMap::POINTER;
}

impl<T> Clone for Gc<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Gc<'_, T> {}

impl<T> Deref for Gc<'_, T> {
    type Target = T;

    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    fn deref(&self) -> &T {
        checked::read(self.ptr);
        // SAFETY: the object is a live `T` (from_raw 1 to 3), stays so while `self` is borrowed, since `self` is
        // where the collector sees it, and is never borrowed mutably (from_raw 5).
        unsafe { self.ptr.as_ref() }
    }
}

impl<T> PartialEq for Gc<'_, T> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.ptr == other.ptr
    }
}

impl<T> Eq for Gc<'_, T> {}

impl<T> Hash for Gc<'_, T> {
    /// Hashes the address: objects never move.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ptr.hash(state);
    }
}

/// Shows the object. This does not end in a cyclic structure: implement `Debug` yourself there.
impl<T: fmt::Debug> fmt::Debug for Gc<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Shows the object.
impl<T: fmt::Display> fmt::Display for Gc<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Shows the address.
impl<T> fmt::Pointer for Gc<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ptr.fmt(f)
    }
}
