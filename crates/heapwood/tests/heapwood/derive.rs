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
    let mut words = offsets.map(|offset| offset / 8).to_vec();
    words.sort();
    words
}

#[derive(Trace)]
struct Node {
    value: u64,
    left: Link<Node>,
    right: Link<Node>,
}

#[test]
fn named_fields_are_found_at_their_offsets() {
    assert_eq!(pointers::<Node>(), words([offset_of!(Node, left), offset_of!(Node, right)]));
}

#[test]
fn a_pointer_is_one_word_with_or_without_option() {
    assert_eq!((size_of::<Gc<Node>>(), size_of::<Link<Node>>()), (8, 8));
    assert_eq!(pointers::<Gc<Node>>(), [0]);
    assert_eq!(pointers::<Link<Node>>(), [0]);
    // The discriminant of the outer option has a word of its own.
    assert!(Option::<Link<Node>>::MAP.is_conservative());
}

#[derive(Trace)]
struct Pair(u8, Gc<Node>, u8, Link<Pair>);

#[derive(Trace)]
struct Unit;

#[derive(Trace)]
struct Empty {}

#[test]
fn tuple_and_unit_structs_have_maps() {
    assert_eq!(pointers::<Pair>(), words([offset_of!(Pair, 1), offset_of!(Pair, 3)]));
    assert_eq!(Unit::MAP, TypeMap::NO_POINTERS);
    assert_eq!(Empty::MAP, TypeMap::NO_POINTERS);
}

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

