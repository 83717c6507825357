//! A plain heap: `Gc`s are found on the stack of the thread, in objects and in roots. So the machine's stack of values lies on the
//! thread's own stack, and no `Gc` is in a `Vec`.

mod gc;
mod stack;

pub(crate) use gc::*;

/// The machine's stack: an array on the stack of the thread, where the collector looks.
pub(crate) type Stack<'gc, V> = stack::Stack<'gc, V, &'gc mut [V]>;
