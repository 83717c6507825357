//! The machine's stack, where values are copied. Each door chooses the memory that it lies in. It needs no barrier, and what was popped
//! stays there until something else is pushed.

use super::Mutator;
use std::marker::PhantomData;
use std::ops::DerefMut;

/// The memory of a stack.
pub(crate) trait Room<V>: DerefMut<Target = [V]> {
    /// Makes room for so many values.
    fn make_room(&mut self, len: usize);
}

/// An array that has room for more than a machine takes.
impl<V> Room<V> for &mut [V] {
    fn make_room(&mut self, _: usize) {}
}

impl<V: Copy + Default> Room<V> for Vec<V> {
    fn make_room(&mut self, len: usize) {
        if len > self.len() {
            self.resize(2 * len, V::default());
        }
    }
}

/// A stack in such memory.
pub(crate) struct Stack<'gc, V, R> {
    values: R,
    len: usize,
    of: PhantomData<(&'gc (), V)>,
}

impl<'gc, V: Copy, R: Room<V>> Stack<'gc, V, R> {
    /// A stack of the first values that lie there.
    pub(crate) fn new(values: R, len: usize) -> Self {
        Stack { values, len, of: PhantomData }
    }

    pub(crate) fn make_room(&mut self, len: usize) {
        self.values.make_room(len);
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, _: Mutator<'gc>, value: V) {
        self.values[self.len] = value;
        self.len += 1;
    }

    /// There is one: the compiler counts.
    pub(crate) fn pop(&mut self) -> V {
        self.len -= 1;
        self.values[self.len]
    }

    pub(crate) fn top(&self) -> V {
        self.values[self.len - 1]
    }

    pub(crate) fn top_two(&self) -> (&V, &V) {
        (&self.values[self.len - 2], &self.values[self.len - 1])
    }

    /// Pops two, and pushes one.
    pub(crate) fn replace_two(&mut self, _: Mutator<'gc>, value: V) {
        self.len -= 1;
        self.values[self.len - 1] = value;
    }

    pub(crate) fn get(&self, i: usize) -> V {
        self.values[i]
    }

    pub(crate) fn set(&mut self, _: Mutator<'gc>, i: usize, value: V) {
        self.values[i] = value;
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = len;
    }
}
