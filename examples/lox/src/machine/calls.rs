//! Calls: of closures, methods, classes and native functions. The callee lies below its arguments, in the place of the call's
//! first variable; a method's object takes that place.

use super::state::Frame;
use super::value::{Bound, Class, Closure, Instance};
use super::{Machine, Value, Wrong};
use crate::door::{self, Ptr};
use heapwood_lox::program::{Capture, MOST_VALUES, Name};

impl<'gc> Machine<'gc, '_> {
    /// The closure that runs.
    pub(super) fn closure(&self) -> Ptr<'gc, Closure<'gc>> {
        let frame = &self.state.frame;
        let place = self.program.functions[frame.function as usize].closure_at as usize;
        match self.stack.get(frame.base + place) {
            Value::Closure(closure) => closure,
            other => unreachable!("{} in the place of a closure", other.kind()),
        }
    }

    pub(super) fn make_closure(&mut self, function: u32) {
        let captures = &self.program.functions[function as usize].captures;
        // Variables that are not in a box yet get one.
        for capture in captures {
            let Capture::Local(slot) = *capture else { continue };
            let place = self.state.frame.base + slot as usize;
            match self.stack.get(place) {
                Value::Box(_) => {}
                value => {
                    let shared = door::alloc(self.m, door::Cell::new(value));
                    self.stack.set(self.m, place, Value::Box(shared));
                }
            }
        }
        let captured = door::slice(self.m, captures.len(), |i| match captures[i] {
            Capture::Local(slot) => match self.stack.get(self.state.frame.base + slot as usize) {
                Value::Box(shared) => shared,
                other => unreachable!("{} in the place of a box", other.kind()),
            },
            Capture::Outer(place) => self.closure().captured[place as usize].clone(),
        });
        let closure = door::alloc(self.m, Closure { function, captured });
        self.stack.push(self.m, Value::Closure(closure));
    }

    /// Calls what is below `count` arguments.
    pub(super) fn call(&mut self, count: usize) -> Result<(), Wrong> {
        let place = self.stack.len() - 1 - count;
        let callee = self.stack.get(place);
        self.call_value(callee, place, count)
    }

    /// Calls `callee`, whose arguments are above `place`.
    fn call_value(&mut self, callee: Value<'gc>, place: usize, count: usize) -> Result<(), Wrong> {
        match callee {
            Value::Closure(closure) => self.enter(closure.function, place, count),
            Value::Bound(bound) => {
                self.stack.set(self.m, place, Value::Instance(bound.this.clone()));
                self.call_method(bound.method.clone(), place, count)
            }
            Value::Class(class) => self.construct(class, place, count),
            Value::Native(native) => {
                let (name, arity) = Value::native(native).signature();
                if count != arity as usize {
                    return Err(format!("{name} takes {arity} arguments, not {count}"));
                }
                let result = self.call_native(Value::native(native), place + 1)?;
                self.stack.truncate(place);
                self.stack.push(self.m, result);
                Ok(())
            }
            other => Err(format!("{} cannot be called", other.kind())),
        }
    }

    fn call_method(
        &mut self,
        method: Ptr<'gc, Closure<'gc>>,
        place: usize,
        count: usize,
    ) -> Result<(), Wrong> {
        self.enter(method.function, place, count)?;
        self.stack.push(self.m, Value::Closure(method));
        Ok(())
    }

    fn enter(&mut self, function: u32, place: usize, count: usize) -> Result<(), Wrong> {
        let callee = &self.program.functions[function as usize];
        if count != callee.arity as usize {
            return Err(format!("{} takes {} arguments, not {count}", callee.name, callee.arity));
        }
        if place + callee.room as usize > MOST_VALUES {
            return Err("calls are nested too deeply".into());
        }
        self.stack.make_room(place + callee.room as usize);
        self.state.callers.push(self.state.frame);
        self.state.frame = Frame { function, at: 0, base: place };
        Ok(())
    }

    fn construct(&mut self, class: Ptr<'gc, Class<'gc>>, place: usize, count: usize) -> Result<(), Wrong> {
        let fields = self.state.layouts[class.declaration as usize].fields();
        let fields = door::vector(self.m, fields, |_| Value::Nothing);
        let this = door::alloc(self.m, Instance { class: class.clone(), fields });
        self.stack.set(self.m, place, Value::Instance(this));
        match class.methods.get(self.program.init as usize) {
            Some(Value::Closure(init)) => self.call_method(init, place, count),
            _ if count == 0 => Ok(()),
            _ => Err(format!("a class without init takes no arguments, not {count}")),
        }
    }

    pub(super) fn invoke(&mut self, count: usize, name: Name) -> Result<(), Wrong> {
        let place = self.stack.len() - 1 - count;
        let Value::Instance(this) = self.stack.get(place) else {
            return Err(format!("{} has no method {}", self.stack.get(place).kind(), self.name(name)));
        };
        if let Some(field) = self.field(&this, name) {
            self.stack.set(self.m, place, field.clone());
            return self.call_value(field, place, count);
        }
        let method = self.method(&this.class, name)?;
        self.call_method(method, place, count)
    }

    pub(super) fn invoke_super(&mut self, count: usize, name: Name) -> Result<(), Wrong> {
        let Value::Class(class) = self.stack.pop() else { unreachable!("a superclass is a class") };
        let place = self.stack.len() - 1 - count;
        let method = self.method(&class, name)?;
        self.call_method(method, place, count)
    }

    pub(super) fn bind(
        &mut self,
        this: Ptr<'gc, Instance<'gc>>,
        method: Ptr<'gc, Closure<'gc>>,
    ) -> Value<'gc> {
        Value::Bound(door::alloc(self.m, Bound { this, method }))
    }

    pub(super) fn method(&self, class: &Class<'gc>, name: Name) -> Result<Ptr<'gc, Closure<'gc>>, Wrong> {
        match class.methods.get(name as usize) {
            Some(Value::Closure(method)) => Ok(method),
            _ => Err(format!("there is no field or method {}", self.name(name))),
        }
    }

    pub(super) fn name(&self, name: Name) -> &str {
        &self.program.names[name as usize]
    }
}
