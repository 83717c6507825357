//! The type of a session's root, which is one type for each lifetime of a call. Invariant: the types differ in the lifetime alone,
//! so they have one layout and one map. `Rootable!` writes such a type without naming another; the trick, a
//! trait object, is that of gc-arena's macro of the same name.

use core::marker::PhantomData;

/// A type for each lifetime `'a`: a session's root, or what is [stashed](super::Mutation::stash). [`Rootable!`](crate::Rootable!) writes
/// the type that implements this.
///
/// A type may implement it itself:
///
/// ```
/// # use heapwood::session::{Gc, Rootable, Session};
/// enum Numbers {}
/// impl<'a> Rootable<'a> for Numbers {
///     type Root = Gc<'a, [u64; 4]>;
/// }
/// let mut session = Session::<Numbers>::new(heapwood::Config::default(), |m| m.alloc([1, 2, 3, 4]))?;
/// assert_eq!(session.mutate(|_, root| root[2]), 3);
/// # Ok::<(), heapwood::Error>(())
/// ```
pub trait Rootable<'a> {
    /// The type during a call with this lifetime.
    type Root: 'a;
}

/// The type of `R` for a lifetime.
pub type RootOf<'a, R> = <R as Rootable<'a>>::Root;

/// What `Rootable!` writes: a trait object that says the root of each lifetime, so that no type need be declared.
pub struct ByName<T: ?Sized>(PhantomData<T>);

impl<'a, T: ?Sized + Rootable<'a>> Rootable<'a> for ByName<T> {
    type Root = T::Root;
}

/// The type of a [session's](crate::session::Session) root, with the lifetime of its pointers left out, or named:
///
/// ```
/// use heapwood::session::{Gc, Session};
/// use heapwood::{Rootable, Trace};
///
/// #[derive(Trace)]
/// struct Pair<'gc, T>(Gc<'gc, T>, Gc<'gc, T>);
///
/// type Numbers = Session<Rootable![Pair<'_, u64>]>;
/// type Named = Session<Rootable!['gc => Pair<'gc, Gc<'gc, u64>>]>;
/// let mut session = Numbers::new(heapwood::Config::default(), |m| Pair(m.alloc(1), m.alloc(2)))?;
/// assert_eq!(session.mutate(|_, pair| *pair.0 + *pair.1), 3);
/// # Ok::<(), heapwood::Error>(())
/// ```
#[macro_export]
macro_rules! Rootable {
    ($gc:lifetime => $root:ty) => {
        $crate::session::ByName<dyn for<$gc> $crate::session::Rootable<$gc, Root = $root>>
    };
    ($root:ty) => {
        $crate::Rootable!['__gc => $crate::__private::__name_elided!('__gc; $root)]
    };
}
