//! A plain heap in a program whose blocks are scanned: `Gc`s may lie in a `Vec`, so the machine's stack does.

mod gc;
mod stack;

pub(crate) use gc::*;

/// The machine's stack.
pub(crate) type Stack<'gc, V> = stack::Stack<'gc, V, Vec<V>>;
