//! What a machine has outside of the heap: plain data, which no collection looks at.

use super::value::{Closure, Value};
use crate::lox::front::Program;
use crate::lox::places::Places;
use heapwood::session::Gc;

/// How far a program came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// To its end.
    Finished,
    /// It waits for a collection that is due.
    CollectionDue,
}

/// What a machine has outside of the heap, from one call of [`Machine::go_on`] to the next.
pub struct Machine<'p> {
    pub(super) program: &'p Program,
    pub(super) places: Places,
    pub(super) classes: u32,
    /// Text that is made.
    pub(super) scratch: String,
    pub(super) print: &'p mut dyn FnMut(&str),
}

/// What a call that is not of a closure comes to.
pub(super) enum Called<'gc> {
    /// A call of this closure.
    Enter(Gc<'gc, Closure<'gc>>),
    /// A value.
    Returned(Value<'gc>),
}

impl<'p> Machine<'p> {
    /// A machine that runs a program once, and passes what it prints to `print`, line by line.
    pub fn new(program: &'p Program, print: &'p mut dyn FnMut(&str)) -> Self {
        Machine { program, places: Places::new(), classes: 0, scratch: String::new(), print }
    }
}
