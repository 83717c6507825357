//! A function that is being compiled: its variables and its code. Invariant: a variable's place among `locals` is its place
//! on the machine's stack, above the call's base. Whether closures capture a variable is known only later, so each keeps a list
//! of the instructions that use it.

use crate::program::{Capture, Function, Op};

/// What a function is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FunctionKind {
    Program,
    Function,
    Method,
    Init,
}

struct Local<'s> {
    name: &'s str,
    depth: u32,
    shared: bool,
    /// Instructions to change if it is captured.
    uses: Vec<usize>,
}

/// A function that is being compiled.
pub(super) struct Open<'s> {
    pub(super) kind: FunctionKind,
    function: Function,
    locals: Vec<Local<'s>>,
    /// Of blocks.
    depth: u32,
    /// Values on the stack behind the last instruction.
    values: i64,
}

impl<'s> Open<'s> {
    pub(super) fn new(kind: FunctionKind, name: String) -> Self {
        let initializes = kind == FunctionKind::Init;
        // The callee, or the object of a method, is there.
        let function = Function { name, initializes, room: 1, ..Function::default() };
        let mut open = Open { kind, function, locals: Vec::new(), depth: 0, values: 1 };
        open.declare(if matches!(kind, FunctionKind::Method | FunctionKind::Init) { "this" } else { "" });
        open
    }

    pub(super) fn emit(&mut self, op: Op, line: u32) -> usize {
        self.function.code.push(op);
        self.function.lines.push(line);
        self.pushed(op.effect());
        self.function.code.len() - 1
    }

    fn pushed(&mut self, values: i64) {
        self.values += values;
        self.function.room = self.function.room.max(self.values as u32);
    }

    /// The place of the next instruction.
    pub(super) fn here(&self) -> u32 {
        self.function.code.len() as u32
    }

    /// Lets a jump lead to the next instruction.
    pub(super) fn land(&mut self, jump: usize) {
        let here = self.here();
        match &mut self.function.code[jump] {
            Op::Jump(to) | Op::JumpIfFalse(to) | Op::JumpIfTrue(to) | Op::PopJumpIfFalse(to) => *to = here,
            other => unreachable!("{other:?} is no jump"),
        }
    }

    /// Whether declared variables are local.
    pub(super) fn is_local(&self) -> bool {
        self.depth > 0 || self.kind != FunctionKind::Program
    }

    /// A new variable: the value that is on top of the stack then.
    pub(super) fn declare(&mut self, name: &'s str) {
        self.locals.push(Local { name, depth: self.depth, shared: false, uses: Vec::new() });
    }

    pub(super) fn declared_here(&self, name: &str) -> bool {
        self.locals.iter().any(|local| local.depth == self.depth && local.name == name)
    }

    pub(super) fn take_argument(&mut self, name: &'s str) {
        self.function.arity += 1;
        self.pushed(1);
        self.declare(name);
    }

    /// All arguments are declared. A method has its object in the place of the callee, and its closure behind the arguments.
    pub(super) fn end_arguments(&mut self) {
        if matches!(self.kind, FunctionKind::Method | FunctionKind::Init) {
            self.function.closure_at = self.locals.len() as u32;
            self.declare("");
            self.pushed(1);
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.locals.iter().rposition(|local| local.name == name).map(|slot| slot as u32)
    }

    pub(super) fn begin_block(&mut self) {
        self.depth += 1;
    }

    /// How many variables end with the block.
    pub(super) fn end_block(&mut self) -> usize {
        self.depth -= 1;
        let kept = self.locals.iter().take_while(|local| local.depth <= self.depth).count();
        let ended = self.locals.len() - kept;
        self.locals.truncate(kept);
        ended
    }

    /// The instruction at `at` uses the variable.
    pub(super) fn used(&mut self, slot: u32, at: usize) {
        let local = &mut self.locals[slot as usize];
        if local.shared {
            share(&mut self.function.code[at]);
        } else {
            local.uses.push(at);
        }
    }

    /// A closure captures the variable: what uses it looks for a box.
    pub(super) fn share(&mut self, slot: u32) -> Capture {
        let local = &mut self.locals[slot as usize];
        local.shared = true;
        for at in local.uses.drain(..) {
            share(&mut self.function.code[at]);
        }
        Capture::Local(slot)
    }

    /// The place among what the closure has captured.
    pub(super) fn capture(&mut self, capture: Capture) -> u32 {
        let known = self.function.captures.iter().position(|&known| known == capture);
        known.unwrap_or_else(|| {
            self.function.captures.push(capture);
            self.function.captures.len() - 1
        }) as u32
    }

    pub(super) fn end(self) -> Function {
        self.function
    }
}

fn share(op: &mut Op) {
    *op = match *op {
        Op::GetLocal(slot) => Op::GetShared(slot),
        Op::SetLocal(slot) => Op::SetShared(slot),
        other => unreachable!("{other:?} uses no variable"),
    };
}
