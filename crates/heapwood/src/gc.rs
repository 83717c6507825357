//! A pointer to an object in a heap, with the brand of a session: `'gc` is one call of `Session::mutate`, or `'static` for heaps
//! without a session, where the crate's `Gc` leaves it out. Invariant: a `Gc<T>` that safe code can reach points to the start of a live
//! `T`; it is never null, and never leaves the thread, because the collector finds it on that thread's stack. It is
//! one word and `Copy`, and costs nothing to make, copy or forget: objects never move, and where there is no session
//! stacks are scanned conservatively.

use crate::checked;
use crate::shared::Shared;
use crate::trace::{Trace, TypeMap};
use core::borrow::Borrow;
use core::cmp::Ordering;
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
/// As with `Rc`, traits are those of the object: two are equal, ordered and hashed by their contents, and shown by them. In a cyclic
/// structure a derived `==` or `Debug` does not end. [`Gc::ptr_eq`] compares objects, and [`ById`](crate::ById) is a key by identity:
///
/// ```
/// # use heapwood::{ById, Config, Gc, Heap};
/// # // SAFETY: this program keeps no `Gc` but on the stack.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let (a, b) = (m.alloc(7u64), m.alloc(7u64));
/// assert!(a == b && !Gc::ptr_eq(a, b) && ById(a) != ById(b));
/// # Ok::<(), heapwood::HeapError>(())
/// ```
///
/// Its functions are called as `Gc::as_ptr(gc)`, since a method would hide one of `T`. (A `Gc<str>` or a `Gc<dyn Trait>` can be written,
/// so that the compiler's message is [`Trace`]'s, but nothing makes one.)
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
// The alignment is that of the pointer. Said of the type, it keeps a `Gc` out of packed structs (E0588), where no scan would find it; not
// in an `Option`, or as an argument of a generic one.
#[repr(align(8))]
pub struct Gc<'gc, T: ?Sized> {
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
    pub const fn as_ptr(this: Self) -> *mut T {
        this.ptr.as_ptr()
    }

    /// The start of the object, whatever its type.
    #[inline]
    pub(crate) const fn start(this: Self) -> NonNull<u8> {
        this.ptr.cast()
    }

    /// Whether both point to the same object.
    #[inline]
    pub fn ptr_eq(this: Self, other: Self) -> bool {
        this.ptr == other.ptr
    }
}

// Not `T: Trace`: a recursive type would otherwise need its own map to compute its map. A `Gc` comes from an
// allocation, which asks for it.
// SAFETY: a `Gc` is one word, which is never zero, and changes only where its owner does.
#[diagnostic::do_not_recommend]
unsafe impl<T> Trace for Gc<'_, T> {
    const MAP: TypeMap = TypeMap::POINTER;
}

// SAFETY: any thread may read a pointer, and its target is Shared.
unsafe impl<T: Shared> Shared for Gc<'_, T> {}

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

impl<T: PartialEq> PartialEq for Gc<'_, T> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Gc<'_, T> {}

impl<T: PartialOrd> PartialOrd for Gc<'_, T> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: Ord> Ord for Gc<'_, T> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: Hash> Hash for Gc<'_, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T> AsRef<T> for Gc<'_, T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T> Borrow<T> for Gc<'_, T> {
    fn borrow(&self) -> &T {
        self
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
