//! The values of Lox. Invariant: a program never sees `Absent`, which a field or a global holds that is not there.

use super::objects::{Bound, Class, Closure, Instance};
use foldhash::fast::FixedState;
use heapwood_workloads::lox::front::{Native, Program};
use indexmap::IndexMap;
use std::cell::RefCell;
use std::fmt::{self, Write};
use std::hash::{Hash, Hasher};
use std::mem;
use std::rc::Rc;

/// A number, by its bits.
#[derive(Clone, Copy)]
pub(super) struct Number(u64);

impl Number {
    #[inline(always)]
    pub(super) fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// A text, which never changes. An `Rc<str>` has two words, so that a value would have three.
pub(super) type Text = Rc<Box<str>>;
pub(super) type List = RefCell<Vec<Value>>;
pub(super) type Map = RefCell<IndexMap<Value, Value, FixedState>>;

/// A value: two words. What follows the variant is one word in each, and no float, so that the compiler keeps a value in two
/// registers. As a key of a map it is equal to the same number, text or object.
#[derive(Clone, Default)]
pub(super) enum Value {
    #[default]
    Nil,
    True,
    False,
    /// No field, or no global.
    Absent,
    Number(Number),
    /// A function of the machine, by its place among all.
    Native(usize),
    Text(Text),
    List(Rc<List>),
    Map(Rc<Map>),
    Closure(Rc<Closure>),
    Class(Rc<Class>),
    Instance(Rc<Instance>),
    Bound(Rc<Bound>),
}

const _: () = assert!(size_of::<Value>() == 16);

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            // A number that is none is one key.
            (Value::Number(a), Value::Number(b)) if a.get().is_nan() => b.get().is_nan(),
            _ => self.equals(other),
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            // Zero has two signs, and is one key.
            Value::Number(number) if number.get().is_nan() => state.write_u64(1),
            Value::Number(number) => state.write_u64((number.get() + 0.0).to_bits()),
            Value::Text(text) => text.hash(state),
            value => state.write_usize(value.address()),
        }
    }
}

impl From<f64> for Value {
    #[inline(always)]
    fn from(number: f64) -> Self {
        Value::Number(Number(number.to_bits()))
    }
}

impl From<bool> for Value {
    #[inline(always)]
    fn from(is: bool) -> Self {
        if is { Value::True } else { Value::False }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(Rc::new(text.into()))
    }
}

/// Lists and maps that are shown in one another.
const DEEPEST: u32 = 4;

impl Value {
    /// Drops a value, without a call if it owns nothing.
    #[inline(always)]
    pub(super) fn discard(self) {
        match self {
            Value::Nil | Value::True | Value::False | Value::Absent | Value::Number(_) | Value::Native(_) => {
                mem::forget(self);
            }
            _ => drop(self),
        }
    }

    /// Puts another value in its place.
    #[inline(always)]
    pub(super) fn set(&mut self, value: Value) {
        mem::replace(self, value).discard();
    }

    /// Whether a condition holds: all values do but nil and false.
    #[inline(always)]
    pub(super) fn is_true(&self) -> bool {
        !matches!(self, Value::Nil | Value::False)
    }

    /// The address of its object, or another number of its own kind.
    fn address(&self) -> usize {
        match self {
            Value::Nil | Value::Absent | Value::Number(_) => 4,
            Value::False => 1,
            Value::True => 2,
            Value::Native(native) => 16 + native,
            Value::Text(text) => Rc::as_ptr(text).addr(),
            Value::List(list) => Rc::as_ptr(list).addr(),
            Value::Map(map) => Rc::as_ptr(map).addr(),
            Value::Closure(closure) => Rc::as_ptr(closure).addr(),
            Value::Class(class) => Rc::as_ptr(class).addr(),
            Value::Instance(instance) => Rc::as_ptr(instance).addr(),
            Value::Bound(bound) => Rc::as_ptr(bound).addr(),
        }
    }

    /// Whether both are equal, as `==` says: numbers and texts by content, others by identity.
    #[inline]
    pub(super) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => a.get() == b.get(),
            (Value::Text(a), Value::Text(b)) => Rc::ptr_eq(a, b) || a == b,
            (Value::Number(_) | Value::Text(_), _) | (_, Value::Number(_) | Value::Text(_)) => false,
            (a, b) => a.address() == b.address(),
        }
    }

    /// What it is, in a message.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Value::Nil | Value::Absent => "nil",
            Value::True | Value::False => "a truth value",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Closure(_) | Value::Native(_) | Value::Bound(_) => "a function",
            Value::Class(_) => "a class",
            Value::Instance(_) => "an instance",
        }
    }

    /// Appends what `print` shows. `depth` says how many lists and maps it lies in: those beyond the fourth are not shown, so a
    /// list that contains itself ends.
    pub(super) fn show(&self, program: &Program, depth: u32, to: &mut String) {
        // Writing to a string does not fail.
        _ = self.write(program, depth, to);
    }

    fn write(&self, program: &Program, depth: u32, to: &mut String) -> fmt::Result {
        let function = |closure: &Closure| &program.functions[closure.function as usize].name;
        match self {
            Value::Nil | Value::Absent => to.write_str("nil"),
            Value::True => to.write_str("true"),
            Value::False => to.write_str("false"),
            Value::Number(number) => write!(to, "{}", number.get()),
            Value::Text(text) => to.write_str(text),
            Value::List(_) if depth == DEEPEST => to.write_str("[..]"),
            Value::Map(_) if depth == DEEPEST => to.write_str("{..}"),
            Value::List(list) => {
                to.push('[');
                for (index, value) in list.borrow().iter().enumerate() {
                    to.push_str(if index > 0 { ", " } else { "" });
                    value.write(program, depth + 1, to)?;
                }
                to.write_char(']')
            }
            Value::Map(map) => {
                to.push('{');
                for (index, (key, value)) in map.borrow().iter().enumerate() {
                    to.push_str(if index > 0 { ", " } else { "" });
                    key.write(program, depth + 1, to)?;
                    to.push_str(": ");
                    value.write(program, depth + 1, to)?;
                }
                to.write_char('}')
            }
            Value::Closure(closure) => write!(to, "<fun {}>", function(closure)),
            Value::Bound(bound) => write!(to, "<fun {}>", function(&bound.method)),
            Value::Native(native) => write!(to, "<fun {}>", Native::ALL[*native].name()),
            Value::Class(class) => to.write_str(&program.names[class.name as usize]),
            Value::Instance(instance) => {
                write!(to, "{} instance", program.names[instance.class.name as usize])
            }
        }
    }
}
