//! Access to a heap, by the brand of its pointers. Invariant: who has access to pointers of a brand other than `'static` is inside
//! the call of a session that has made the brand.

use crate::attach::Attached;
use crate::mutator::Mutator;

pub(crate) mod sealed {
    pub trait Sealed {}

    /// Who has one is this crate: others cannot call what takes it, and so not reach the mutator of a session.
    pub struct Token(pub(super) ());
}

/// The mutator behind an access.
#[inline(always)]
pub(crate) fn mutator<'gc>(m: &impl Access<'gc>) -> &Mutator {
    m.mutator(sealed::Token(()))
}

/// Access to the heap whose pointers have the brand `'gc`: a
/// [`Mutation`](crate::session::Mutation), or for `'static` a [`Mutator`].
pub trait Access<'gc>: sealed::Sealed {
    #[doc(hidden)]
    fn mutator(&self, _: sealed::Token) -> &Mutator;
}

impl sealed::Sealed for Mutator {}
impl Access<'static> for Mutator {
    #[inline(always)]
    fn mutator(&self, _: sealed::Token) -> &Mutator {
        self
    }
}

impl sealed::Sealed for Attached {}
impl Access<'static> for Attached {
    #[inline(always)]
    fn mutator(&self, _: sealed::Token) -> &Mutator {
        self
    }
}

impl<A: sealed::Sealed + ?Sized> sealed::Sealed for &A {}
impl<'gc, A: Access<'gc> + ?Sized> Access<'gc> for &A {
    #[inline(always)]
    fn mutator(&self, token: sealed::Token) -> &Mutator {
        (**self).mutator(token)
    }
}
