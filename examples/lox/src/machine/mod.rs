//! The machine: a loop over instructions, a stack of values, calls. One text for all doors: what it knows of memory is `door`.
//! Invariant: whatever it still needs is on its stack, in its variables or reachable from there, whenever it allocates.
//!
//! | file | content |
//! |---|---|
//! | `value` | values and objects |
//! | `calls` | calls and methods |
//! | `objects` | classes, fields, lists and maps |
//! | `natives` | native functions |
//! | `show` | values as text |
//! | `state` | what a machine keeps besides objects |

// Values are `Copy` where the collector finds them, and counted elsewhere: the text serves both.
#![allow(clippy::clone_on_copy)]

mod calls;
mod natives;
mod objects;
mod show;
mod state;
mod value;

use crate::door::{self, Mutator, Slice, Stack};
use heapwood_lox::number;
use heapwood_lox::program::{Error, Op, Program};
use state::Frame;
pub(crate) use state::{State, Status};
pub(crate) use value::Value;

/// What goes wrong in a program, without its line.
type Wrong = String;

/// A program that runs: what it holds in the heap, and what it holds besides.
pub(crate) struct Machine<'gc, 'p> {
    m: Mutator<'gc>,
    program: &'p Program,
    state: &'p mut State,
    stack: Stack<'gc, Value<'gc>>,
    kept: Kept<'gc>,
}

door::value! {
    /// What a machine holds in the heap besides its stack.
    pub(crate) struct Kept<'gc> {
        /// Global variables.
        globals: Slice<'gc, door::Cell<'gc, Value<'gc>>>,
        /// The program's texts.
        texts: Slice<'gc, door::Text<'gc>>,
    }
}

impl<'gc> Kept<'gc> {
    /// The global variables at the start, and the texts of a program.
    pub(crate) fn new(m: Mutator<'gc>, program: &Program, size: f64) -> Self {
        let texts = door::slice(m, program.texts.len(), |i| door::text(m, &program.texts[i]));
        let natives = heapwood_lox::natives::ALL.len();
        let globals = door::slice(m, program.globals.len(), |i| {
            door::Cell::new(match i {
                _ if i < natives => Value::Native(i as u32),
                _ if i == natives => Value::Number(size),
                _ => Value::Nothing,
            })
        });
        Kept { globals, texts }
    }
}

impl<'gc, 'p> Machine<'gc, 'p> {
    /// A machine that goes on where `state` and `stack` are.
    pub(crate) fn new(
        m: Mutator<'gc>,
        program: &'p Program,
        state: &'p mut State,
        kept: Kept<'gc>,
        stack: Stack<'gc, Value<'gc>>,
    ) -> Self {
        Machine { m, program, state, stack, kept }
    }

    /// Runs until the program ends, or until the door wants the machine to stand still.
    /// Returns the stack, to be kept while the machine stands still.
    pub(crate) fn run(mut self) -> Result<(Status, Stack<'gc, Value<'gc>>), Error> {
        if !self.state.begun {
            let function = self.program.functions.len() as u32 - 1;
            self.state.frame = Frame { function, at: 0, base: 0 };
        }
        let Frame { function, base, .. } = self.state.frame;
        self.stack.make_room(base + self.program.functions[function as usize].room as usize);
        if !std::mem::replace(&mut self.state.begun, true) {
            // In the place of a callee, which nothing calls.
            self.stack.push(self.m, Value::Nil);
        }
        match self.steps() {
            Ok(status) => Ok((status, self.stack)),
            Err(why) => Err(self.state.error(self.program, why)),
        }
    }

