//! What a program has in the heap. Invariant: whenever a session collects, the values and frames of its program are here.

use super::value::{Closure, Upvalue, Value};
use crate::lox::front::{Native, Program};
use heapwood::session::{Gc, GcVec, Rootable};
use heapwood::{Access, CellValue, GcCell, GcStr, Slice, Trace};

/// A call that is not over.
#[derive(Clone, Copy, Trace, CellValue)]
pub(super) struct Frame<'gc> {
    pub(super) closure: Gc<'gc, Closure<'gc>>,
    /// The next instruction.
    pub(super) next: u32,
    /// The place of its first value on the stack.
    pub(super) base: u32,
}

/// A program in the heap: the root of a session, or an object that the stack leads to.
#[derive(Trace, Rootable)]
pub struct State<'gc> {
    pub(super) globals: Gc<'gc, Slice<GcCell<Value<'gc>>>>,
    pub(super) texts: Gc<'gc, Slice<Gc<'gc, GcStr>>>,
    /// The captured variables that are on the stack, from the bottom up.
    pub(super) open: GcVec<'gc, Gc<'gc, Upvalue<'gc>>>,
    /// The stack of a program that waits.
    values: GcVec<'gc, Value<'gc>>,
    /// Its frames, and the one to go on with.
    frames: GcVec<'gc, Frame<'gc>>,
}

impl<'gc> State<'gc> {
    /// A program that waits at its beginning.
    pub fn new(m: &impl Access<'gc>, program: &Program) -> Self {
        let global = |index: usize| {
            if index < Native::ALL.len() { Value::Native(index as u64) } else { Value::ABSENT }
        };
        let closure = m.alloc(Closure { function: program.main(), captured: None });
        let state = State {
            globals: m.alloc_slice(program.globals.len(), |index| GcCell::new(global(index))),
            texts: m.alloc_slice(program.texts.len(), |index| m.alloc_str(&program.texts[index])),
            open: GcVec::new(),
            values: GcVec::new(),
            frames: GcVec::new(),
        };
        state.values.push(m, Value::Closure(closure));
        state.frames.push(m, Frame { closure, next: 0, base: 0 });
        state
    }

    /// Keeps a program until it goes on.
    #[cold]
    pub(super) fn save(&self, m: &impl Access<'gc>, values: &[Value<'gc>], frames: &[Frame<'gc>]) {
        self.values.clear(m);
        self.values.extend(m, values.iter().copied());
        self.frames.clear(m);
        self.frames.extend(m, frames.iter().copied());
    }

    /// Copies the waiting program's values and frames. Returns how many there are of each; there is a frame.
    pub(super) fn restore(&self, values: &mut [Value<'gc>], frames: &mut [Frame<'gc>]) -> (usize, usize) {
        values.iter_mut().zip(self.values.iter()).for_each(|(to, value)| *to = value);
        frames.iter_mut().zip(self.frames.iter()).for_each(|(to, frame)| *to = frame);
        (self.values.len(), self.frames.len())
    }

    /// A frame, to fill an array with.
    pub(super) fn any_frame(&self) -> Frame<'gc> {
        self.frames.first().expect("a program that waits has one")
    }
}
