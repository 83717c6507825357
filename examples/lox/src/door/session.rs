//! A session: nothing unsafe. Nothing is collected inside `mutate`, so the machine's stack is a `Vec` there; before a collection the
//! machine stands still, and leaves its values in the session's root.

mod stack;

use heapwood::session::{Gc, GcCell, GcMap, GcVec, Mutation};
use heapwood::{GcStr, Slot};
use heapwood_lox::hash::Fast;
use std::hash::Hash;

pub(crate) type Mutator<'gc> = &'gc Mutation<'gc>;
pub(crate) type Stack<'gc, V> = stack::Stack<'gc, V, Vec<V>>;
pub(crate) type Ptr<'gc, T> = Gc<'gc, T>;
pub(crate) type Slice<'gc, T> = Gc<'gc, heapwood::Slice<T>>;
pub(crate) type Text<'gc> = Gc<'gc, GcStr>;
pub(crate) type Vector<'gc, V> = GcVec<'gc, V>;
pub(crate) type Table<'gc, V> = GcMap<'gc, V, V, Fast>;
// The lifetime stands for that of other doors.
pub(crate) type Cell<'gc, V> = GcCell<V>;

macro_rules! value {
    ($($item:tt)*) => { #[derive(heapwood::Trace, Clone, Copy)] $($item)* };
}
macro_rules! object {
    ($($item:tt)*) => { #[derive(heapwood::Trace)] $($item)* };
}
pub(crate) use {object, value};

pub(crate) fn alloc<'gc, T: heapwood::Trace + 'gc>(m: Mutator<'gc>, object: T) -> Ptr<'gc, T> {
    m.alloc(object)
}

pub(crate) fn slice<'gc, T: heapwood::Trace + 'gc>(
    m: Mutator<'gc>,
    len: usize,
    element: impl FnMut(usize) -> T,
) -> Slice<'gc, T> {
    m.alloc_slice(len, element)
}

pub(crate) fn text<'gc>(m: Mutator<'gc>, text: &str) -> Text<'gc> {
    m.alloc_str(text)
}

pub(crate) fn join<'gc>(m: Mutator<'gc>, a: &str, b: &str) -> Text<'gc> {
    text(m, &[a, b].concat())
}

pub(crate) fn vector<'gc, V: Slot + 'gc>(
    m: Mutator<'gc>,
    len: usize,
    element: impl FnMut(usize) -> V,
) -> Vector<'gc, V> {
    GcVec::from_iter(m, (0..len).map(element))
}

pub(crate) fn table<V>(_: Mutator<'_>) -> Table<'_, V> {
    GcMap::new()
}

/// Calls `f` with each key and its value, while the map does not change.
pub(crate) fn each<'gc, V: Slot + Eq + Hash + 'gc>(table: &Table<'gc, V>, mut f: impl FnMut(V, V)) {
    table.iter().for_each(|(key, value)| f(key, value));
}

pub(crate) fn same<'gc, T>(a: &Ptr<'gc, T>, b: &Ptr<'gc, T>) -> bool {
    Gc::ptr_eq(*a, *b)
}

pub(crate) fn wants_to_collect(m: Mutator<'_>) -> bool {
    m.is_leave_wanted()
}

/// The machine's stack, with what another call has kept.
pub(crate) fn stack<'gc, V: Slot + Default>(kept: Slice<'gc, V>) -> Stack<'gc, V> {
    Stack::new(kept.to_vec(), kept.len())
}

/// What is on a stack, for another call.
pub(crate) fn keep<'gc, V: Slot + Default + 'gc>(m: Mutator<'gc>, stack: &Stack<'gc, V>) -> Slice<'gc, V> {
    slice(m, stack.len(), |i| stack.get(i))
}
