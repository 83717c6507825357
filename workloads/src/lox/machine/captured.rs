//! Variables that closures capture. They stay on the stack until their frame returns or their block ends; then each is closed: its value moves
//! into its own object. Invariant: the vector of open ones goes from the bottom of the stack up, and has each place once.

use super::state::State;
use super::value::{Closure, Upvalue, Value};
use crate::lox::front::{Captured, Function};
use heapwood::session::Gc;
use heapwood::{Access, GcCell};

/// The place of an open variable.
fn place(upvalue: Gc<'_, Upvalue<'_>>) -> Option<usize> {
    match upvalue.0.get() {
        Value::Open(place) => Some(place as usize),
        _ => None,
    }
}

/// The captured variable in a place of the stack.
fn capture<'gc>(m: &impl Access<'gc>, state: &State<'gc>, at: usize) -> Gc<'gc, Upvalue<'gc>> {
    let mut index = state.open.len();
    while let Some(upvalue) = index.checked_sub(1).and_then(|below| state.open.get(below)) {
        match place(upvalue) {
            Some(place) if place == at => return upvalue,
            Some(place) if place > at => index -= 1,
            _ => break,
        }
    }
    let new = m.alloc(Upvalue(GcCell::new(Value::Open(at as u64))));
    state.open.insert(m, index, new);
    new
}

/// Closes the variables from a place of the stack upwards.
#[inline(never)]
pub(super) fn close<'gc>(m: &impl Access<'gc>, state: &State<'gc>, stack: &[Value<'gc>], from: usize) {
    while let Some(upvalue) = state.open.last()
        && let Some(place) = place(upvalue)
        && place >= from
    {
        upvalue.0.set(m, stack[place]);
        state.open.pop(m);
    }
}

/// A closure of a function, made by a frame that begins at `base` and runs `outer`.
#[inline]
pub(super) fn closure<'gc>(
    m: &impl Access<'gc>,
    state: &State<'gc>,
    (number, function): (u32, &Function),
    outer: Gc<'gc, Closure<'gc>>,
    base: usize,
) -> Gc<'gc, Closure<'gc>> {
    let variables = &function.captured;
    let captured = (!variables.is_empty()).then(|| {
        m.alloc_slice(variables.len(), |index| match variables[index] {
            Captured::Local(slot) => capture(m, state, base + slot as usize),
            Captured::Outer(number) => of(outer, number),
        })
    });
    m.alloc(Closure { function: number, captured })
}

/// The variable that a closure has captured under a number.
#[inline(always)]
pub(super) fn of<'gc>(closure: Gc<'gc, Closure<'gc>>, number: u8) -> Gc<'gc, Upvalue<'gc>> {
    closure.captured.expect("the compiler gives a number to what is captured alone")[number as usize]
}
