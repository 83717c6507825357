//! Types of the language and the standard library without pointers into a heap: they are [`Trace`], [`NoPointers`] and [`Shared`]. Invariant:
//! each of them needs no drop, and has the marker traits of the values that it holds.

use crate::gc_cell::CellValue;
use crate::shared::Shared;
use crate::trace::{NoPointers, Trace, TypeMap};
use core::any::TypeId;
use core::cmp::{Ordering, Reverse};
use core::convert::Infallible;
use core::marker::{PhantomData, PhantomPinned};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use core::num::{NonZero, Saturating, Wrapping};
use core::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
use core::sync::atomic;
use core::time::Duration;
use std::thread::ThreadId;
use std::time::{Instant, SystemTime};

/// Implements the traits for types: with generic parameters that a value does not hold, and with one that it does.
macro_rules! plain {
    (@one {$($free:tt)*} {$($held:ident)?} $type:ty) => {
        // SAFETY: the type has no place for a `Gc`: its generic parts are plain themselves or not held. It needs no
        // drop.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($free)* $($held: NoPointers)?> Trace for $type {
            const MAP: TypeMap = TypeMap::NO_POINTERS;
        }
        // SAFETY: as above.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($free)* $($held: NoPointers)?> NoPointers for $type {}
        // SAFETY: the type is Sync if what it holds is.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($free)* $($held: Shared)?> Shared for $type {}
    };
    (@one copied {$($free:tt)*} {$($held:ident)?} $type:ty) => {
        // SAFETY: it holds no pointer.
        unsafe impl<'gc, $($free)* $($held: CellValue<'gc> + NoPointers)?> CellValue<'gc> for $type {}
        plain! { @one {$($free)*} {$($held)?} $type }
    };
    (copied $free:tt $held:tt $($type:ty),* $(,)?) => {$(
        plain! { @one copied $free $held $type }
    )*};
    ($free:tt $held:tt $($type:ty),* $(,)?) => {$(
        plain! { @one $free $held $type }
    )*};
}

plain! { {} {}
    atomic::AtomicU8, atomic::AtomicU16, atomic::AtomicU32, atomic::AtomicU64, atomic::AtomicUsize,
    atomic::AtomicI8, atomic::AtomicI16, atomic::AtomicI32, atomic::AtomicI64, atomic::AtomicIsize,
    atomic::AtomicBool,
}

plain! { copied {} {}
    u8, u16, u32, u64, u128, usize,
    i8, i16, i32, i64, i128, isize,
    f32, f64, bool, char, (),
    NonZero<u8>, NonZero<u16>, NonZero<u32>, NonZero<u64>, NonZero<u128>, NonZero<usize>,
    NonZero<i8>, NonZero<i16>, NonZero<i32>, NonZero<i64>, NonZero<i128>, NonZero<isize>,
    Duration, Instant, SystemTime, ThreadId,
    IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6,
    Ordering, TypeId, Infallible, PhantomPinned, RangeFull,
    // The collector need not know static data that refers to no object.
    &'static str,
}

plain! { copied {T: ?Sized} {} PhantomData<T> }

plain! { copied {} {T} &'static T, &'static [T], Wrapping<T>, Saturating<T>, Reverse<T> }

plain! { {} {T}
    Range<T>, RangeInclusive<T>, RangeFrom<T>, RangeTo<T>, RangeToInclusive<T>, Bound<T>,
}

macro_rules! plain_functions {
    ($([$($A:ident)*])*) => {$(
        plain! { copied {R, $($A),*} {}
            fn($($A),*) -> R, unsafe fn($($A),*) -> R,
            extern "C" fn($($A),*) -> R, unsafe extern "C" fn($($A),*) -> R,
        }
    )*};
}

// Those of references, `fn(&T)`, are other types for each lifetime: derive macros see that they are functions, and ask no trait.
plain_functions! { [] [A] [A B] [A B C] [A B C D] [A B C D E] [A B C D E F] }
