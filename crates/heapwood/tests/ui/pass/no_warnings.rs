// The output of the derives causes no warning for any type.
#![deny(warnings, unused, future_incompatible, nonstandard_style)]
#![forbid(unsafe_code)]

use becomes::becomes;
use core::convert::Infallible;
use heapwood::{Gc, NoPointers, Shared, Trace};

#[derive(Trace, NoPointers, Shared)]
pub struct Unit;

#[derive(Trace, NoPointers, Shared)]
pub struct Empty {}

#[derive(Trace, NoPointers, Shared)]
pub struct Tuple(pub u64, pub Empty);

#[derive(Trace, NoPointers, Shared)]
pub enum Never {}

#[derive(Trace, NoPointers)]
pub enum Hardly {
    Unit,
    Never(Infallible),
    Named { this: u64, field0: u8 },
}

#[derive(Trace, NoPointers)]
#[repr(C, packed)]
pub struct Packed {
    pub a: u8,
    pub b: u64,
}

#[derive(Trace, Shared)]
pub struct Generic<'a, T: Copy, const N: usize>
where
    T: 'a,
{
    pub r#type: [T; N],
    pub this: Option<Gc<Self>>,
    pub what: core::marker::PhantomData<&'a T>,
}

#[derive(Trace)]
pub enum Either<A, B> {
    A(A, A),
    B { b: B, link: Gc<Either<A, B>> },
}

#[derive(Trace)]
pub struct Odd {
    pub call: fn(u64) -> bool,
    pub back: Option<fn(&Odd) -> &str>,
    pub text: &'static str,
    #[cfg(any())]
    pub absent: String,
}

// An attribute macro above the derive is allowed: the derive sees its output.
#[becomes(#[derive(Trace)] pub struct Linked { pub id: u64, pub link: Option<Gc<[u64; 2]>> })]
pub struct Linked {
    pub id: u64,
}

fn main() {
    assert_eq!(<Linked as Trace>::MAP.mask()[0].count_ones(), 1);
}
