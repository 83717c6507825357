//! Classes, fields, lists and maps.

use super::value::{Class, Instance};
use super::{Machine, Value, Wrong};
use crate::door;
use heapwood_lox::number;
use heapwood_lox::program::Name;

impl<'gc> Machine<'gc, '_> {
    pub(super) fn make_class(&mut self, declaration: u32) {
        let methods = door::vector(self.m, self.program.names.len(), |_| Value::Nothing);
        let class = door::alloc(self.m, Class { declaration, methods });
        self.stack.push(self.m, Value::Class(class));
    }

    /// The class on top takes over the methods of the one below.
    pub(super) fn inherit(&mut self) -> Result<(), Wrong> {
        let (Value::Class(class), superclass) = (self.stack.pop(), self.stack.top()) else {
            unreachable!("a class was declared")
        };
        let Value::Class(superclass) = superclass else {
            return Err(format!("a class inherits from a class, not from {}", superclass.kind()));
        };
        for name in 0..self.program.names.len() {
            let method = superclass.methods.get(name).expect("it has each name");
            class.methods.set(self.m, name, method);
        }
        Ok(())
    }

    pub(super) fn add_method(&mut self, name: Name) {
        let method = self.stack.pop();
        let Value::Class(class) = self.stack.top() else { unreachable!("methods follow their class") };
        class.methods.set(self.m, name as usize, method);
    }

    /// A field that was set.
    pub(super) fn field(&self, this: &Instance<'gc>, name: Name) -> Option<Value<'gc>> {
        let place = self.state.layouts[this.class.declaration as usize].place(name)?;
        this.fields.get(place).filter(|value| !matches!(value, Value::Nothing))
    }

    pub(super) fn get_field(&mut self, name: Name) -> Result<(), Wrong> {
        let value = match self.stack.pop() {
            Value::Instance(this) => match self.field(&this, name) {
                Some(value) => value,
                None => {
                    let method = self.method(&this.class, name)?;
                    self.bind(this, method)
                }
            },
            other => return Err(format!("{} has no field {}", other.kind(), self.name(name))),
        };
        self.stack.push(self.m, value);
        Ok(())
    }

    pub(super) fn set_field(&mut self, name: Name) -> Result<(), Wrong> {
        let (value, this) = (self.stack.pop(), self.stack.pop());
        let Value::Instance(this) = this else {
            return Err(format!("{} has no fields", this.kind()));
        };
        let place = self.state.layouts[this.class.declaration as usize].place_or_new(name);
        // An object may be older than a field of its layout.
        while this.fields.len() <= place {
            this.fields.push(self.m, Value::Nothing);
        }
        this.fields.set(self.m, place, value.clone());
        self.stack.push(self.m, value);
        Ok(())
    }

    pub(super) fn get_super(&mut self, name: Name) -> Result<(), Wrong> {
        let (Value::Class(class), Value::Instance(this)) = (self.stack.pop(), self.stack.pop()) else {
            unreachable!("a method has an object, and its class a superclass")
        };
        let method = self.method(&class, name)?;
        let bound = self.bind(this, method);
        self.stack.push(self.m, bound);
        Ok(())
    }

    pub(super) fn make_list(&mut self, count: usize) {
        let first = self.stack.len() - count;
        let list = door::vector(self.m, count, |i| self.stack.get(first + i));
        self.stack.truncate(first);
        let list = door::alloc(self.m, list);
        self.stack.push(self.m, Value::List(list));
    }

    pub(super) fn make_map(&mut self, count: usize) -> Result<(), Wrong> {
        let first = self.stack.len() - 2 * count;
        let map = door::alloc(self.m, door::table(self.m));
        for i in 0..count {
            let key = key(self.stack.get(first + 2 * i))?;
            map.insert(self.m, key, self.stack.get(first + 2 * i + 1));
        }
        self.stack.truncate(first);
        self.stack.push(self.m, Value::Map(map));
        Ok(())
    }

    pub(super) fn get_index(&mut self) -> Result<(), Wrong> {
        let (index, of) = (self.stack.pop(), self.stack.pop());
        let value = match of {
            Value::List(list) => {
                let place = place(&index, list.len())?;
                list.get(place).expect("it is within")
            }
            Value::Map(map) => map.get(&key(index)?).unwrap_or(Value::Nil),
            other => return Err(format!("{} has no elements", other.kind())),
        };
        self.stack.push(self.m, value);
        Ok(())
    }

    pub(super) fn set_index(&mut self) -> Result<(), Wrong> {
        let (value, index, of) = (self.stack.pop(), self.stack.pop(), self.stack.pop());
        match of {
            Value::List(list) => {
                let place = place(&index, list.len())?;
                list.set(self.m, place, value.clone());
            }
            Value::Map(map) => {
                map.insert(self.m, key(index)?, value.clone());
            }
            other => return Err(format!("{} has no elements", other.kind())),
        }
        self.stack.push(self.m, value);
        Ok(())
    }
}

/// A key of maps.
pub(super) fn key(value: Value<'_>) -> Result<Value<'_>, Wrong> {
    match value {
        Value::Number(number) if number.is_nan() => Err("a key is not NaN".into()),
        Value::Number(_) | Value::Text(_) | Value::Bool(_) => Ok(value),
        other => Err(format!("a key is a number, a text or a boolean, not {}", other.kind())),
    }
}

/// A place in a list.
pub(super) fn place(index: &Value<'_>, len: usize) -> Result<usize, Wrong> {
    let Value::Number(index) = *index else {
        return Err(format!("an index is a number, not {}", index.kind()));
    };
    number::index(index, len).ok_or_else(|| format!("{} is no place among {len}", number::to_text(index)))
}
