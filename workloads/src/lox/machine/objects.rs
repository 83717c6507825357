//! Classes and instances.
//!
//! An instance is a slice: its class, and then its fields in the order in which instances of that class first got each. A class knows from
//! its text how many there will be. An instance with more keeps the further ones elsewhere, and its first element says where.

use super::value::{Class, Closure, Instance, Outgrown, Value};
use crate::lox::places::{NONE, Place, PlacedClass};
use heapwood::session::{Gc, GcMap, GcVec};
use heapwood::{Access, GcCell};
use std::cell::Cell;

/// The fields that a new instance has room for at most.
const MOST_ROOM: u32 = 255;

impl<'gc> Class<'gc> {
    /// A class without methods.
    pub(super) fn new(id: u32, name: u16, fields: u8) -> Self {
        Class {
            id,
            name,
            room: Cell::new(fields.into()),
            fields: GcMap::new(),
            method_places: GcMap::new(),
            methods: GcVec::new(),
        }
    }

    /// Adds a method, in place of one of the same name.
    pub(super) fn add_method(&self, m: &impl Access<'gc>, name: u16, method: Gc<'gc, Closure<'gc>>) {
        match self.method_places.get(&name) {
            Some(place) => _ = self.methods.set(m, place.into(), method),
            None => {
                self.method_places.insert(m, name, self.methods.len() as u16);
                self.methods.push(m, method);
            }
        }
    }

    /// Gives instances a field.
    pub(super) fn add_field(&self, m: &impl Access<'gc>, name: u16) {
        // There are fewer names than numbers, so the place is a number, and not `NONE`.
        self.fields.insert(m, name, self.fields.len() as u16);
    }

    /// Takes over what a superclass has.
    pub(super) fn inherit(&self, m: &impl Access<'gc>, superclass: &Class<'gc>) {
        for (name, place) in superclass.method_places.iter() {
            if let Some(method) = superclass.methods.get(place.into()) {
                self.add_method(m, name, method);
            }
        }
        self.room.set((self.room.get() + superclass.room.get()).min(MOST_ROOM));
    }
}

impl PlacedClass for Class<'_> {
    #[inline(always)]
    fn id(&self) -> u32 {
        self.id
    }

    fn search(&self, name: u16) -> Place {
        Place {
            field: self.fields.get(&name).unwrap_or(NONE),
            method: self.method_places.get(&name).unwrap_or(NONE),
        }
    }
}

/// A new instance, without fields.
#[inline]
pub(super) fn instantiate<'gc>(m: &impl Access<'gc>, class: Gc<'gc, Class<'gc>>) -> Gc<'gc, Instance<'gc>> {
    let value = |index| if index == 0 { Value::Class(class) } else { Value::ABSENT };
    m.alloc_slice(1 + class.room.get() as usize, |index| GcCell::new(value(index)))
}

/// The class of an instance.
#[inline(always)]
pub(super) fn class_of<'gc>(instance: &Instance<'gc>) -> Gc<'gc, Class<'gc>> {
    match instance[0].get() {
        Value::Class(class) => class,
        Value::Moved(outgrown) => outgrown.class,
        _ => unreachable!("an instance begins with its class"),
    }
}

/// The value of the field in a place, which may be absent.
#[inline(always)]
pub(super) fn field<'gc>(instance: &Instance<'gc>, place: u16) -> Value<'gc> {
    match instance.get(1 + place as usize) {
        Some(cell) => cell.get(),
        None => far_field(instance, place),
    }
}

#[cold]
fn far_field<'gc>(instance: &Instance<'gc>, place: u16) -> Value<'gc> {
    let Value::Moved(outgrown) = instance[0].get() else { return Value::ABSENT };
    outgrown.fields.get(1 + place as usize - instance.len()).unwrap_or(Value::ABSENT)
}

/// Sets the field in a place.
#[inline(always)]
pub(super) fn set_field<'gc>(m: &impl Access<'gc>, instance: &Instance<'gc>, place: u16, value: Value<'gc>) {
    match instance.get(1 + place as usize) {
        Some(cell) => cell.set(m, value),
        None => set_far_field(m, instance, place, value),
    }
}

#[cold]
fn set_far_field<'gc>(m: &impl Access<'gc>, instance: &Instance<'gc>, place: u16, value: Value<'gc>) {
    let outgrown = match instance[0].get() {
        Value::Moved(outgrown) => outgrown,
        _ => {
            let class = class_of(instance);
            let outgrown = m.alloc(Outgrown { class, fields: GcVec::new() });
            instance[0].set(m, Value::Moved(outgrown));
            outgrown
        }
    };
    let index = 1 + place as usize - instance.len();
    while outgrown.fields.len() <= index {
        outgrown.fields.push(m, Value::ABSENT);
    }
    outgrown.fields.set(m, index, value);
}
