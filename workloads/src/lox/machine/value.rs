//! The values of Lox, and the objects that they lead to. Invariant: a program never sees `Absent`, `Open` and `Moved`. They are what a field or a global holds that is not
//! there, a captured variable that is on the stack, and the first element of an instance that has outgrown its slice.

use heapwood::session::{Gc, GcMap, GcVec};
use heapwood::{CellValue, GcCell, GcStr, NoPointers, Slice, Trace};
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

/// A number, by its bits.
#[derive(Clone, Copy, PartialEq, Eq, Trace, NoPointers, CellValue)]
pub(super) struct Number(u64);

impl Number {
    #[inline(always)]
    pub(super) fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// What a value without content has in its place. A word that is not written keeps what was there before, and the collector, which does
/// not know the variants, would take that for a pointer: each nil in a tree could keep an older tree.
#[derive(Clone, Copy, Trace, NoPointers, CellValue)]
pub(super) struct Zero(u64);

/// A value: two words. What follows the variant is one word in each, and no float, so that the compiler keeps a value in two registers and
/// copies it word by word. (Copies of both words at once would wait for the two stores that wrote the value.)
#[derive(Clone, Copy, Trace, CellValue)]
pub(super) enum Value<'gc> {
    /// No value.
    Nil(Zero),
    /// True.
    True(Zero),
    /// False.
    False(Zero),
    /// A number.
    Number(Number),
    /// A text, which never changes.
    Text(Gc<'gc, GcStr>),
    /// Values by their places.
    List(Gc<'gc, List<'gc>>),
    /// Values by keys.
    Map(Gc<'gc, Map<'gc>>),
    /// A function with what it has captured.
    Closure(Gc<'gc, Closure<'gc>>),
    /// A function of the machine, by its place among all.
    Native(u64),
    /// A class.
    Class(Gc<'gc, Class<'gc>>),
    /// An instance of a class.
    Instance(Gc<'gc, Instance<'gc>>),
    /// A method with its instance.
    Bound(Gc<'gc, Bound<'gc>>),
    /// No field, or no global.
    Absent(Zero),
    /// The place of a captured variable that is on the stack.
    Open(u64),
    /// Where the class and the further fields of an instance are.
    Moved(Gc<'gc, Outgrown<'gc>>),
}

const _: () = assert!(size_of::<Value>() == 16);

/// A function with what it has captured.
#[derive(Trace)]
pub(super) struct Closure<'gc> {
    /// The function's number.
    pub(super) function: u32,
    /// What it has captured, in the function's order.
    pub(super) captured: Option<Gc<'gc, Slice<Gc<'gc, Upvalue<'gc>>>>>,
}

/// A captured variable: its value, or the place on the stack where that is. As in clox, it is there as long as its frame is.
#[derive(Trace)]
pub(super) struct Upvalue<'gc>(pub(super) GcCell<Value<'gc>>);

const _: () = assert!(size_of::<Upvalue>() == 16);

/// A class.
#[derive(Trace)]
pub(super) struct Class<'gc> {
    /// Its number, which no other class of the machine has.
    pub(super) id: u32,
    /// The number of its name.
    pub(super) name: u16,
    /// The fields that a new instance has room for.
    pub(super) room: Cell<u32>,
    /// The places of the fields of its instances, by name.
    pub(super) fields: GcMap<'gc, u16, u16>,
    /// The places of its methods, by name.
    pub(super) method_places: GcMap<'gc, u16, u16>,
    /// Its methods, with those of its superclass.
    pub(super) methods: GcVec<'gc, Gc<'gc, Closure<'gc>>>,
}

/// An instance: its class, and its fields.
pub(super) type Instance<'gc> = Slice<GcCell<Value<'gc>>>;

/// What an instance has beside its slice.
#[derive(Trace)]
pub(super) struct Outgrown<'gc> {
    pub(super) class: Gc<'gc, Class<'gc>>,
    pub(super) fields: GcVec<'gc, Value<'gc>>,
}

/// A method with its instance.
#[derive(Trace)]
pub(super) struct Bound<'gc> {
    /// The instance.
    pub(super) this: Value<'gc>,
    /// The method.
    pub(super) method: Gc<'gc, Closure<'gc>>,
}

/// A list.
pub(super) type List<'gc> = GcVec<'gc, Value<'gc>>;

/// A map.
pub(super) type Map<'gc> = GcMap<'gc, Key<'gc>, Value<'gc>>;

/// A value as a key of a map: texts and numbers are compared by content, objects by identity. A number that is none is equal to itself.
#[derive(Clone, Copy, Trace, CellValue)]
pub(super) struct Key<'gc>(pub(super) Value<'gc>);

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Value::Number(a), Value::Number(b)) => {
                let (a, b) = (a.get(), b.get());
                a == b || (a.is_nan() && b.is_nan())
            }
            (a, b) => a.equals(b),
        }
    }
}

impl Eq for Key<'_> {}

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            // Zero has two signs, and is one key.
            Value::Number(number) if number.get().is_nan() => state.write_u64(1),
            Value::Number(number) => state.write_u64((number.get() + 0.0).to_bits()),
            Value::Text(text) => text.hash(state),
            value => state.write_usize(value.address()),
        }
    }
}

impl From<f64> for Value<'_> {
    #[inline(always)]
    fn from(number: f64) -> Self {
        Value::Number(Number(number.to_bits()))
    }
}

impl From<bool> for Value<'_> {
    #[inline(always)]
    fn from(is: bool) -> Self {
        if is { Value::TRUE } else { Value::FALSE }
    }
}

impl<'gc> Value<'gc> {
    pub(super) const NIL: Self = Value::Nil(Zero(0));
    pub(super) const TRUE: Self = Value::True(Zero(0));
    pub(super) const FALSE: Self = Value::False(Zero(0));
    pub(super) const ABSENT: Self = Value::Absent(Zero(0));

    /// Whether a condition holds: all values do but nil and false.
    #[inline(always)]
    pub(super) fn is_true(self) -> bool {
        !matches!(self, Value::Nil(_) | Value::False(_))
    }

    /// The address of its object, or another number of its own kind.
    fn address(self) -> usize {
        match self {
            Value::List(list) => Gc::as_ptr(list) as usize,
            Value::Map(map) => Gc::as_ptr(map) as usize,
            Value::Closure(closure) => Gc::as_ptr(closure) as usize,
            Value::Class(class) => Gc::as_ptr(class) as usize,
            Value::Instance(instance) => Gc::as_ptr(instance) as usize,
            Value::Bound(bound) => Gc::as_ptr(bound) as usize,
            Value::Text(text) => Gc::as_ptr(text) as usize,
            Value::Moved(outgrown) => Gc::as_ptr(outgrown) as usize,
            Value::False(_) => 1,
            Value::True(_) => 2,
            Value::Native(native) => 16 + native as usize,
            Value::Nil(_) | Value::Absent(_) | Value::Open(_) | Value::Number(_) => 4,
        }
    }

    /// Whether both are equal, as `==` says: numbers and texts by content, others by identity.
    #[inline]
    pub(super) fn equals(self, other: Self) -> bool {
        match (self, other) {
            (Value::Number(a), Value::Number(b)) => a.get() == b.get(),
            (Value::Text(a), Value::Text(b)) => Gc::ptr_eq(a, b) || a == b,
            (a, b) => discriminant(&a) == discriminant(&b) && a.address() == b.address(),
        }
    }
}
