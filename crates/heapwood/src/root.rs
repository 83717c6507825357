//! A root keeps an object alive from anywhere, including a `static` and the ordinary heap, on any thread. It is a slot
//! that the heap owns. A thread that is attached reads the `Gc` in it.

use crate::checked;
use crate::heap::Inner;
use crate::mutator::Mutator;
use crate::shared::Shared;
use crate::unbranded::Gc;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use heapwood_gc::{Handle, Refusal};
use std::sync::Arc;

/// Keeps an object alive until it is dropped.
///
/// It may cross threads if its object's type is [`Shared`]:
///
/// ```
/// # use heapwood::{Config, Gc, Heap, Root, Shared, Trace};
/// #[derive(Trace, Shared)]
/// struct Table {
///     name: Option<Gc<u64>>,
/// }
/// # let heap = unsafe { Heap::new(Config::default()) }.unwrap();
/// # let m = heap.attach().unwrap();
/// let root: Root<Table> = m.root(m.alloc(Table { name: Some(m.alloc(7)) }));
/// let theirs = heap.clone();
/// let thread = std::thread::spawn(move || {
///     let m = theirs.attach().unwrap();
///     *root.get(&m).name.unwrap()
/// });
/// assert_eq!(m.blocking(|| thread.join()).unwrap(), 7);
/// ```
pub struct Root<T> {
    handle: Handle,
    inner: Arc<Inner>,
    _marker: PhantomData<Gc<T>>,
}

// SAFETY: the slot is atomic and belongs to the heap; the object itself may be used from several threads, as Shared
// promises.
unsafe impl<T: Shared> Send for Root<T> {}
// SAFETY: as above.
unsafe impl<T: Shared> Sync for Root<T> {}

impl Mutator {
    /// Makes a root of `object`.
    ///
    /// # Panics
    /// If there is no memory for another root; [`Mutator::try_root`] returns an error instead.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn root<T>(&self, object: Gc<T>) -> Root<T> {
        match self.try_root(object) {
            Ok(root) => root,
            Err(error) => panic!("{error}"),
        }
    }

    /// Makes a root of `object`.
    ///
    /// # Errors
    /// The heap has the maximum number of roots, or there is no memory for another.
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_root<T>(&self, object: Gc<T>) -> Result<Root<T>, Refusal> {
        checked::store(self.raw(), 0, Gc::as_ptr(object) as usize);
        // SAFETY: who has a Gc has kept its object alive.
        unsafe { Root::new(self.inner(), Gc::as_ptr(object)) }
    }
}

impl<T> Root<T> {
    /// # Safety
    /// 1. An object of the heap that holds a `T` is there, and alive during the call.
    unsafe fn new(inner: Arc<Inner>, object: *mut T) -> Result<Self, Refusal> {
        // SAFETY: contract 1.
        let handle = unsafe { inner.heap.roots().new_handle(object.into()) }?;
        Ok(Root { handle, inner, _marker: PhantomData })
    }

    /// The object.
    ///
    /// # Panics
    /// If `m` is attached to another heap than the root's.
    #[inline]
    pub fn get(&self, m: &Mutator) -> Gc<T> {
        assert!(m.is_of(&self.inner), "a root is used with a mutator of another heap");
        // SAFETY: the handle is freed in drop only, and keeps the object alive; it was made from a Gc<T>.
        unsafe { Gc::from_raw(NonNull::new_unchecked(self.handle.get() as *mut T)) }
    }
}

/// Makes another root of the object, on any thread, attached or not.
///
/// # Panics
/// As [`Mutator::root`].
impl<T> Clone for Root<T> {
    fn clone(&self) -> Self {
        // SAFETY: this root keeps its object alive. A collection scans all handles with their table locked, so it finds this one or
        // both, wherever this thread is.
        match unsafe { Root::new(self.inner.clone(), self.handle.get() as *mut T) } {
            Ok(root) => root,
            Err(error) => panic!("{error}"),
        }
    }
}

impl<T> Drop for Root<T> {
    fn drop(&mut self) {
        self.inner.heap.roots().free_handle(self.handle);
    }
}

impl<T> fmt::Debug for Root<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Root").field(&self.handle).finish()
    }
}