#[test]
fn repr_c_keeps_the_order() {
    assert_eq!(pointers::<InOrder>(), [1, 4]);
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

#[test]
fn fields_are_found_at_the_compilers_offsets() {
    // The three small fields share a word.
    assert_eq!(size_of::<Reordered>(), 7 * 8);
    let expected = words([offset_of!(Reordered, b), offset_of!(Reordered, d), offset_of!(Reordered, g)]);
    assert_eq!(pointers::<Reordered>(), expected);
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

#[test]
fn nested_structs_arrays_and_tuples_are_precise() {
    let tuple = offset_of!(Nested, tuple) / 8 + offset_of!((u64, Gc<Node>), 1) / 8;
    assert_eq!(pointers::<Nested>(), [2, 5, 7, 9, 11, 13, tuple]);
}

#[test]
fn arrays_repeat_the_pointers_of_their_element() {
    assert_eq!(pointers::<[Link<Node>; 256]>(), (0..256).collect::<Vec<_>>());
    assert_eq!(pointers::<[(Link<Node>, Gc<Node>); 3]>(), (0..6).collect::<Vec<_>>());
    assert!(pointers::<[u8; 1 << 20]>().is_empty());
    assert_eq!(<[Gc<Node>; 0]>::MAP, TypeMap::NO_POINTERS);
    let every_third: Vec<usize> = (0..10).map(|i| 3 * i + offset_of!(Node, left) / 8).collect();
    let nodes = pointers::<[Node; 10]>();
    assert_eq!(nodes.len(), 20);
    assert!(every_third.iter().all(|word| nodes.contains(word)));
}

#[derive(Trace)]
#[repr(C)]
struct Page {
    next: Link<Page>,
    data: [u8; 8192],
}

#[test]
fn a_mask_ends_at_the_last_pointer() {
    assert_eq!(pointers::<Page>(), [0]);
}

#[test]
fn tuples_up_to_eight_are_precise() {
    type Eight = (u8, Gc<Node>, u16, Gc<Node>, u32, Gc<Node>, u64, Gc<Node>);
    let expected =
        words([offset_of!(Eight, 1), offset_of!(Eight, 3), offset_of!(Eight, 5), offset_of!(Eight, 7)]);
    assert_eq!(pointers::<Eight>(), expected);
    assert_eq!(pointers::<(Gc<Node>,)>(), [0]);
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

#[test]
fn generic_and_recursive_types_have_maps() {
    assert_eq!(pointers::<List<u64>>(), [1]);
    assert_eq!(pointers::<List<Gc<Node>>>(), [0, 1]);
    assert_eq!(pointers::<List<List<u64>>>(), [1, 2]);
    assert_eq!(pointers::<List<[Node; 2]>>().len(), 5);
    assert!(takes_any::<u8>());

    type B = Branch<u8, Gc<Node>, 4>;
    let (values, children) = (offset_of!(B, values) / 8, offset_of!(B, children) / 8);
    let mut expected: Vec<usize> = (values..values + 4).chain(children..children + 4).collect();
    expected.sort();
    assert_eq!(pointers::<B>(), expected);

    assert_eq!(pointers::<Left<u64>>().len(), 2);
    assert_eq!(pointers::<Growing<u8>>(), [0, 1]);
    assert!(pointers::<Projected<core::ops::Range<u32>>>().is_empty());
}

#[derive(Trace)]
struct Borrowing<'a, T: 'a> {
    what: PhantomData<&'a T>,
    next: Link<Borrowing<'a, T>>,
}

#[test]
fn types_with_lifetimes_have_maps() {
    assert_eq!(pointers::<Borrowing<'static, String>>(), [0]);
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
}

#[derive(Trace, NoPointers)]
struct Plain<T> {
    value: T,
    cell: Cell<Number>,
    flag: AtomicBool,
    counter: AtomicU64,
    option: Option<core::num::NonZero<u32>>,
    name: &'static str,
    table: &'static [u16],
    call: fn(u64) -> bool,
    foreign: Option<unsafe extern "C" fn(usize)>,
    span: core::time::Duration,
    marker: PhantomData<Gc<Node>>,
}

#[test]
fn plain_data_has_no_pointers() {
    fn plain<T: NoPointers>() {
        assert_eq!(T::MAP, TypeMap::NO_POINTERS);
    }
    plain::<Plain<u8>>();
    plain::<Cell<Plain<[f32; 3]>>>();
    plain::<(Colour, char, i128)>();
    plain::<Option<Number>>();
    plain::<OnceCell<Result<Colour, u8>>>();
}

#[test]
fn what_is_plain_may_be_shared() {
    use std::{net, num, ops, sync::atomic, time};
    fn plain<T: NoPointers + Shared>() {
        assert_eq!(T::MAP, TypeMap::NO_POINTERS);
    }
    plain::<(fn(u64) -> u64, unsafe extern "C" fn(*const u8, usize) -> i32)>();
    plain::<(num::NonZero<u32>, num::NonZeroU64, num::Wrapping<u8>, num::Saturating<i16>)>();
    plain::<(ops::Range<u32>, ops::RangeInclusive<u8>, ops::RangeFrom<usize>, ops::Bound<u64>, ops::RangeFull)>(
    );
    plain::<(std::cmp::Ordering, std::cmp::Reverse<u32>, atomic::AtomicI8, std::any::TypeId)>();
    plain::<(net::IpAddr, net::SocketAddr, time::Duration, time::Instant, std::thread::ThreadId)>();
    plain::<(&'static str, &'static [u32], &'static net::Ipv4Addr, PhantomData<Gc<Node>>)>();
    plain::<(Option<u8>, Result<bool, ()>, [char; 3])>();
}

#[test]
fn results_have_the_map_of_an_enum() {
    assert_eq!(Result::<u64, char>::MAP, TypeMap::NO_POINTERS);
    assert_eq!((size_of::<Result<Gc<Node>, ()>>(), Result::<Gc<Node>, ()>::MAP), (8, TypeMap::POINTER));
    assert_eq!(Result::<(), Gc<Node>>::MAP, TypeMap::POINTER);
    assert_eq!(Result::<Gc<Node>, u64>::MAP, TypeMap::CONSERVATIVE);
    assert_eq!(Result::<Gc<Node>, Gc<Node>>::MAP, TypeMap::CONSERVATIVE);
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

#[test]
fn packed_and_aligned_types_have_maps() {
    assert_eq!(PackedPlain::MAP, TypeMap::NO_POINTERS);
    assert_eq!(pointers::<[Aligned; 3]>(), [0, 8, 16]);
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

#[test]
fn types_from_macros_have_maps() {
    assert_eq!(pointers::<ByMacro<u64>>().len(), 1);
}

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

#[test]
fn the_output_depends_on_no_names_in_scope() {
    assert_eq!(pointers::<elsewhere::Hygienic<Node>>().len(), 1);
}

#[test]
fn a_gc_reads_as_its_object() {
    let (one, other) = (Box::new(7u64), Box::new(7u64));
    // SAFETY: no collector runs here: the boxes stand for objects, and outlive the pointers.
    let [a, b] = [&one, &other].map(|object| unsafe { Gc::from_raw(core::ptr::NonNull::from(&**object)) });
    let copy = a;
    assert_eq!((*a, format!("{a:?}"), format!("{a}")), (7, "7".into(), "7".into()));
    assert!(a == b && Gc::ptr_eq(a, copy) && !Gc::ptr_eq(a, b));
    assert_eq!(Gc::as_ptr(a).cast_const(), &raw const *one);
    assert_eq!(format!("{a:p}"), format!("{:p}", &*one));
    assert_eq!(std::collections::HashSet::from([a, b, copy].map(heapwood::ById)).len(), 2);
}

/// Functions of any lifetime, for which no trait could be implemented.
#[derive(Trace, NoPointers, Shared, Clone, Copy)]
#[allow(clippy::type_complexity, reason = "types of functions as they are written are what this is about")]
struct Native<V> {
    call: fn(&heapwood::Mutator, V) -> V,
    more: [Option<for<'a> fn(&'a u8, &V) -> &'a u8>; 2],
    pair: (unsafe extern "C" fn(*const u8), u8),
}

#[derive(Trace)]
enum Callable {
    Native(fn(&heapwood::Mutator, &Callable) -> u64, u8),
    #[allow(dead_code)]
    Closure(Gc<u64>),
}

#[test]
fn functions_have_no_pointers() {
    fn plain<T: NoPointers + Shared>() {
        assert_eq!(T::MAP, TypeMap::NO_POINTERS);
    }
    plain::<Native<u64>>();
    assert_eq!(Callable::MAP, TypeMap::CONSERVATIVE);
    let Callable::Native(count, 1) = Callable::Native(|m, _| *m.alloc(7u64), 1) else { unreachable!() };
    let heap = heapwood::Heap::clone(&crate::common::heap(crate::common::SMALL));
    let m = heap.attach().unwrap();
    assert_eq!(count(&m, &Callable::Native(count, 1)), 7);
}

/// A type of another crate, of which its author knows that it holds no pointer.
#[derive(Clone, Copy, PartialEq)]
struct Foreign([u32; 4]);

#[derive(Trace, Shared)]
struct Skips {
    // SAFETY: numbers.
    #[trace(unsafe(skip))]
    date: Foreign,
    next: Link<Skips>,
}

#[derive(Trace, NoPointers, Clone, Copy)]
enum SkipsAll {
    #[allow(dead_code)]
    At(
        // SAFETY: numbers.
        #[trace(unsafe(skip))] Foreign,
    ),
    Never,
}

#[test]
fn skipped_fields_are_not_looked_at() {
    assert_eq!(pointers::<Skips>(), [offset_of!(Skips, next) / 8]);
    assert_eq!(SkipsAll::MAP, TypeMap::NO_POINTERS);
    let heap = crate::common::heap(crate::common::STRESS);
    let m = heap.attach().unwrap();
    let last = m.alloc(Skips { date: Foreign([1; 4]), next: None });
    let first = m.alloc(Skips { date: Foreign([2; 4]), next: Some(last) });
    m.collect();
    assert!(first.date == Foreign([2; 4]) && first.next.unwrap().date == Foreign([1; 4]));
    assert!(matches!(m.alloc(Cell::new(SkipsAll::Never)).get(), SkipsAll::Never));
}

/// The crate under another name.
mod renamed {
    pub(super) mod parts {
        pub(crate) use ::heapwood as gc;
    }
    #[derive(parts::gc::Trace, parts::gc::NoPointers, parts::gc::Shared)]
    #[trace(crate = parts::gc)]
    pub(super) struct Plain {
        _number: u8,
    }
    #[derive(parts::gc::Trace)]
    #[trace(crate = self::parts::gc)]
    pub(super) enum Link<T> {
        _To(parts::gc::Gc<T>),
        _End,
    }
}

#[test]
fn the_crate_may_have_another_name() {
    assert_eq!(renamed::Plain::MAP, TypeMap::NO_POINTERS);
    assert_eq!(renamed::Link::<u8>::MAP, TypeMap::POINTER);
}
