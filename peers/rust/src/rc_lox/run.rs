//! The loop over the instructions. Invariants: while it runs, the first `top` values of the stack are those of the program, and the
//! places above own nothing; a call makes sure that the stack has room for all that its function may push.

use super::machine::{Called, Machine, compare, takes};
use super::objects::{self, Bound, Class, Closure, Instance, Variable};
use super::value::Value;
use heapwood_workloads::lox::front::{Captured, Function, INIT, LoxError, MOST_SLOTS, Op, remainder};
use heapwood_workloads::lox::places::NONE;
use std::cell::RefCell;
use std::mem;
use std::rc::Rc;

/// The values on the stack at most: a power of two, so that an index is cut down to it without a branch.
const VALUES: usize = 1 << 14;
const _: () = assert!(VALUES > MOST_SLOTS as usize);
const VALUE: usize = VALUES - 1;

/// The calls that are not over at most, beside the innermost.
const FRAMES: usize = (1 << 10) - 1;

const TOO_DEEP: &str = "calls are nested too deeply";

/// A call that is not over, beside the innermost.
struct Frame {
    closure: Rc<Closure>,
    /// The next instruction.
    next: u32,
    /// The place of its first value on the stack.
    base: u32,
}

impl Machine<'_> {
    /// Runs the program to its end.
    pub(super) fn run(mut self) -> Result<(), LoxError> {
        let mut stack = [const { Value::Nil }; VALUES];
        self.run_on(&mut stack)
    }

    #[inline(never)]
    fn run_on(&mut self, stack: &mut [Value; VALUES]) -> Result<(), LoxError> {
        let program = self.program;
        let mut frames: Vec<Frame> = Vec::with_capacity(FRAMES);
        let mut closure = Rc::new(Closure { function: program.main(), captured: Box::default() });
        let mut function: &Function = &program.functions[closure.function as usize];
        let mut code: &[Op] = &function.code;
        // The first value is the place of the text's function itself.
        let (mut next, mut base, mut top) = (0, 0, 1);

        // The place owns nothing, so that there is nothing to drop.
        macro_rules! push {
            ($value:expr) => {{
                let value = $value;
                mem::forget(mem::replace(&mut stack[top & VALUE], value));
                top += 1;
            }};
        }
        macro_rules! pop {
            () => {{
                top -= 1;
                mem::take(&mut stack[top & VALUE])
            }};
        }
        // The value below so many others.
        macro_rules! below {
            ($others:expr) => {
                stack[(top - 1 - $others as usize) & VALUE]
            };
        }
        macro_rules! local {
            ($slot:expr) => {
                stack[(base + $slot as usize) & VALUE]
            };
        }
        // The value first, which may be taken off the stack.
        macro_rules! set {
            ($place:expr, $value:expr) => {{
                let value = $value;
                $place.set(value);
            }};
        }
        macro_rules! fail {
            ($message:expr) => {
                return Err(LoxError { line: function.lines[next - 1], message: $message.into() })
            };
        }
        macro_rules! check {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(message) => fail!(message),
                }
            };
        }
        macro_rules! arithmetic {
            ($operator:tt, $what:literal) => {{
                let (&Value::Number(left), &Value::Number(right)) = (&below!(1), &below!(0)) else {
                    fail!(concat!("only numbers can be ", $what))
                };
                top -= 1;
                set!(below!(0), Value::from(left.get() $operator right.get()));
            }};
        }
        macro_rules! with_number {
            ($operator:tt, $number:expr, $message:literal) => {{
                let Value::Number(left) = below!(0) else { fail!($message) };
                let value = Value::from(left.get() $operator function.numbers[$number as usize]);
                set!(below!(0), value);
            }};
        }
        macro_rules! local_with_number {
            ($operator:tt, $local:expr, $number:expr, $message:literal) => {{
                let Value::Number(left) = local!($local) else { fail!($message) };
                Value::from(left.get() $operator function.numbers[$number as usize])
            }};
        }
        macro_rules! property {
            ($of:expr, $name:expr) => {{
                let Value::Instance(instance) = &$of else { fail!(self.no_property(&$of, $name)) };
                let field = match self.places.of(&*instance.class, $name).field {
                    NONE => Value::Absent,
                    place => instance.field(place),
                };
                match field {
                    Value::Absent => check!(self.bound(instance, $name)),
                    value => value,
                }
            }};
        }
        macro_rules! set_property {
            ($of:expr, $name:expr, $value:expr) => {{
                let Value::Instance(instance) = &$of else { fail!(self.no_property(&$of, $name)) };
                let class = &*instance.class;
                let place = self.places.of_field(class, $name, || class.add_field($name));
                instance.set_field(place, $value);
            }};
        }
        'next: loop {
            // Calls the value below the arguments, which has left its place.
            macro_rules! call {
                ($callee:expr, $args:expr) => {
                    match $callee {
                        Value::Closure(callee) => (callee, $args),
                        Value::Class(class) => {
                            let init = class.method(self.places.of(&*class, INIT).method);
                            if init.is_none() && $args > 0 {
                                fail!(takes(&program.names[class.name as usize], 0, $args));
                            }
                            set!(below!($args), Value::Instance(Rc::new(Instance::new(class))));
                            match init {
                                Some(init) => (init, $args),
                                None => continue 'next,
                            }
                        }
                        other => match check!(self.call(other, &mut stack[..top], $args)) {
                            Called::Enter(callee) => (callee, $args),
                            Called::Returned(value) => {
                                for _ in 0..$args {
                                    pop!().discard();
                                }
                                set!(below!(0), value);
                                continue 'next;
                            }
                        },
                    }
                };
            }
            let op = code[next];
            next += 1;
            // What an instruction calls, if it calls a closure, and with how many arguments.
            let (callee, args) = 'call: {
                match op {
                    Op::GetLocal(slot) => push!(local!(slot).clone()),
                    Op::SetLocal(slot) => set!(local!(slot), below!(0).clone()),
                    Op::StoreLocal(slot) => {
                        if let Value::Number(number) = below!(0) {
                            top -= 1;
                            set!(local!(slot), Value::Number(number));
                        } else {
                            set!(local!(slot), pop!());
                        }
                    }
                    Op::GetLocalField { local, name } => {
                        let value = property!(local!(local), name);
                        push!(value);
                    }
                    Op::GetField(name) => set!(below!(0), property!(below!(0), name)),
                    Op::SetThisField(name) => set_property!(local!(0), name, below!(0).clone()),
                    Op::StoreThisField(name) => {
                        let value = pop!();
                        set_property!(local!(0), name, value);
                    }
                    Op::SetField(name) => {
                        let value = pop!();
                        set_property!(below!(0), name, value.clone());
                        set!(below!(0), value);
                    }
                    Op::JumpUnless { compare: how, to } => {
                        let is = if let (Value::Number(left), Value::Number(right)) = (&below!(1), &below!(0))
                        {
                            top -= 2;
                            how.holds(left.get(), right.get())
                        } else {
                            let is = check!(compare(how, &below!(1), &below!(0)));
                            pop!().discard();
                            pop!().discard();
                            is
                        };
                        if !is {
                            next = to as usize;
                        }
                    }
                    Op::JumpUnlessNumber { compare: how, number, to } => {
                        let right = function.numbers[number as usize];
                        let is = if let Value::Number(left) = &below!(0) {
                            top -= 1;
                            how.holds(left.get(), right)
                        } else {
                            let is = check!(compare(how, &below!(0), &Value::from(right)));
                            pop!().discard();
                            is
                        };
                        if !is {
                            next = to as usize;
                        }
                    }
                    Op::Compare(how) => {
                        if let (Value::Number(left), Value::Number(right)) = (&below!(1), &below!(0)) {
                            let is = how.holds(left.get(), right.get());
                            top -= 1;
                            set!(below!(0), Value::from(is));
                        } else {
                            let is = check!(compare(how, &below!(1), &below!(0)));
                            pop!().discard();
                            set!(below!(0), Value::from(is));
                        }
                    }
                    Op::Number(number) => push!(Value::from(function.numbers[number as usize])),
                    Op::Add => {
                        if let (Value::Number(left), Value::Number(right)) = (&below!(1), &below!(0)) {
                            let sum = left.get() + right.get();
                            top -= 1;
                            set!(below!(0), Value::from(sum));
                        } else {
                            let sum = check!(self.add(&below!(1), &below!(0)));
                            pop!().discard();
                            set!(below!(0), sum);
                        }
                    }
                    Op::AddNumber(number) => {
                        with_number!(+, number, "only two numbers or two texts can be added")
                    }
                    Op::SubtractNumber(number) => with_number!(-, number, "only numbers can be subtracted"),
                    Op::AddToLocal { local, number } => {
                        let sum = local_with_number!(+, local, number, "only two numbers or two texts can be added");
                        push!(sum);
                    }
                    Op::Increase { local, number } => {
                        let sum = local_with_number!(+, local, number, "only two numbers or two texts can be added");
                        set!(local!(local), sum);
                    }
                    Op::SubtractFromLocal { local, number } => {
                        let difference =
                            local_with_number!(-, local, number, "only numbers can be subtracted");
                        push!(difference);
                    }
                    Op::Subtract => arithmetic!(-, "subtracted"),
                    Op::Multiply => arithmetic!(*, "multiplied"),
                    Op::Divide => arithmetic!(/, "divided"),
                    Op::Remainder => {
                        let (&Value::Number(left), &Value::Number(right)) = (&below!(1), &below!(0)) else {
                            fail!("only numbers can be divided")
                        };
                        top -= 1;
                        set!(below!(0), Value::from(remainder(left.get(), right.get())));
                    }
                    Op::Index => {
                        let element = check!(objects::get(&below!(1), &below!(0)));
                        pop!().discard();
                        set!(below!(0), element);
                    }
                    Op::SetIndex => {
                        let (value, index) = (pop!(), pop!());
                        check!(objects::set(&below!(0), index, value.clone()));
                        set!(below!(0), value);
                    }
                    Op::GetGlobal(global) => match &self.globals[global as usize] {
                        Value::Absent => fail!(self.no_global(global)),
                        value => push!(value.clone()),
                    },
                    Op::SetGlobal(global) => match &mut self.globals[global as usize] {
                        Value::Absent => fail!(self.no_global(global)),
                        value => set!(value, below!(0).clone()),
                    },
                    Op::DefineGlobal(global) => set!(self.globals[global as usize], pop!()),
                    Op::GetUpvalue(number) => {
                        push!(match &*closure.captured[number as usize].borrow() {
                            Variable::Open(place) => stack[place & VALUE].clone(),
                            Variable::Closed(value) => value.clone(),
                        });
                    }
                    Op::SetUpvalue(number) => {
                        let value = below!(0).clone();
                        match &mut *closure.captured[number as usize].borrow_mut() {
                            Variable::Open(place) => stack[*place & VALUE].set(value),
                            Variable::Closed(closed) => closed.set(value),
                        }
                    }
                    Op::Nil => push!(Value::Nil),
                    Op::True => push!(Value::True),
                    Op::False => push!(Value::False),
                    Op::Text(text) => push!(self.texts[text as usize].clone()),
                    Op::Pop => pop!().discard(),
                    Op::Jump(to) | Op::Loop(to) => next = to as usize,
                    Op::JumpIfFalse(to) => {
                        if !below!(0).is_true() {
                            next = to as usize;
                        }
                    }
                    Op::JumpIfTrue(to) => {
                        if below!(0).is_true() {
                            next = to as usize;
                        }
                    }
                    Op::PopJumpIfFalse(to) => {
                        if !pop!().is_true() {
                            next = to as usize;
                        }
                    }
                    Op::Not => set!(below!(0), Value::from(!below!(0).is_true())),
                    Op::Negate => {
                        let Value::Number(number) = below!(0) else { fail!("only numbers can be negated") };
                        set!(below!(0), Value::from(-number.get()));
                    }
                    Op::Print => {
                        self.scratch.clear();
                        pop!().show(program, 0, &mut self.scratch);
                        (self.print)(&self.scratch);
                    }
                    Op::Closure(number) => {
                        let captured =
                            program.functions[number as usize].captured.iter().map(|from| match from {
                                Captured::Local(slot) => self.capture(base + *slot as usize),
                                Captured::Outer(number) => closure.captured[*number as usize].clone(),
                            });
                        let captured = captured.collect();
                        push!(Value::Closure(Rc::new(Closure { function: number, captured })));
                    }
                    Op::CloseUpvalue => {
                        self.close(stack, top - 1);
                        top -= 1;
                    }
                    Op::List(len) => {
                        let first = top - len as usize;
                        let values = stack[first..top].iter_mut().map(mem::take).collect();
                        top = first;
                        push!(objects::list(values));
                    }
                    Op::Map(pairs) => {
                        let first = top - 2 * pairs as usize;
                        let pairs = stack[first..top].chunks_exact_mut(2);
                        let pairs = pairs.map(|pair| (mem::take(&mut pair[0]), mem::take(&mut pair[1])));
                        let map = RefCell::new(pairs.collect());
                        top = first;
                        push!(Value::Map(Rc::new(map)));
                    }
                    Op::Class { name, fields } => {
                        self.classes += 1;
                        push!(Value::Class(Rc::new(Class::new(self.classes, name, fields))));
                    }
                    Op::Inherit => {
                        let class = pop!();
                        let (Value::Class(class), Value::Class(superclass)) = (class, &below!(0)) else {
                            fail!(format!("a superclass is a class, not {}", below!(0).what()))
                        };
                        class.inherit(superclass);
                    }
                    Op::Method(name) => {
                        if let (Value::Closure(method), Value::Class(class)) = (pop!(), &below!(0)) {
                            class.add_method(name, method);
                        }
                    }
                    Op::GetSuper(name) => {
                        let method = check!(self.super_method(&pop!(), name));
                        let this = mem::take(&mut below!(0));
                        set!(below!(0), Value::Bound(Rc::new(Bound { this, method })));
                    }
                    Op::Return => {
                        let result = pop!();
                        if !self.open.is_empty() {
                            self.close(stack, base);
                        }
                        while top > base {
                            pop!().discard();
                        }
                        let Some(frame) = frames.pop() else { return Ok(()) };
                        push!(result);
                        closure = frame.closure;
                        (next, base) = (frame.next as usize, frame.base as usize);
                        function = &program.functions[closure.function as usize];
                        code = &function.code;
                    }
                    // The callee moves into the frame: the place that it leaves is not used by its function.
                    Op::Call(args) => break 'call call!(mem::take(&mut below!(args)), args),
                    Op::Invoke { args, name } => {
                        let Value::Instance(instance) = &below!(args) else {
                            fail!(self.no_property(&below!(args), name))
                        };
                        let class = &*instance.class;
                        let place = self.places.of(class, name);
                        let field = match place.field {
                            NONE => Value::Absent,
                            place => instance.field(place),
                        };
                        match field {
                            Value::Absent => match class.method(place.method) {
                                Some(callee) => break 'call (callee, args),
                                None => fail!(self.no_property(&below!(args), name)),
                            },
                            other => {
                                set!(below!(args), Value::Nil);
                                break 'call call!(other, args);
                            }
                        }
                    }
                    Op::SuperInvoke { args, name } => {
                        let superclass = pop!();
                        break 'call (check!(self.super_method(&superclass, name)), args);
                    }
                }
                continue 'next;
            };
            let called = &program.functions[callee.function as usize];
            let first = top - 1 - args as usize;
            if called.arity != args {
                fail!(takes(&called.name, called.arity, args));
            }
            if frames.len() >= FRAMES || first + called.slots as usize > VALUES {
                fail!(TOO_DEEP);
            }
            let caller = mem::replace(&mut closure, callee);
            frames.push(Frame { closure: caller, next: next as u32, base: base as u32 });
            (function, code) = (called, &called.code);
            (next, base) = (0, first);
        }
    }
}
