//! What the doors have in common that see a plain heap: `Gc`s, cells, and the collections of the crate. Objects own nothing outside the
//! heap, so lists and maps in them are `GcVec` and `GcMap`.

use heapwood::{Gc, GcCell, GcMap, GcStr, GcVec, Slot};
use heapwood_lox::hash::Fast;
use std::hash::Hash;
use std::marker::PhantomData;

// The lifetimes stand for those of doors that have them.
pub(crate) type Mutator<'gc> = &'gc heapwood::Mutator;
pub(crate) type Ptr<'gc, T> = Gc<T>;
pub(crate) type Slice<'gc, T> = Gc<heapwood::Slice<T>>;
pub(crate) type Cell<'gc, V> = GcCell<V>;
pub(crate) type Vector<'gc, V> = GcVec<V>;
pub(crate) type Table<'gc, V> = GcMap<V, V, Fast>;

/// Text in the heap.
#[derive(heapwood::Trace, Clone, Copy)]
pub(crate) struct Text<'gc>(Gc<GcStr>, PhantomData<&'gc ()>);

impl std::ops::Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

macro_rules! value {
    ($($item:tt)*) => { #[derive(heapwood::Trace, Clone, Copy)] $($item)* };
}
macro_rules! object {
    ($($item:tt)*) => { #[derive(heapwood::Trace)] $($item)* };
}
pub(crate) use {object, value};

pub(crate) fn alloc<'gc, T: heapwood::Trace>(m: Mutator<'gc>, object: T) -> Ptr<'gc, T> {
    m.alloc(object)
}

pub(crate) fn slice<'gc, T: heapwood::Trace>(
    m: Mutator<'gc>,
    len: usize,
    element: impl FnMut(usize) -> T,
) -> Slice<'gc, T> {
    m.alloc_slice(len, element)
}

pub(crate) fn text<'gc>(m: Mutator<'gc>, text: &str) -> Text<'gc> {
    Text(m.alloc_str(text), PhantomData)
}

pub(crate) fn join<'gc>(m: Mutator<'gc>, a: &str, b: &str) -> Text<'gc> {
    text(m, &[a, b].concat())
}

pub(crate) fn vector<'gc, V: Slot>(m: Mutator<'gc>, len: usize, element: impl FnMut(usize) -> V) -> GcVec<V> {
    GcVec::from_iter(m, (0..len).map(element))
}

pub(crate) fn table<V>(_: Mutator<'_>) -> Table<'_, V> {
    GcMap::new()
}

/// Calls `f` with each key and its value, while the map does not change.
pub(crate) fn each<V: Slot + Eq + Hash>(table: &GcMap<V, V, Fast>, mut f: impl FnMut(V, V)) {
    table.iter().for_each(|(key, value)| f(key, value));
}

pub(crate) fn same<T>(a: &Gc<T>, b: &Gc<T>) -> bool {
    Gc::ptr_eq(*a, *b)
}

/// Collections come inside of allocations.
pub(crate) fn wants_to_collect(_: Mutator<'_>) -> bool {
    false
}
