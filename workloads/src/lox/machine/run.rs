//! The loop over the instructions. Invariants: while it runs, `top` values and `depth` frames are on the two arrays, beside the innermost
//! frame, which is in variables of its own; a call makes sure that the stack has room for all that its function may push.

use super::host::{Called, Machine, Progress};
use super::operators::{NOT_ADDED, add};
use super::state::{Frame, State};
use super::value::{Bound, Class, Value};
use super::{captured, elements, objects};
use crate::lox::front::{Compare, INIT, LoxError, MOST_SLOTS, Op, remainder};
use crate::lox::places::NONE;
use heapwood::Access;

/// The values on the stack at most: a power of two, so that an index is cut down to it without a branch.
const VALUES: usize = 1 << 14;
const _: () = assert!(VALUES > MOST_SLOTS as usize);
const VALUE: usize = VALUES - 1;

/// The same for frames. One place is for the innermost, when it is saved.
const FRAMES: usize = 1 << 10;
const FRAME: usize = FRAMES - 1;

impl Machine<'_> {
    /// Goes on with the program in `state`, until it ends, or until a collection is due.
    ///
    /// # Errors
    /// A mistake that the program made. It cannot go on then.
    #[inline(never)]
    pub fn go_on<'gc>(&mut self, m: &impl Access<'gc>, state: &State<'gc>) -> Result<Progress, LoxError> {
        let mut stack = [Value::NIL; VALUES];
        let mut frames = [state.any_frame(); FRAMES];
        let (values, depth) = state.restore(&mut stack, &mut frames);
        self.run(m, state, &mut stack, &mut frames, (values, depth - 1))
    }

    fn run<'gc>(
        &mut self,
        m: &impl Access<'gc>,
        state: &State<'gc>,
        stack: &mut [Value<'gc>; VALUES],
        frames: &mut [Frame<'gc>; FRAMES],
        (mut top, mut depth): (usize, usize),
    ) -> Result<Progress, LoxError> {
        let program = self.program;
        let Frame { mut closure, next, base } = frames[depth];
        let (mut next, mut base) = (next as usize, base as usize);
        let mut function = &program.functions[closure.function as usize];
        let mut code = &function.code[..];
        macro_rules! push {
            ($value:expr) => {{
                let value = $value;
                stack[top & VALUE] = value;
                top += 1;
            }};
        }
        macro_rules! pop {
            () => {{
                top -= 1;
                stack[top & VALUE]
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
                let (right, left) = (pop!(), below!(0));
                let (Value::Number(left), Value::Number(right)) = (left, right) else {
                    fail!(concat!("only numbers can be ", $what))
                };
                below!(0) = Value::from(left.get() $operator right.get());
            }};
        }
        macro_rules! compared {
            ($how:expr, $left:expr, $right:expr) => {
                match ($left, $right) {
                    (Value::Number(left), Value::Number(right)) => $how.holds(left.get(), right.get()),
                    (left, right) => match $how {
                        Compare::Equal => left.equals(right),
                        Compare::NotEqual => !left.equals(right),
                        _ => fail!("only numbers can be compared"),
                    },
                }
            };
        }
        macro_rules! property {
            ($of:expr, $name:expr) => {{
                let of = $of;
                let Value::Instance(instance) = of else { fail!(self.no_property(of, $name)) };
                match self.field(instance, $name) {
                    Value::Absent(_) => check!(self.bound(m, instance, $name)),
                    value => value,
                }
            }};
        }
        macro_rules! set_property {
            ($of:expr, $name:expr, $value:expr) => {{
                let of = $of;
                let Value::Instance(instance) = of else { fail!(self.no_property(of, $name)) };
                self.set_property(m, instance, $name, $value);
            }};
        }
        macro_rules! call {
            ($callee:expr, $args:expr) => {
                match check!(self.call(m, $callee, &mut stack[..top], $args)) {
                    Called::Enter(callee) => (callee, $args),
                    Called::Returned(value) => {
                        top -= $args as usize;
                        below!(0) = value;
                        continue;
                    }
                }
            };
        }
        macro_rules! wait_if_due {
            () => {
                if m.is_collection_due() {
                    frames[depth & FRAME] = Frame { closure, next: next as u32, base: base as u32 };
                    state.save(m, &stack[..top], &frames[..=depth]);
                    return Ok(Progress::CollectionDue);
                }
            };
        }

        loop {
            let op = code[next];
            next += 1;
            // What an instruction calls, if it calls a closure, and with how many arguments.
            let (callee, args) = match op {
                Op::GetLocal(slot) => {
                    push!(local!(slot));
                    continue;
                }
                Op::SetLocal(slot) => {
                    local!(slot) = below!(0);
                    continue;
                }
                Op::StoreLocal(slot) => {
                    local!(slot) = pop!();
                    continue;
                }
                Op::GetLocalField { local, name } => {
                    let value = property!(local!(local), name);
                    push!(value);
                    continue;
                }
                Op::GetField(name) => {
                    below!(0) = property!(below!(0), name);
                    continue;
                }
                Op::SetThisField(name) => {
                    set_property!(local!(0), name, below!(0));
                    continue;
                }
                Op::StoreThisField(name) => {
                    let value = pop!();
                    set_property!(local!(0), name, value);
                    continue;
                }
                Op::SetField(name) => {
                    let value = pop!();
                    set_property!(below!(0), name, value);
                    below!(0) = value;
                    continue;
                }
                Op::JumpUnless { compare: how, to } => {
                    let (right, left) = (pop!(), pop!());
                    if !compared!(how, left, right) {
                        next = to as usize;
                    }
                    continue;
                }
                Op::JumpUnlessNumber { compare: how, number, to } => {
                    let (left, right) = (pop!(), Value::from(function.numbers[number as usize]));
                    if !compared!(how, left, right) {
                        next = to as usize;
                    }
                    continue;
                }
                Op::Compare(how) => {
                    let (right, left) = (pop!(), below!(0));
                    below!(0) = Value::from(compared!(how, left, right));
                    continue;
                }
                Op::Number(number) => {
                    push!(Value::from(function.numbers[number as usize]));
                    continue;
                }
                Op::Add => {
                    let (right, left) = (pop!(), below!(0));
                    below!(0) = match (left, right) {
                        (Value::Number(left), Value::Number(right)) => Value::from(left.get() + right.get()),
                        _ => check!(add(m, &mut self.scratch, left, right)),
                    };
                    continue;
                }
                Op::AddNumber(number) => {
                    let Value::Number(left) = below!(0) else { fail!(NOT_ADDED) };
                    below!(0) = Value::from(left.get() + function.numbers[number as usize]);
                    continue;
                }
                Op::AddToLocal { local, number } => {
                    let Value::Number(left) = local!(local) else { fail!(NOT_ADDED) };
                    push!(Value::from(left.get() + function.numbers[number as usize]));
                    continue;
                }
                Op::Increase { local, number } => {
                    let Value::Number(left) = local!(local) else { fail!(NOT_ADDED) };
                    local!(local) = Value::from(left.get() + function.numbers[number as usize]);
                    continue;
                }
                Op::SubtractFromLocal { local, number } => {
                    let Value::Number(left) = local!(local) else { fail!("only numbers can be subtracted") };
                    push!(Value::from(left.get() - function.numbers[number as usize]));
                    continue;
                }
                Op::SubtractNumber(number) => {
                    let Value::Number(left) = below!(0) else { fail!("only numbers can be subtracted") };
                    below!(0) = Value::from(left.get() - function.numbers[number as usize]);
                    continue;
                }
                Op::Subtract => {
                    arithmetic!(-, "subtracted");
                    continue;
                }
                Op::Multiply => {
                    arithmetic!(*, "multiplied");
                    continue;
                }
                Op::Divide => {
                    arithmetic!(/, "divided");
                    continue;
                }
                Op::Remainder => {
                    let (right, left) = (pop!(), below!(0));
                    let (Value::Number(left), Value::Number(right)) = (left, right) else {
                        fail!("only numbers can be divided")
                    };
                    below!(0) = Value::from(remainder(left.get(), right.get()));
                    continue;
                }
                Op::Index => {
                    let (index, from) = (pop!(), below!(0));
                    below!(0) = match elements::in_list(from, index) {
                        Some(value) => value,
                        None => check!(elements::get(from, index)),
                    };
                    continue;
                }
                Op::SetIndex => {
                    let (value, index) = (pop!(), pop!());
                    check!(elements::set(m, below!(0), index, value));
                    below!(0) = value;
                    continue;
                }
                Op::GetGlobal(global) => {
                    match state.globals[global as usize].get() {
                        Value::Absent(_) => fail!(self.no_global(global)),
                        value => push!(value),
                    }
                    continue;
                }
                Op::SetGlobal(global) => {
                    let cell = &state.globals[global as usize];
                    if matches!(cell.get(), Value::Absent(_)) {
                        fail!(self.no_global(global));
                    }
                    cell.set(m, below!(0));
                    continue;
                }
                Op::DefineGlobal(global) => {
                    state.globals[global as usize].set(m, pop!());
                    continue;
                }
                Op::GetUpvalue(number) => {
                    push!(match captured::of(closure, number).0.get() {
                        Value::Open(place) => stack[place as usize & VALUE],
                        value => value,
                    });
                    continue;
                }
                Op::SetUpvalue(number) => {
                    let upvalue = captured::of(closure, number);
                    match upvalue.0.get() {
                        Value::Open(place) => stack[place as usize & VALUE] = below!(0),
                        _ => upvalue.0.set(m, below!(0)),
                    }
                    continue;
                }
                Op::Nil => {
                    push!(Value::NIL);
                    continue;
                }
                Op::True => {
                    push!(Value::TRUE);
                    continue;
                }
                Op::False => {
                    push!(Value::FALSE);
                    continue;
                }
                Op::Text(text) => {
                    push!(Value::Text(state.texts[text as usize]));
                    continue;
                }
                Op::Pop => {
                    top -= 1;
                    continue;
                }
                Op::Jump(to) => {
                    next = to as usize;
                    continue;
                }
                Op::Loop(to) => {
                    next = to as usize;
                    wait_if_due!();
                    continue;
                }
                Op::JumpIfFalse(to) => {
                    if !below!(0).is_true() {
                        next = to as usize;
                    }
                    continue;
                }
                Op::JumpIfTrue(to) => {
                    if below!(0).is_true() {
                        next = to as usize;
                    }
                    continue;
                }
                Op::PopJumpIfFalse(to) => {
                    if !pop!().is_true() {
                        next = to as usize;
                    }
                    continue;
                }
                Op::Not => {
                    below!(0) = Value::from(!below!(0).is_true());
                    continue;
                }
                Op::Negate => {
                    let Value::Number(number) = below!(0) else { fail!("only numbers can be negated") };
                    below!(0) = Value::from(-number.get());
                    continue;
                }
                Op::Print => {
                    self.scratch.clear();
                    pop!().show(program, 0, &mut self.scratch);
                    (self.print)(&self.scratch);
                    continue;
                }
                Op::Closure(number) => {
                    let made = (number, &program.functions[number as usize]);
                    push!(Value::Closure(captured::closure(m, state, made, closure, base)));
                    continue;
                }
                Op::CloseUpvalue => {
                    captured::close(m, state, &stack[..], top - 1);
                    top -= 1;
                    continue;
                }
                Op::List(len) => {
                    let list = elements::list(m, &stack[top - len as usize..top]);
                    top -= len as usize;
                    push!(Value::List(list));
                    continue;
                }
                Op::Map(pairs) => {
                    let map = elements::map(m, &stack[top - 2 * pairs as usize..top]);
                    top -= 2 * pairs as usize;
                    push!(Value::Map(map));
                    continue;
                }
                Op::Class { name, fields } => {
                    self.classes += 1;
                    push!(Value::Class(m.alloc(Class::new(self.classes, name, fields))));
                    continue;
                }
                Op::Inherit => {
                    let (class, superclass) = (pop!(), below!(0));
                    let (Value::Class(class), Value::Class(superclass)) = (class, superclass) else {
                        fail!(format!("a superclass is a class, not {}", superclass.what()))
                    };
                    class.inherit(m, &superclass);
                    continue;
                }
                Op::Method(name) => {
                    if let (Value::Closure(method), Value::Class(class)) = (pop!(), below!(0)) {
                        class.add_method(m, name, method);
                    }
                    continue;
                }
                Op::GetSuper(name) => {
                    let superclass = pop!();
                    let method = check!(self.super_method(superclass, name));
                    below!(0) = Value::Bound(m.alloc(Bound { this: below!(0), method }));
                    continue;
                }
                Op::Return => {
                    let result = pop!();
                    if !state.open.is_empty() {
                        captured::close(m, state, &stack[..], base);
                    }
                    if depth == 0 {
                        return Ok(Progress::Finished);
                    }
                    depth -= 1;
                    stack[base & VALUE] = result;
                    top = base + 1;
                    let frame = frames[depth & FRAME];
                    closure = frame.closure;
                    (next, base) = (frame.next as usize, frame.base as usize);
                    function = &program.functions[closure.function as usize];
                    code = &function.code;
                    continue;
                }
                Op::Call(args) => match below!(args) {
                    Value::Closure(callee) => (callee, args),
                    Value::Class(class) => {
                        below!(args) = Value::Instance(objects::instantiate(m, class));
                        match self.method(&class, INIT) {
                            Some(init) => (init, args),
                            None if args == 0 => continue,
                            None => fail!(self.no_init(&class, args)),
                        }
                    }
                    Value::Native(native) => {
                        let value = check!(self.call_native(m, native, &stack[top - args as usize..top]));
                        top -= args as usize;
                        below!(0) = value;
                        continue;
                    }
                    other => call!(other, args),
                },
                Op::Invoke { args, name } => {
                    let Value::Instance(instance) = below!(args) else {
                        fail!(self.no_property(below!(args), name))
                    };
                    let class = objects::class_of(&instance);
                    let place = self.places.of(&*class, name);
                    let field = match place.field {
                        NONE => Value::ABSENT,
                        place => objects::field(&instance, place),
                    };
                    match field {
                        Value::Absent(_) => match class.methods.get(place.method as usize) {
                            Some(callee) => (callee, args),
                            None => fail!(self.no_property(below!(args), name)),
                        },
                        Value::Closure(callee) => {
                            below!(args) = field;
                            (callee, args)
                        }
                        other => {
                            below!(args) = other;
                            call!(other, args)
                        }
                    }
                }
                Op::SuperInvoke { args, name } => {
                    let superclass = pop!();
                    (check!(self.super_method(superclass, name)), args)
                }
            };
            let called = &program.functions[callee.function as usize];
            let first = top - 1 - args as usize;
            if called.arity != args {
                fail!(self.wrong_count(callee.function, args));
            }
            if depth >= FRAME || first + called.slots as usize > VALUES {
                fail!("calls are nested too deeply");
            }
            frames[depth & FRAME] = Frame { closure, next: next as u32, base: base as u32 };
            depth += 1;
            (closure, function, code) = (callee, called, &called.code);
            (next, base) = (0, first);
            wait_if_due!();
        }
    }
}
