//! The list of the standard library's types that hold no pointer into a heap and may be shared by threads. Invariant: each has the
//! three traits, so that what may lie in a `Cell` of one thread may lie in an object that threads share. `Cell`, which has
//! [`NoPointers`] alone, stands in trace.rs.

use crate::shared::Shared;
use crate::trace::{NoPointers, Trace, TypeMap};
use core::alloc::Layout;
use core::any::TypeId;
use core::cmp::{Ordering, Reverse};
use core::convert::Infallible;
use core::hash::BuildHasherDefault;
use core::marker::{PhantomData, PhantomPinned};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use core::num::{NonZero, Saturating, Wrapping};
use core::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
use core::sync::atomic;
use core::time::Duration;
use std::hash::RandomState;
use std::thread::ThreadId;
use std::time::{Instant, SystemTime};

/// Implements the traits for types without pointers. Of `#T` the trait is required that is implemented; of `{T}` nothing.
macro_rules! plain {
    ($($(#$part:ident)? $({$($free:tt)*})? $type:ty,)*) => {$(
        // SAFETY: the type has no place for a `Gc`: its generic parts are plain themselves or not held. It needs no
        // drop.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($part: NoPointers)? $($($free)*)?> Trace for $type {
            const MAP: TypeMap = TypeMap::NO_POINTERS;
        }
        // SAFETY: as above.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($part: NoPointers)? $($($free)*)?> NoPointers for $type {}
        // SAFETY: the type is Sync where its parts are, and holds no pointer into a heap but in them.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($part: Shared)? $($($free)*)?> Shared for $type {}
    )*};
}

plain! {
    u8, u16, u32, u64, u128, usize,
    i8, i16, i32, i64, i128, isize,
    f32, f64, bool, char, (),
    NonZero<u8>, NonZero<u16>, NonZero<u32>, NonZero<u64>, NonZero<u128>, NonZero<usize>,
    NonZero<i8>, NonZero<i16>, NonZero<i32>, NonZero<i64>, NonZero<i128>, NonZero<isize>,
    atomic::AtomicU8, atomic::AtomicU16, atomic::AtomicU32, atomic::AtomicU64, atomic::AtomicUsize,
    atomic::AtomicI8, atomic::AtomicI16, atomic::AtomicI32, atomic::AtomicI64, atomic::AtomicIsize,
    atomic::AtomicBool,
    Duration, Instant, SystemTime,
    IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6,
    Ordering, atomic::Ordering, TypeId, ThreadId, Layout, Infallible, PhantomPinned, RangeFull,
    {T: ?Sized} PhantomData<T>,
    RandomState, {H} BuildHasherDefault<H>,
    #T Wrapping<T>,
    #T Saturating<T>,
    #T Reverse<T>,
    #T Range<T>,
    #T RangeInclusive<T>,
    #T RangeFrom<T>,
    #T RangeTo<T>,
    #T RangeToInclusive<T>,
    #T Bound<T>,
    // The collector need not know static data that refers to no object.
    &'static str,
    #T &'static T,
    #T &'static [T],
}

macro_rules! plain_functions {
    ($([$($A:ident)*])*) => {$(
        plain! {
            {R, $($A),*} fn($($A),*) -> R,
            {R, $($A),*} unsafe fn($($A),*) -> R,
            {R, $($A),*} extern "C" fn($($A),*) -> R,
            {R, $($A),*} unsafe extern "C" fn($($A),*) -> R,
        }
    )*};
}

// Of no lifetime of an argument: the derive macros know those as they are written.
plain_functions! { [] [A] [A B] [A B C] [A B C D] [A B C D E] [A B C D E F] }
