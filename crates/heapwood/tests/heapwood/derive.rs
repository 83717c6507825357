//! The maps of `#[derive(Trace)]` for many types, compared with literal bits or with offsets at run time.
#![allow(dead_code, reason = "the types are made for their layout")]

use core::cell::{Cell, OnceCell};
use core::marker::PhantomData;
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicU64};
use heapwood::{Gc, NoPointers, Shared, Trace, TypeMap};
use heapwood_layout::{Layout, TypeDescriptor};

type Link<T> = Option<Gc<T>>;

/// The words with a bit in the map of a type that is precise.
fn pointers<T: Trace>() -> Vec<usize> {
    assert!(!T::MAP.is_conservative());
    if !T::MAP.has_pointers() {
        return vec![];
    }
    match TypeDescriptor::from_map(size_of::<T>(), T::MAP).unwrap().layout() {
        Layout::Mask(mask) => mask.iter().collect(),
        other => panic!("{other:?}"),
    }
}

fn words<const N: usize>(offsets: [usize; N]) -> Vec<usize> {
    offsets.map(|offset| offset / 8).to_vec()
}

#[derive(Trace)]
struct Node {
    value: u64,
    left: Link<Node>,
    right: Link<Node>,
}

#[derive(Trace)]
struct Pair(u8, Gc<Node>, u8, Link<Pair>);

#[derive(Trace)]
struct Unit;

#[derive(Trace)]
struct Empty {}

#[derive(Trace)]
#[repr(C)]
struct InOrder {
    a: u8,
    b: Link<Node>,
    c: u32,
    d: u32,
    e: u64,
    f: Gc<Node>,
}

#[derive(Trace)]
struct Reordered {
    a: u8,
    b: Link<Node>,
    c: u16,
    d: Gc<Node>,
    e: u32,
    f: [u64; 3],
    g: Link<Reordered>,
}

#[derive(Trace)]
#[repr(C)]
struct Nested {
    head: u64,
    inner: InOrder,
    deep: [[Inner; 2]; 2],
    tuple: (u64, Gc<Node>),
}

#[derive(Trace)]
#[repr(C)]
struct Inner {
    count: u64,
    next: Link<Nested>,
}

#[derive(Trace)]
#[repr(C)]
struct Page {
    next: Link<Page>,
    data: [u8; 8192],
}

#[derive(Trace)]
#[repr(C)]
struct List<T> {
    value: T,
    next: Link<List<T>>,
}

#[derive(Trace)]
struct Branch<K, V, const N: usize> {
    keys: [K; N],
    values: [V; N],
    children: [Link<Branch<K, V, N>>; N],
}

#[derive(Trace)]
struct Left<T: Copy> {
    right: Right<T>,
}

#[derive(Trace)]
struct Right<T>
where
    T: Copy,
{
    value: T,
    left: Link<Box<T>>,
    back: Link<Right<T>>,
}

/// Each one of another type.
#[derive(Trace)]
struct Growing<T> {
    next: Link<Growing<(T, T)>>,
    own: Link<Self>,
}

#[derive(Trace)]
struct Projected<I: Iterator> {
    item: I::Item,
    qualified: Option<<I as Iterator>::Item>,
    of: PhantomData<I>,
}

fn takes_any<T: Trace>() -> bool {
    // Nothing but `T: Trace` is known here, and it suffices for the list of it.
    fn traced<U: Trace>() -> bool {
        U::MAP.has_pointers()
    }
    traced::<List<T>>()
}

#[derive(Trace)]
struct Borrowing<'a, T: 'a> {
    what: PhantomData<&'a T>,
    next: Link<Borrowing<'a, T>>,
}

#[derive(Trace, NoPointers, Clone, Copy)]
enum Colour {
    Red,
    Green,
}

#[derive(Trace, NoPointers, Clone, Copy)]
enum Number {
    None,
    Int(i64),
    Float { value: f64, exact: bool },
}

#[derive(Trace)]
enum Value {
    Nil,
    Int(i64),
    Cons(Gc<Value>, Gc<Value>),
    Name { text: Gc<[u8; 16]> },
}

