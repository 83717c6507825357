//! What a machine has beside its stack, and what the loop leaves to functions: captured variables, the functions of the machine, what is
//! not usual, and messages.

use super::objects::{Bound, Class, Closure, Instance, Upvalue, Variable, list, place};
use super::value::Value;
use heapwood_workloads::lox::front::{Compare, Native, Program};
use heapwood_workloads::lox::places::Places;
use std::cell::RefCell;
use std::mem;
use std::rc::Rc;

pub(super) struct Machine<'p> {
    pub(super) program: &'p Program,
    pub(super) places: Places,
    pub(super) classes: u32,
    pub(super) globals: Vec<Value>,
    pub(super) texts: Vec<Value>,
    /// The captured variables that are on the stack, from the bottom up, each place once.
    pub(super) open: Vec<Rc<Upvalue>>,
    /// Text that is made.
    pub(super) scratch: String,
    pub(super) print: &'p mut dyn FnMut(&str),
}

/// What a call comes to that is neither of a closure nor of a class.
pub(super) enum Called {
    /// A call of this closure.
    Enter(Rc<Closure>),
    /// A value.
    Returned(Value),
}

impl<'p> Machine<'p> {
    /// A machine that runs a program once, and passes what it prints to `print`, line by line.
    pub(super) fn new(program: &'p Program, print: &'p mut dyn FnMut(&str)) -> Self {
        let global = |index| if index < Native::ALL.len() { Value::Native(index) } else { Value::Absent };
        Machine {
            program,
            places: Places::new(),
            classes: 0,
            globals: (0..program.globals.len()).map(global).collect(),
            texts: program.texts.iter().map(|text| Value::from(text.as_str())).collect(),
            open: Vec::new(),
            scratch: String::new(),
            print,
        }
    }

    /// Calls what is neither a closure nor a class. It has left its place, which is below its arguments, at the end of `stack`.
    #[inline(never)]
    pub(super) fn call(&mut self, callee: Value, stack: &mut [Value], args: u8) -> Result<Called, String> {
        let at = stack.len() - 1 - args as usize;
        match callee {
            Value::Closure(closure) => Ok(Called::Enter(closure)),
            Value::Bound(bound) => {
                stack[at] = bound.this.clone();
                Ok(Called::Enter(bound.method.clone()))
            }
            Value::Native(native) => {
                let native = Native::ALL[native];
                if native.arity() != args {
                    return Err(takes(native.name(), native.arity(), args));
                }
                self.call_native(native, &mut stack[at + 1..]).map(Called::Returned)
            }
            other => Err(format!("only functions and classes can be called, not {}", other.what())),
        }
    }

    /// The method of an instance, with it.
    #[inline(never)]
    pub(super) fn bound(&self, instance: &Rc<Instance>, name: u16) -> Result<Value, String> {
        let this = Value::Instance(instance.clone());
        match self.method(&instance.class, name) {
            Some(method) => Ok(Value::Bound(Rc::new(Bound { this, method }))),
            None => Err(self.no_property(&this, name)),
        }
    }

    /// The method of a class.
    #[inline(always)]
    pub(super) fn method(&self, class: &Class, name: u16) -> Option<Rc<Closure>> {
        class.method(self.places.of(class, name).method)
    }

    /// The method of a superclass.
    pub(super) fn super_method(&self, superclass: &Value, name: u16) -> Result<Rc<Closure>, String> {
        let Value::Class(class) = superclass else { return Err("a superclass is a class".into()) };
        self.method(class, name).ok_or_else(|| {
            let names = &self.program.names;
            let (class, name) = (&names[class.name as usize], &names[name as usize]);
            format!("the superclass {class} has no method '{name}'")
        })
    }

    /// The captured variable in a place of the stack.
    pub(super) fn capture(&mut self, at: usize) -> Rc<Upvalue> {
        let mut index = self.open.len();
        while let Some(below) = index.checked_sub(1)
            && let Some(place) = place(&self.open[below])
            && place >= at
        {
            if place == at {
                return self.open[below].clone();
            }
            index = below;
        }
        let new = Rc::new(RefCell::new(Variable::Open(at)));
        self.open.insert(index, new.clone());
        new
    }

