//! Calls of what is no closure; fields and methods by name; and the messages about them.

use super::host::{Called, Machine};
use super::natives;
use super::objects::{class_of, field, instantiate, set_field};
use super::value::{Bound, Class, Closure, Instance, Value};
use crate::lox::front::{INIT, Native};
use crate::lox::places::NONE;
use heapwood::Access;
use heapwood::session::Gc;

impl Machine<'_> {
    /// Calls what is neither a closure nor a class. It lies below its arguments, at the end of `stack`, and what a closure finds there as its
    /// first value takes its place.
    #[inline(never)]
    pub(super) fn call<'gc>(
        &mut self,
        m: &impl Access<'gc>,
        callee: Value<'gc>,
        stack: &mut [Value<'gc>],
        args: u8,
    ) -> Result<Called<'gc>, String> {
        let at = stack.len() - 1 - args as usize;
        match callee {
            Value::Closure(closure) => Ok(Called::Enter(closure)),
            Value::Class(class) => {
                stack[at] = Value::Instance(instantiate(m, class));
                match self.method(&class, INIT) {
                    Some(init) => Ok(Called::Enter(init)),
                    None if args == 0 => Ok(Called::Returned(stack[at])),
                    None => Err(self.no_init(&class, args)),
                }
            }
            Value::Bound(bound) => {
                stack[at] = bound.this;
                Ok(Called::Enter(bound.method))
            }
            Value::Native(native) => self.call_native(m, native, &stack[at + 1..]).map(Called::Returned),
            other => Err(format!("only functions and classes can be called, not {}", other.what())),
        }
    }

    /// Calls a function of the machine, by its place among all.
    #[inline(always)]
    pub(super) fn call_native<'gc>(
        &mut self,
        m: &impl Access<'gc>,
        native: u64,
        args: &[Value<'gc>],
    ) -> Result<Value<'gc>, String> {
        let native = Native::ALL[native as usize];
        if native.arity() as usize != args.len() {
            return Err(takes(native.name(), native.arity(), args.len() as u8));
        }
        natives::call(m, self.program, &mut self.scratch, native, args)
    }

    /// The field of an instance, which may be absent.
    #[inline(always)]
    pub(super) fn field<'gc>(&self, instance: Gc<'gc, Instance<'gc>>, name: u16) -> Value<'gc> {
        match self.places.of(&*class_of(&instance), name).field {
            NONE => Value::ABSENT,
            place => field(&instance, place),
        }
    }

    /// The method of an instance, with it.
    #[inline(never)]
    pub(super) fn bound<'gc>(
        &self,
        m: &impl Access<'gc>,
        instance: Gc<'gc, Instance<'gc>>,
        name: u16,
    ) -> Result<Value<'gc>, String> {
        let this = Value::Instance(instance);
        match self.method(&class_of(&instance), name) {
            Some(method) => Ok(Value::Bound(m.alloc(Bound { this, method }))),
            None => Err(self.no_property(this, name)),
        }
    }

    /// The method of a class.
    #[inline(always)]
    pub(super) fn method<'gc>(&self, class: &Class<'gc>, name: u16) -> Option<Gc<'gc, Closure<'gc>>> {
        class.methods.get(self.places.of(class, name).method as usize)
    }

    /// Sets a field of an instance.
    #[inline(always)]
    pub(super) fn set_property<'gc>(
        &self,
        m: &impl Access<'gc>,
        instance: Gc<'gc, Instance<'gc>>,
        name: u16,
        value: Value<'gc>,
    ) {
        let class = class_of(&instance);
        let place = self.places.of_field(&*class, name, || class.add_field(m, name));
        set_field(m, &instance, place, value);
    }

    /// The method of a superclass.
    pub(super) fn super_method<'gc>(
        &self,
        superclass: Value<'gc>,
        name: u16,
    ) -> Result<Gc<'gc, Closure<'gc>>, String> {
        let Value::Class(class) = superclass else { return Err("a superclass is a class".into()) };
        match self.method(&class, name) {
            Some(method) => Ok(method),
            None => Err(format!(
                "the superclass {} has no method '{}'",
                self.program.names[class.name as usize], self.program.names[name as usize]
            )),
        }
    }

    #[cold]
    pub(super) fn no_property(&self, of: Value<'_>, name: u16) -> String {
        let names = &self.program.names;
        let name = &names[name as usize];
        match of {
            Value::Instance(instance) => {
                format!("{} has no field or method '{name}'", names[class_of(&instance).name as usize])
            }
            other => format!("only instances have fields and methods such as '{name}', not {}", other.what()),
        }
    }

    #[cold]
    pub(super) fn no_init(&self, class: &Class<'_>, args: u8) -> String {
        takes(&self.program.names[class.name as usize], 0, args)
    }

    #[cold]
    pub(super) fn no_global(&self, global: u16) -> String {
        format!("there is no variable '{}'", self.program.globals[global as usize])
    }

    #[cold]
    pub(super) fn wrong_count(&self, function: u32, args: u8) -> String {
        let function = &self.program.functions[function as usize];
        takes(&function.name, function.arity, args)
    }
}

#[cold]
fn takes(name: &str, arity: u8, args: u8) -> String {
    let plural = if arity == 1 { "" } else { "s" };
    format!("'{name}' takes {arity} argument{plural}, not {args}")
}