#[derive(Trace)]
enum End {
    End,
    To(Gc<Node>),
}

#[derive(Trace)]
enum Either<A, B> {
    A(A),
    B(B),
}

#[derive(Trace)]
enum Never {}

#[test]
fn enums_are_precise_only_if_one_word() {
    assert_eq!(Colour::MAP, TypeMap::NO_POINTERS);
    assert_eq!(Number::MAP, TypeMap::NO_POINTERS);
    assert_eq!(Never::MAP, TypeMap::NO_POINTERS);
    assert_eq!(Value::MAP, TypeMap::CONSERVATIVE);
    assert_eq!((size_of::<End>(), End::MAP), (8, TypeMap::POINTER));
    assert_eq!(Either::<u8, i64>::MAP, TypeMap::NO_POINTERS);
    assert_eq!(Either::<u8, Gc<Node>>::MAP, TypeMap::CONSERVATIVE);
    assert_eq!(Either::<Gc<Node>, ()>::MAP, TypeMap::POINTER);
    assert_eq!(Result::<Gc<Node>, ()>::MAP, TypeMap::POINTER);
    assert_eq!(Result::<u8, Gc<Node>>::MAP, TypeMap::CONSERVATIVE);
}

#[derive(Trace)]
struct Tagged {
    number: u64,
    value: Value,
}

#[test]
fn a_conservative_field_makes_the_whole_conservative() {
    assert_eq!(Tagged::MAP, TypeMap::CONSERVATIVE);
    assert_eq!(<[Value; 400]>::MAP, TypeMap::CONSERVATIVE);
    assert_eq!(Option::<Node>::MAP, TypeMap::CONSERVATIVE);
    // The discriminant of the outer option has a word of its own.
    assert!(Option::<Link<Node>>::MAP.is_conservative());
}

#[derive(Trace, NoPointers)]
struct Plain<T> {
    value: T,
    cell: Cell<Number>,
    flag: AtomicBool,
    counter: AtomicU64,
    option: Option<core::num::NonZero<u32>>,
    name: &'static str,
    numbers: &'static [u16],
    call: fn(u64) -> bool,
    foreign: Option<unsafe extern "C" fn(usize)>,
    borrowing: for<'a> fn(&'a Number, Gc<Node>) -> &'a str,
    table: [Option<fn(&T)>; 3],
    long: extern "C" fn(u8, u8, u8, u8, u8, u8, u8, u8),
    range: core::ops::RangeFrom<T>,
    span: core::time::Duration,
    marker: PhantomData<Gc<Node>>,
}

#[derive(Trace, Shared)]
struct Callbacks<T> {
    all: [fn(&T); 2],
    last: core::option::Option<for<'a> fn(&'a T) -> &'a T>,
}

#[test]
fn plain_data_has_no_pointers() {
    fn shared<T: Shared>() {}
    fn plain<T: NoPointers>() {
        assert_eq!(T::MAP, TypeMap::NO_POINTERS);
    }
    plain::<Plain<u8>>();
    plain::<Cell<Plain<[f32; 3]>>>();
    plain::<(Colour, char, i128)>();
    plain::<Option<Number>>();
    plain::<Result<Cell<u8>, OnceCell<Number>>>();
    shared::<(Callbacks<u8>, core::num::NonZero<u32>, core::ops::Range<u8>, core::cmp::Ordering)>();
    shared::<(core::num::Wrapping<u8>, core::net::IpAddr, Result<fn(u64) -> u64, core::convert::Infallible>)>(
    );
    assert_eq!((Callbacks::<Gc<Node>>::MAP, size_of::<Callbacks<u8>>()), (TypeMap::NO_POINTERS, 24));
}

#[derive(Trace)]
#[repr(C, packed)]
struct PackedPlain {
    a: u8,
    b: u64,
}

#[derive(Trace)]
#[repr(C, align(64))]
struct Aligned {
    next: Link<Aligned>,
}

macro_rules! make {
    ($name:ident, $ty:ty) => {
        #[derive(Trace)]
        struct $name<T> {
            field: $ty,
            other: T,
        }
    };
}

make!(ByMacro, Link<T>);