    /// Closes the captured variables from a place of the stack upwards: each takes its value off the stack.
    #[inline(never)]
    pub(super) fn close(&mut self, stack: &mut [Value], from: usize) {
        while let Some(last) = self.open.last()
            && let Some(place) = place(last)
            && place >= from
        {
            last.replace(Variable::Closed(mem::take(&mut stack[place])));
            self.open.pop();
        }
    }

    /// The sum of two values that are not both numbers.
    #[inline(never)]
    pub(super) fn add(&mut self, a: &Value, b: &Value) -> Result<Value, String> {
        let (Value::Text(first), Value::Text(second)) = (a, b) else {
            return Err("only two numbers or two texts can be added".into());
        };
        self.scratch.clear();
        self.scratch.push_str(first);
        self.scratch.push_str(second);
        Ok(Value::from(self.scratch.as_str()))
    }

    #[cold]
    pub(super) fn no_property(&self, of: &Value, name: u16) -> String {
        let names = &self.program.names;
        let name = &names[name as usize];
        match of {
            Value::Instance(instance) => {
                format!("{} has no field or method '{name}'", names[instance.class.name as usize])
            }
            other => format!("only instances have fields and methods such as '{name}', not {}", other.what()),
        }
    }

    #[cold]
    pub(super) fn no_global(&self, global: u16) -> String {
        format!("there is no variable '{}'", self.program.globals[global as usize])
    }

    /// Calls a function of the machine with as many arguments as it takes. It may take them out.
    #[inline(never)]
    fn call_native(&mut self, native: Native, args: &mut [Value]) -> Result<Value, String> {
        let name = native.name();
        let wrong = |what: &str, arg: &Value| Err(format!("'{name}' takes {what}, not {}", arg.what()));
        Ok(match (native, args) {
            (Native::Len, [Value::Text(text)]) => Value::from(text.chars().count() as f64),
            (Native::Len, [Value::List(list)]) => Value::from(list.borrow().len() as f64),
            (Native::Len, [Value::Map(map)]) => Value::from(map.borrow().len() as f64),
            (Native::Len, args) => return wrong("a text, a list or a map", &args[0]),
            (Native::Push, [Value::List(list), value]) => {
                list.borrow_mut().push(mem::take(value));
                Value::Nil
            }
            (Native::Pop, [Value::List(list)]) => {
                let Some(value) = list.borrow_mut().pop() else {
                    return Err("'pop' takes a list that is not empty".into());
                };
                value
            }
            (Native::Push | Native::Pop, args) => return wrong("a list", &args[0]),
            (Native::Map, _) => Value::Map(Rc::default()),
            (Native::Keys, [Value::Map(map)]) => list(map.borrow().keys().cloned().collect()),
            (Native::Has, [Value::Map(map), key]) => Value::from(map.borrow().contains_key(&*key)),
            (Native::Remove, [Value::Map(map), key]) => {
                let removed = map.borrow_mut().swap_remove(&*key);
                removed.unwrap_or_default()
            }
            (Native::Keys | Native::Has | Native::Remove, args) => return wrong("a map", &args[0]),
            (Native::Str, args) => {
                self.scratch.clear();
                args[0].show(self.program, 0, &mut self.scratch);
                Value::from(self.scratch.as_str())
            }
            (Native::Split, [Value::Text(text), Value::Text(separator)]) if !separator.is_empty() => {
                list(text.split(&***separator).map(Value::from).collect())
            }
            (Native::Split, [Value::Text(_), Value::Text(_)]) => {
                return Err("'split' takes a separator that is not empty".into());
            }
            (Native::Split, args) => return wrong("two texts", &args[0]),
            (Native::Floor, [Value::Number(number)]) => Value::from(number.get().floor()),
            (Native::Floor, args) => return wrong("a number", &args[0]),
        })
    }
}

/// Whether two values compare so that are not both numbers.
#[inline(never)]
pub(super) fn compare(how: Compare, a: &Value, b: &Value) -> Result<bool, String> {
    match how {
        Compare::Equal => Ok(a.equals(b)),
        Compare::NotEqual => Ok(!a.equals(b)),
        _ => Err("only numbers can be compared".into()),
    }
}

#[cold]
pub(super) fn takes(name: &str, arity: u8, args: u8) -> String {
    let plural = if arity == 1 { "" } else { "s" };
    format!("'{name}' takes {arity} argument{plural}, not {args}")
}
