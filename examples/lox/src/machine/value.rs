//! Values, and the objects that they lead to. A value is two words: a number or a pointer beside its variant.

use crate::door::{self, Cell, Ptr, Slice, Table, Text, Vector};
use heapwood_lox::natives;
use std::hash::{Hash, Hasher};

door::value! {
    /// What variables, fields and the stack hold.
    #[derive(Default)]
    pub(crate) enum Value<'gc> {
        Nil,
        /// No value: what a vacant place of a collection has, a global variable or field that nobody has set. Programs never see it.
        #[default]
        Nothing,
        Bool(bool),
        Number(f64),
        /// Its place in `natives::ALL`.
        Native(u32),
        Text(Text<'gc>),
        List(Ptr<'gc, Vector<'gc, Value<'gc>>>),
        Map(Ptr<'gc, Table<'gc, Value<'gc>>>),
        Closure(Ptr<'gc, Closure<'gc>>),
        Class(Ptr<'gc, Class<'gc>>),
        Instance(Ptr<'gc, Instance<'gc>>),
        Bound(Ptr<'gc, Bound<'gc>>),
        /// A variable that closures share. On the stack only, in the place of a variable.
        Box(Ptr<'gc, Cell<'gc, Value<'gc>>>),
    }
}

const _: () = assert!(size_of::<Value<'_>>() == 16);

door::object! {
    /// A function and the variables that it has captured.
    pub(crate) struct Closure<'gc> {
        /// Its place in the program.
        pub(crate) function: u32,
        /// Boxes.
        pub(crate) captured: Slice<'gc, Ptr<'gc, Cell<'gc, Value<'gc>>>>,
    }
}

door::object! {
    pub(crate) struct Class<'gc> {
        /// Its place in the program. Classes of one declaration share the layout of their objects.
        pub(crate) declaration: u32,
        /// A closure or `Nothing` for each name of the program, those of superclasses among them.
        pub(crate) methods: Vector<'gc, Value<'gc>>,
    }
}

door::object! {
    pub(crate) struct Instance<'gc> {
        pub(crate) class: Ptr<'gc, Class<'gc>>,
        /// In the order of the layout; `Nothing` where none was set.
        pub(crate) fields: Vector<'gc, Value<'gc>>,
    }
}

door::object! {
    /// A method of an object.
    pub(crate) struct Bound<'gc> {
        pub(crate) this: Ptr<'gc, Instance<'gc>>,
        pub(crate) method: Ptr<'gc, Closure<'gc>>,
    }
}

impl<'gc> Value<'gc> {
    pub(crate) fn is_true(&self) -> bool {
        !matches!(self, Value::Nil | Value::Bool(false))
    }

    /// For messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Nil | Value::Nothing => "nil",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Native(_) | Value::Closure(_) | Value::Bound(_) => "a function",
            Value::Class(_) => "a class",
            Value::Instance(_) | Value::Box(_) => "an object",
        }
    }

    pub(crate) fn native(place: u32) -> natives::Native {
        natives::ALL[place as usize].0
    }
}

/// Texts are equal by content, other objects by identity.
impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        use Value::*;
        match (self, other) {
            (Number(a), Number(b)) => a == b,
            (Text(a), Text(b)) => **a == **b,
            (Nil, Nil) | (Nothing, Nothing) => true,
            (Bool(a), Bool(b)) => a == b,
            (Native(a), Native(b)) => a == b,
            (List(a), List(b)) => door::same(a, b),
            (Map(a), Map(b)) => door::same(a, b),
            (Closure(a), Closure(b)) => door::same(a, b),
            (Class(a), Class(b)) => door::same(a, b),
            (Instance(a), Instance(b)) => door::same(a, b),
            (Bound(a), Bound(b)) => door::same(a, b),
            _ => false,
        }
    }
}

/// As keys of maps, which are numbers other than NaN, texts and booleans.
impl Eq for Value<'_> {}

impl Hash for Value<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            // Both zeros are equal.
            Value::Number(number) => state.write_u64((number + 0.0).to_bits()),
            Value::Text(text) => state.write(text.as_bytes()),
            Value::Bool(value) => state.write_u8((*value).into()),
            _ => {}
        }
    }
}
