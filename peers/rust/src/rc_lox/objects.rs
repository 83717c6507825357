//! Closures, classes and instances; lists and maps by index. Invariant: the place of a field never changes.

use super::value::Value;
use foldhash::fast::FixedState;
use heapwood_workloads::lox::places::{NONE, Place, PlacedClass};
use indexmap::{IndexMap, IndexSet};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A function with what it has captured, in the function's order.
pub(super) struct Closure {
    pub(super) function: u32,
    pub(super) captured: Box<[Rc<Upvalue>]>,
}

/// A captured variable.
pub(super) type Upvalue = RefCell<Variable>;

pub(super) enum Variable {
    /// Its place on the stack, where it is as long as its frame or block.
    Open(usize),
    Closed(Value),
}

/// The place of an open variable.
pub(super) fn place(upvalue: &Upvalue) -> Option<usize> {
    match *upvalue.borrow() {
        Variable::Open(place) => Some(place),
        Variable::Closed(_) => None,
    }
}

/// A method with its instance.
pub(super) struct Bound {
    pub(super) this: Value,
    pub(super) method: Rc<Closure>,
}

pub(super) struct Class {
    /// Its number, which no other class of the machine has.
    id: u32,
    /// The number of its name.
    pub(super) name: u16,
    /// The fields that a new instance has room for.
    room: Cell<usize>,
    /// The names of the fields of its instances, each in its place.
    fields: RefCell<IndexSet<u16, FixedState>>,
    /// Its methods by name, with those of its superclass.
    methods: RefCell<IndexMap<u16, Rc<Closure>, FixedState>>,
}

impl Class {
    /// Gives instances a field.
    pub(super) fn add_field(&self, name: u16) {
        self.fields.borrow_mut().insert(name);
    }

    pub(super) fn new(id: u32, name: u16, fields: u8) -> Self {
        let room = Cell::new(fields.into());
        Class { id, name, room, fields: RefCell::default(), methods: RefCell::default() }
    }

    /// Adds a method, in place of one of the same name.
    pub(super) fn add_method(&self, name: u16, method: Rc<Closure>) {
        self.methods.borrow_mut().insert(name, method);
    }

    /// Takes over what a superclass has. A class may name itself.
    pub(super) fn inherit(&self, superclass: &Class) {
        let methods = superclass.methods.borrow().clone();
        self.methods.borrow_mut().extend(methods);
        self.room.set(self.room.get() + superclass.room.get());
    }

    /// The method in a place.
    #[inline(always)]
    pub(super) fn method(&self, place: u16) -> Option<Rc<Closure>> {
        self.methods.borrow().get_index(place.into()).map(|(_, method)| method.clone())
    }
}

/// The fields of an instance that need no vector. An object of any size behind one pointer takes `unsafe`, so it is the same for all.
const NEAR: usize = 4;

/// An instance: its fields in the order in which instances of its class first got each.
pub(super) struct Instance {
    pub(super) class: Rc<Class>,
    fields: RefCell<Fields>,
}

struct Fields {
    near: [Value; NEAR],
    far: Vec<Value>,
}

impl Instance {
    #[inline]
    pub(super) fn new(class: Rc<Class>) -> Self {
        let near = [const { Value::Absent }; NEAR];
        let far = Vec::with_capacity(class.room.get().saturating_sub(NEAR));
        Instance { class, fields: RefCell::new(Fields { near, far }) }
    }

    /// The value of the field in a place, which may be absent.
    #[inline(always)]
    pub(super) fn field(&self, place: u16) -> Value {
        let place = place as usize;
        let fields = self.fields.borrow();
        let field = if place < NEAR { Some(&fields.near[place]) } else { fields.far.get(place - NEAR) };
        match field {
            Some(value) => value.clone(),
            None => Value::Absent,
        }
    }

    /// Sets the field in a place.
    #[inline(always)]
    pub(super) fn set_field(&self, place: u16, value: Value) {
        let place = place as usize;
        let mut fields = self.fields.borrow_mut();
        let Fields { near, far } = &mut *fields;
        let field = if place < NEAR { Some(&mut near[place]) } else { far.get_mut(place - NEAR) };
        match field {
            Some(field) => field.set(value),
            None => {
                // The fields before it may come later.
                far.resize(place - NEAR, Value::Absent);
                far.push(value);
            }
        }
    }
}

/// A list of these values.
pub(super) fn list(values: Vec<Value>) -> Value {
    Value::List(Rc::new(values.into()))
}

/// The place that a number names in a list.
#[inline]
fn index_of(list: &[Value], index: &Value) -> Result<usize, String> {
    let Value::Number(number) = index else {
        return Err(format!("a list has no element of {}", index.what()));
    };
    let number = number.get();
    let place = number as usize;
    if place as f64 == number && place < list.len() {
        return Ok(place);
    }
    Err(format!("{number} is no place in a list of {} elements", list.len()))
}

/// The element in a place; of a map nil, if there is none.
#[inline]
pub(super) fn get(from: &Value, index: &Value) -> Result<Value, String> {
    match from {
        Value::List(list) => {
            let list = list.borrow();
            Ok(list[index_of(&list, index)?].clone())
        }
        Value::Map(map) => Ok(map.borrow().get(index).cloned().unwrap_or_default()),
        other => Err(format!("only lists and maps have elements, not {}", other.what())),
    }
}

/// Sets the element in a place; a map gets it if there is none.
#[inline]
pub(super) fn set(of: &Value, index: Value, value: Value) -> Result<(), String> {
    match of {
        Value::List(list) => {
            let mut list = list.borrow_mut();
            let place = index_of(&list, &index)?;
            list[place].set(value);
        }
        Value::Map(map) => _ = map.borrow_mut().insert(index, value),
        other => return Err(format!("only lists and maps have elements, not {}", other.what())),
    }
    Ok(())
}

impl PlacedClass for Class {
    #[inline(always)]
    fn id(&self) -> u32 {
        self.id
    }

    fn search(&self, name: u16) -> Place {
        let place = |place: Option<usize>| place.map_or(NONE, |place| place as u16);
        Place {
            field: place(self.fields.borrow().get_index_of(&name)),
            method: place(self.methods.borrow().get_index_of(&name)),
        }
    }
}
