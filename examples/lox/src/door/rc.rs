//! Counted memory: `Rc`, `RefCell`, `Vec`, `HashMap`, as one writes it without a collector. Cycles are never freed.

use heapwood_lox::hash::Fast;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;
use std::marker::PhantomData;
use std::rc::Rc;

/// Nothing needs a mutator; the lifetime stands for the heap's.
#[derive(Clone, Copy)]
pub(crate) struct Mutator<'gc>(PhantomData<&'gc ()>);

pub(crate) type Ptr<'gc, T> = Rc<T>;
pub(crate) type Slice<'gc, T> = Rc<[T]>;

/// Text. Not `Rc<str>`, with which a value would take three words.
#[derive(Clone)]
pub(crate) struct Text<'gc>(Rc<Box<str>>, PhantomData<&'gc ()>);

impl std::ops::Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

macro_rules! value {
    ($($item:tt)*) => { #[derive(Clone)] $($item)* };
}
macro_rules! object {
    ($($item:tt)*) => { $($item)* };
}
pub(crate) use {object, value};

pub(crate) fn alloc<'gc, T>(_: Mutator<'gc>, object: T) -> Ptr<'gc, T> {
    Rc::new(object)
}

pub(crate) fn slice<'gc, T>(_: Mutator<'gc>, len: usize, element: impl FnMut(usize) -> T) -> Slice<'gc, T> {
    (0..len).map(element).collect()
}

pub(crate) fn text<'gc>(_: Mutator<'gc>, text: &str) -> Text<'gc> {
    Text(Rc::new(text.into()), PhantomData)
}

pub(crate) fn join<'gc>(_: Mutator<'gc>, a: &str, b: &str) -> Text<'gc> {
    Text(Rc::new([a, b].concat().into()), PhantomData)
}

pub(crate) fn same<T>(a: &Rc<T>, b: &Rc<T>) -> bool {
    Rc::ptr_eq(a, b)
}

pub(crate) fn wants_to_collect(_: Mutator<'_>) -> bool {
    false
}

/// A value that changes.
pub(crate) struct Cell<'gc, V>(RefCell<V>, PhantomData<&'gc ()>);

impl<'gc, V: Clone> Cell<'gc, V> {
    pub(crate) fn new(value: V) -> Self {
        Cell(RefCell::new(value), PhantomData)
    }

    pub(crate) fn get(&self) -> V {
        self.0.borrow().clone()
    }

    pub(crate) fn set(&self, _: Mutator<'gc>, value: V) {
        // Dropped when the borrow is over: that may lead back here.
        let _old = self.0.replace(value);
    }
}

/// A list that grows.
pub(crate) struct Vector<'gc, V>(RefCell<Vec<V>>, PhantomData<&'gc ()>);

pub(crate) fn vector<'gc, V>(_: Mutator<'gc>, len: usize, element: impl FnMut(usize) -> V) -> Vector<'gc, V> {
    Vector(RefCell::new((0..len).map(element).collect()), PhantomData)
}

impl<'gc, V: Clone> Vector<'gc, V> {
    pub(crate) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    pub(crate) fn get(&self, i: usize) -> Option<V> {
        self.0.borrow().get(i).cloned()
    }

    /// There is such an element.
    pub(crate) fn set(&self, _: Mutator<'gc>, i: usize, value: V) {
        let _old = std::mem::replace(&mut self.0.borrow_mut()[i], value);
    }

    pub(crate) fn push(&self, _: Mutator<'gc>, value: V) {
        self.0.borrow_mut().push(value);
    }

    pub(crate) fn pop(&self, _: Mutator<'gc>) -> Option<V> {
        self.0.borrow_mut().pop()
    }

    pub(crate) fn sort_by(&self, _: Mutator<'gc>, compare: impl FnMut(&V, &V) -> std::cmp::Ordering) {
        self.0.borrow_mut().sort_by(compare);
    }
}

/// A map.
pub(crate) struct Table<'gc, V>(RefCell<HashMap<V, V, Fast>>, PhantomData<&'gc ()>);

pub(crate) fn table<'gc, V>(_: Mutator<'gc>) -> Table<'gc, V> {
    Table(RefCell::default(), PhantomData)
}

/// Calls `f` with each key and its value, while the map does not change.
pub(crate) fn each<'gc, V: Clone>(table: &Table<'gc, V>, mut f: impl FnMut(V, V)) {
    for (key, value) in table.0.borrow().iter() {
        f(key.clone(), value.clone());
    }
}

impl<'gc, V: Clone + Eq + Hash> Table<'gc, V> {
    pub(crate) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    pub(crate) fn get(&self, key: &V) -> Option<V> {
        self.0.borrow().get(key).cloned()
    }

    pub(crate) fn insert(&self, _: Mutator<'gc>, key: V, value: V) -> Option<V> {
        self.0.borrow_mut().insert(key, value)
    }

    pub(crate) fn remove(&self, _: Mutator<'gc>, key: &V) -> Option<V> {
        self.0.borrow_mut().remove(key)
    }
}

/// The machine's stack.
pub(crate) struct Stack<'gc, V>(Vec<V>, PhantomData<&'gc ()>);

impl<'gc, V: Clone> Stack<'gc, V> {
    /// So many values will come.
    pub(crate) fn make_room(&mut self, len: usize) {
        self.0.reserve(len.saturating_sub(self.len()));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn push(&mut self, _: Mutator<'gc>, value: V) {
        self.0.push(value);
    }

    /// There is one: the compiler counts.
    pub(crate) fn pop(&mut self) -> V {
        self.0.pop().expect("the stack is not empty")
    }

    pub(crate) fn top(&self) -> V {
        self.0.last().expect("the stack is not empty").clone()
    }

    pub(crate) fn top_two(&self) -> (&V, &V) {
        (&self.0[self.len() - 2], &self.0[self.len() - 1])
    }

    /// Pops two, and pushes one.
    pub(crate) fn replace_two(&mut self, _: Mutator<'gc>, value: V) {
        self.0.pop();
        *self.0.last_mut().expect("there were two") = value;
    }

    pub(crate) fn get(&self, i: usize) -> V {
        self.0[i].clone()
    }

    pub(crate) fn set(&mut self, _: Mutator<'gc>, i: usize, value: V) {
        self.0[i] = value;
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }
}

/// A mutator and an empty stack.
pub(crate) fn start<'gc, V>() -> (Mutator<'gc>, Stack<'gc, V>) {
    (Mutator(PhantomData), Stack(Vec::new(), PhantomData))
}