mod elsewhere {
    // Neither the trait nor the prelude's names are in scope, or are others.
    struct Option;
    struct Gc;
    mod core {}
    mod std {}

    #[derive(heapwood::Trace)]
    pub(super) struct Hygienic<T> {
        next: ::core::option::Option<heapwood::Gc<T>>,
        r#type: u8,
    }
}

/// Each type's map, and the words of its pointers.
#[test]
fn maps_have_the_words_of_the_pointers() {
    type Eight = (u8, Gc<Node>, u16, Gc<Node>, u32, Gc<Node>, u64, Gc<Node>);
    type B = Branch<u8, Gc<Node>, 4>;
    let tuple = offset_of!(Nested, tuple) / 8 + offset_of!((u64, Gc<Node>), 1) / 8;
    let (values, children) = (offset_of!(B, values) / 8, offset_of!(B, children) / 8);
    let [left, right] = [offset_of!(Node, left), offset_of!(Node, right)];
    for (what, found, expected) in [
        ("named fields", pointers::<Node>(), words([left, right])),
        ("a pointer", pointers::<Gc<Node>>(), vec![0]),
        ("an optional pointer", pointers::<Link<Node>>(), vec![0]),
        ("unnamed fields", pointers::<Pair>(), words([offset_of!(Pair, 1), offset_of!(Pair, 3)])),
        ("no field", pointers::<Unit>(), vec![]),
        ("an empty struct", pointers::<Empty>(), vec![]),
        ("fields in the order of C", pointers::<InOrder>(), vec![1, 4]),
        (
            "fields in the compiler's order",
            pointers::<Reordered>(),
            words([offset_of!(Reordered, b), offset_of!(Reordered, d), offset_of!(Reordered, g)]),
        ),
        ("structs in structs", pointers::<Nested>(), vec![2, 5, 7, 9, 11, 13, tuple]),
        ("an array", pointers::<[Link<Node>; 256]>(), (0..256).collect()),
        ("an array of pairs", pointers::<[(Link<Node>, Gc<Node>); 3]>(), (0..6).collect()),
        ("an array of structs", pointers::<[Node; 2]>(), words([left, right, 24 + left, 24 + right])),
        ("a long array of data", pointers::<[u8; 1 << 20]>(), vec![]),
        ("no element", pointers::<[Gc<Node>; 0]>(), vec![]),
        ("a pointer before much data", pointers::<Page>(), vec![0]),
        (
            "a tuple of eight",
            pointers::<Eight>(),
            words([offset_of!(Eight, 1), offset_of!(Eight, 3), offset_of!(Eight, 5), offset_of!(Eight, 7)]),
        ),
        ("a tuple of one", pointers::<(Gc<Node>,)>(), vec![0]),
        ("a generic list", pointers::<List<u64>>(), vec![1]),
        ("a list of pointers", pointers::<List<Gc<Node>>>(), vec![0, 1]),
        ("a list of lists", pointers::<List<List<u64>>>(), vec![1, 2]),
        ("a branch", pointers::<B>(), (values..values + 4).chain(children..children + 4).collect()),
        ("types that grow", pointers::<Growing<u8>>(), vec![0, 1]),
        ("a projection", pointers::<Projected<core::ops::Range<u32>>>(), vec![]),
        ("a lifetime", pointers::<Borrowing<'static, String>>(), vec![0]),
        ("packed data", pointers::<PackedPlain>(), vec![]),
        ("aligned elements", pointers::<[Aligned; 3]>(), vec![0, 8, 16]),
    ] {
        let mut expected = expected;
        expected.sort();
        assert_eq!(found, expected, "{what}");
    }
    assert_eq!((size_of::<Gc<Node>>(), size_of::<Link<Node>>()), (8, 8));
    // The three small fields share a word.
    assert_eq!(size_of::<Reordered>(), 7 * 8);
    assert_eq!(pointers::<Left<u64>>().len(), 2);
    assert!(takes_any::<u8>());
    assert_eq!(pointers::<ByMacro<u64>>().len(), 1);
    assert_eq!(pointers::<elsewhere::Hygienic<Node>>().len(), 1);
}