    fn steps(&mut self) -> Result<Status, Wrong> {
        let m = self.m;
        let Frame { mut function, mut at, mut base } = self.state.frame;
        let mut code = &self.program.functions[function as usize].code[..];
        // The frame is up to date where somebody looks: what may fail, call or stop is preceded by `leave`, and calls and returns
        // are followed by `enter`.
        macro_rules! leave {
            () => {
                self.state.frame.at = at
            };
        }
        macro_rules! enter {
            () => {
                Frame { function, at, base } = self.state.frame;
                code = &self.program.functions[function as usize].code;
            };
        }
        macro_rules! attempt {
            ($result:expr) => {{
                leave!();
                $result?
            }};
        }
        loop {
            let op = code[at];
            at += 1;
            match op {
                Op::Nil => self.stack.push(m, Value::Nil),
                Op::True => self.stack.push(m, Value::Bool(true)),
                Op::False => self.stack.push(m, Value::Bool(false)),
                Op::Small(number) => self.stack.push(m, Value::Number(number.into())),
                Op::Number(place) => self.stack.push(m, Value::Number(self.program.numbers[place as usize])),
                Op::Text(place) => self.stack.push(m, Value::Text(self.kept.texts[place as usize].clone())),
                Op::Pop => {
                    self.stack.pop();
                }
                Op::GetLocal(slot) => {
                    let value = self.stack.get(base + slot as usize);
                    self.stack.push(m, value);
                }
                Op::SetLocal(slot) => {
                    let value = self.stack.top();
                    self.stack.set(m, base + slot as usize, value);
                }
                Op::GetShared(slot) => {
                    let value = match self.stack.get(base + slot as usize) {
                        Value::Box(shared) => shared.get(),
                        value => value,
                    };
                    self.stack.push(m, value);
                }
                Op::SetShared(slot) => {
                    let value = self.stack.top();
                    match self.stack.get(base + slot as usize) {
                        Value::Box(shared) => shared.set(m, value),
                        _ => self.stack.set(m, base + slot as usize, value),
                    }
                }
                Op::GetOuter(place) => {
                    let value = self.closure().captured[place as usize].get();
                    self.stack.push(m, value);
                }
                Op::SetOuter(place) => {
                    self.closure().captured[place as usize].set(m, self.stack.top());
                }
                Op::GetGlobal(place) => match self.kept.globals[place as usize].get() {
                    Value::Nothing => attempt!(Err(self.undefined(place))),
                    value => self.stack.push(m, value),
                },
                Op::SetGlobal(place) => {
                    let global = &self.kept.globals[place as usize];
                    if matches!(global.get(), Value::Nothing) {
                        leave!();
                        return Err(self.undefined(place));
                    }
                    global.set(m, self.stack.top());
                }
                Op::DefineGlobal(place) => {
                    let value = self.stack.pop();
                    self.kept.globals[place as usize].set(m, value);
                }
                Op::Equal => {
                    let (a, b) = self.stack.top_two();
                    let equal = Value::Bool(a == b);
                    self.stack.replace_two(m, equal);
                }
                Op::Less => attempt!(self.compare(|a, b| a < b)),
                Op::LessEqual => attempt!(self.compare(|a, b| a <= b)),
                Op::Greater => attempt!(self.compare(|a, b| a > b)),
                Op::GreaterEqual => attempt!(self.compare(|a, b| a >= b)),
                Op::Add => attempt!(self.add()),
                Op::Subtract => attempt!(self.calculate(|a, b| a - b)),
                Op::Multiply => attempt!(self.calculate(|a, b| a * b)),
                Op::Divide => attempt!(self.calculate(|a, b| a / b)),
                Op::Remainder => attempt!(self.calculate(number::remainder)),
                Op::Negate => match self.stack.pop() {
                    Value::Number(number) => self.stack.push(m, Value::Number(-number)),
                    other => attempt!(Err(format!("{} cannot be negated", other.kind()))),
                },
                Op::Not => {
                    let value = self.stack.pop();
                    self.stack.push(m, Value::Bool(!value.is_true()));
                }
                Op::Jump(to) => at = to as usize,
                Op::Loop(to) => {
                    at = to as usize;
                    if door::wants_to_collect(m) {
                        leave!();
                        return Ok(Status::Stands);
                    }
                }
                Op::JumpIfFalse(to) => {
                    if !self.stack.top().is_true() {
                        at = to as usize;
                    }
                }
                Op::JumpIfTrue(to) => {
                    if self.stack.top().is_true() {
                        at = to as usize;
                    }
                }
                Op::PopJumpIfFalse(to) => {
                    if !self.stack.pop().is_true() {
                        at = to as usize;
                    }
                }
                Op::Call(count) => {
                    attempt!(self.call(count as usize));
                    enter!();
                    if door::wants_to_collect(m) {
                        leave!();
                        return Ok(Status::Stands);
                    }
                }
                Op::Invoke(count, name) => {
                    attempt!(self.invoke(count.into(), name));
                    enter!();
                    if door::wants_to_collect(m) {
                        leave!();
                        return Ok(Status::Stands);
                    }
                }
                Op::InvokeSuper(count, name) => {
                    attempt!(self.invoke_super(count.into(), name));
                    enter!();
                }
                Op::Return => {
                    let result = self.stack.pop();
                    self.stack.truncate(base);
                    let Some(caller) = self.state.callers.pop() else { return Ok(Status::Ended) };
                    self.state.frame = caller;
                    self.stack.push(m, result);
                    enter!();
                }
                Op::Closure(function) => self.make_closure(function),
                Op::Class(declaration) => self.make_class(declaration),
                Op::Inherit => attempt!(self.inherit()),
                Op::Method(name) => self.add_method(name),
                Op::GetField(name) => attempt!(self.get_field(name)),
                Op::SetField(name) => attempt!(self.set_field(name)),
                Op::GetSuper(name) => attempt!(self.get_super(name)),
                Op::List(count) => self.make_list(count as usize),
                Op::Map(count) => attempt!(self.make_map(count as usize)),
                Op::GetIndex => attempt!(self.get_index()),
                Op::SetIndex => attempt!(self.set_index()),
                Op::Print => {
                    let value = self.stack.pop();
                    self.state.print(&self.show(&value));
                }
            }
        }
    }

    fn undefined(&self, place: u32) -> Wrong {
        let name = self.program.globals[place as usize];
        format!("there is no variable {}", self.program.names[name as usize])
    }

    fn calculate(&mut self, f: impl FnOnce(f64, f64) -> f64) -> Result<(), Wrong> {
        let (a, b) = self.numbers()?;
        self.stack.replace_two(self.m, Value::Number(f(a, b)));
        Ok(())
    }

    fn compare(&mut self, f: impl FnOnce(f64, f64) -> bool) -> Result<(), Wrong> {
        let (a, b) = self.numbers()?;
        self.stack.replace_two(self.m, Value::Bool(f(a, b)));
        Ok(())
    }

    /// The two on top, which stay.
    fn numbers(&self) -> Result<(f64, f64), Wrong> {
        match self.stack.top_two() {
            (Value::Number(a), Value::Number(b)) => Ok((*a, *b)),
            (a, b) => Err(format!("numbers are needed, not {} and {}", a.kind(), b.kind())),
        }
    }

    fn add(&mut self) -> Result<(), Wrong> {
        let sum = match self.stack.top_two() {
            (Value::Number(a), Value::Number(b)) => Value::Number(a + b),
            (Value::Text(a), Value::Text(b)) => Value::Text(door::join(self.m, a, b)),
            (a, b) => return Err(format!("{} and {} cannot be added", a.kind(), b.kind())),
        };
        self.stack.replace_two(self.m, sum);
        Ok(())
    }
}
