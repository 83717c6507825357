//! Values of types that know nothing of the heap. Invariant: such a value holds no pointer of a session, since its type outlives
//! every call, and needs no drop.

use crate::shared::Shared;
use crate::trace::{NoPointers, Trace, TypeMap};
use core::ops::Deref;

/// A value of any type that is `'static` and need not be dropped, in an object: what another crate defines, a `&'static` to anything,
/// a `RefCell` of numbers. A pointer of a session is not `'static`, so none can be in it.
///
/// What must be dropped is an [`Owned`](super::Owned).
///
/// ```
/// #![forbid(unsafe_code)]
/// use heapwood::session::{Gc, Session, Static};
/// use heapwood::{Config, Rootable, Trace};
/// use std::cell::RefCell;
///
/// #[derive(Trace)]
/// struct Button {
///     action: Static<fn(&dyn std::any::Any)>,
///     presses: Static<RefCell<[u32; 4]>>,
/// }
///
/// let mut session = Session::<Rootable![Gc<'_, Button>]>::new(Config::default(), |m| {
///     m.alloc(Button { action: Static(|_| ()), presses: Static(RefCell::new([0; 4])) })
/// })?;
/// session.mutate(|_, button| {
///     (button.action)(&"pressed");
///     button.presses.borrow_mut()[0] += 1;
/// });
/// # Ok::<(), heapwood::Error>(())
/// ```
///
/// ```compile_fail,E0597
/// # use heapwood::session::{Static, Session};
/// # let mut session = Session::<heapwood::Rootable![u64]>::new(heapwood::Config::default(), |_| 0).unwrap();
/// let text = String::from("ends before the session");
/// session.mutate(|m, _| { m.alloc(Static(text.as_str())); });
/// ```
///
/// ```compile_fail,E0080
/// # use heapwood::session::{Static, Session};
/// # let mut session = Session::<heapwood::Rootable![u64]>::new(heapwood::Config::default(), |_| 0).unwrap();
/// session.mutate(|m, _| { m.alloc(Static(String::from("never dropped"))); });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Static<T: 'static>(pub T);

// SAFETY: the type is `'static`, so it holds no pointer of a session; other heaps' are not kept here by their contract. It needs no
// drop, or computing the map fails.
unsafe impl<T: 'static> Trace for Static<T> {
    const MAP: TypeMap = {
        assert!(
            !core::mem::needs_drop::<T>(),
            "a value that must be dropped is not dropped in a `Static`: allocate it with `alloc_owned`"
        );
        TypeMap::NO_POINTERS
    };
}

// SAFETY: as above.
unsafe impl<T: 'static> NoPointers for Static<T> {}

// SAFETY: several threads may use a `T` at once, and it refers to no object.
unsafe impl<T: Sync + 'static> Shared for Static<T> {}

impl<T: 'static> Deref for Static<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}
