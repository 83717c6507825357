//! A root that lies outside of a session's calls. Invariant: its object is alive, and is seen again only in a call of a session of the
//! same heap, with that call's brand.

use super::gc::Gc;
use super::mutation::Mutation;
use super::rootable::{RootOf, Rootable};
use crate::root::Root;
use core::fmt;

/// An object that is kept from one call to another, without a place in the root: by a callback, a table of the host, another thread.
/// Made by [`Mutation::stash`]; `R` is the object's type, as [`Rootable!`](crate::Rootable!) writes it.
///
/// ```
/// #![forbid(unsafe_code)]
/// use heapwood::session::{Gc, Session, Stashed};
/// use heapwood::{Config, GcStr, Rootable};
///
/// let mut session = Session::<Rootable![u64]>::new(Config::default(), |_| 0)?;
/// let number: Stashed<Rootable![Gc<'_, u64>]> = session.mutate(|m, _| m.stash(m.alloc(m.alloc(7))));
/// let text = session.mutate(|m, _| m.stash::<Rootable![GcStr]>(m.alloc_str("seven")));
/// session.collect();
/// assert_eq!(session.mutate(|m, _| (**m.fetch(&number), m.fetch(&text).len())), (7, 5));
/// # Ok::<(), heapwood::Error>(())
/// ```
///
/// It crosses threads if its object is [`Shared`](crate::Shared); there a session of the same
/// [`SessionHeap`](super::SessionHeap) fetches it.
///
/// An object with such a root of its own, in an [`Owned`](super::Owned) value, keeps itself alive until its session ends.
pub struct Stashed<R: for<'a> Rootable<'a>>(Root<RootOf<'static, R>>);

impl<'gc> Mutation<'gc> {
    /// Keeps `object` until the result is dropped.
    ///
    /// # Panics
    /// If there is no memory for another root; [`Mutation::try_stash`] returns an error instead.
    pub fn stash<R: for<'a> Rootable<'a>>(&self, object: Gc<'gc, RootOf<'gc, R>>) -> Stashed<R> {
        match self.try_stash(object) {
            Ok(stashed) => stashed,
            Err(error) => panic!("{error}"),
        }
    }

    /// The same.
    ///
    /// # Errors
    /// The heap has the maximum number of roots, or there is no memory for another.
    pub fn try_stash<R: for<'a> Rootable<'a>>(
        &self,
        object: Gc<'gc, RootOf<'gc, R>>,
    ) -> Result<Stashed<R>, crate::Error> {
        let object = core::ptr::NonNull::from(Gc::get(object)).cast::<RootOf<'static, R>>();
        // SAFETY: an object of this call's heap, alive. Its type is the same but for the brand, which nobody sees there.
        let object = unsafe { crate::Gc::from_raw(object) };
        Ok(Stashed(self.mutator().try_root(object)?))
    }

    /// The object that was stashed.
    ///
    /// # Panics
    /// If it lies in another heap.
    #[inline]
    pub fn fetch<R: for<'a> Rootable<'a>>(&self, stashed: &Stashed<R>) -> Gc<'gc, RootOf<'gc, R>> {
        let object = crate::Gc::as_ptr(stashed.0.get(self.mutator())).cast::<RootOf<'gc, R>>();
        // SAFETY: an object of this call's heap, which the root keeps for the call: what is alive when it begins is until it ends. Its
        // type is the same but for the brand.
        unsafe { Gc::new(crate::Gc::from_raw(core::ptr::NonNull::new_unchecked(object))) }
    }
}

/// Another root of the same object.
///
/// # Panics
/// If there is no memory for another root.
impl<R: for<'a> Rootable<'a>> Clone for Stashed<R> {
    fn clone(&self) -> Self {
        Stashed(self.0.clone())
    }
}

impl<R: for<'a> Rootable<'a>> fmt::Debug for Stashed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stashed").finish_non_exhaustive()
    }
}
