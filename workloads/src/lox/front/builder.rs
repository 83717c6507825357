//! One function while it is compiled. Invariants: `depth` is the height of the frame's stack behind the last instruction; locals are the
//! lowest values of it, each in the slot of its number; no instruction that a jump leads behind is joined with another.

use super::op::{Compare, Op};
use super::program::{Captured, Function};

/// What is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// The text as a whole.
    Text,
    Function,
    Method,
    /// The method `init`, which returns `this`.
    Initializer,
}

struct Local<'t> {
    name: &'t str,
    /// The nesting of its block. `None` as long as its initial value is computed.
    block: Option<usize>,
    is_captured: bool,
}

/// Instructions that were cut out, to come later.
pub(super) struct Cut {
    code: Vec<Op>,
    lines: Vec<u32>,
    start: usize,
}

pub(super) struct Builder<'t> {
    pub(super) function: Function,
    pub(super) body: Body,
    locals: Vec<Local<'t>>,
    block: usize,
    depth: usize,
    /// The instruction that the last jump leads to, or a loop begins with.
    label: usize,
}

impl<'t> Builder<'t> {
    pub(super) fn new(name: &str, body: Body) -> Self {
        let function = Function { name: name.into(), slots: 1, ..Function::default() };
        let first = if matches!(body, Body::Method | Body::Initializer) { "this" } else { "" };
        let locals = vec![Local { name: first, block: Some(0), is_captured: false }];
        Builder { function, body, locals, block: 0, depth: 1, label: 0 }
    }

    pub(super) fn emit(&mut self, op: Op, line: u32) {
        self.depth = self.depth.saturating_add_signed(op.effect());
        self.function.slots = self.function.slots.max(self.depth as u32);
        let mut op = op;
        let mut line = line;
        while let Some(joined) = self.joined(op) {
            op = joined;
            self.function.code.pop();
            line = self.function.lines.pop().unwrap_or(line);
        }
        self.function.code.push(op);
        self.function.lines.push(line);
    }

    /// The last instruction, if nothing leads behind it.
    pub(super) fn last(&self) -> Option<Op> {
        self.function.code[self.label..].last().copied()
    }

    /// Takes the last instruction back.
    pub(super) fn take_back(&mut self) {
        if let Some(op) = self.function.code.pop() {
            self.function.lines.pop();
            self.depth = self.depth.saturating_add_signed(-op.effect());
        }
    }

    /// The one instruction that does what the last one and this do.
    fn joined(&self, op: Op) -> Option<Op> {
        Some(match (self.last()?, op) {
            (Op::SetLocal(slot), Op::Pop) => Op::StoreLocal(slot),
            (Op::SetThisField(name), Op::Pop) => Op::StoreThisField(name),
            (Op::GetLocal(local), Op::GetField(name)) => Op::GetLocalField { local, name },
            (Op::Number(number), Op::Add) => Op::AddNumber(number),
            (Op::Number(number), Op::Subtract) => Op::SubtractNumber(number),
            (Op::GetLocal(local), Op::AddNumber(number)) => Op::AddToLocal { local, number },
            (Op::GetLocal(local), Op::SubtractNumber(number)) => Op::SubtractFromLocal { local, number },
            (Op::AddToLocal { local, number }, Op::StoreLocal(to)) if to == local => {
                Op::Increase { local, number }
            }
            (Op::Compare(compare), Op::PopJumpIfFalse(to)) => Op::JumpUnless { compare, to },
            (Op::Number(number), Op::JumpUnless { compare, to }) => {
                Op::JumpUnlessNumber { compare, number, to }
            }
            (Op::Compare(Compare::Equal), Op::Not) => Op::Compare(Compare::NotEqual),
            _ => return None,
        })
    }

    /// The number of a number of the function. `None` if there are too many.
    pub(super) fn number(&mut self, number: f64) -> Option<u16> {
        let numbers = &mut self.function.numbers;
        let found = numbers.iter().position(|known| known.to_bits() == number.to_bits());
        let index = found.unwrap_or(numbers.len());
        if index == numbers.len() {
            numbers.push(number);
        }
        u16::try_from(index).ok()
    }

    /// The place of the next instruction, to which a loop jumps back.
    pub(super) fn loop_start(&mut self) -> usize {
        self.label = self.function.code.len();
        self.label
    }

    /// Emits a jump that [`land`](Self::land) directs.
    pub(super) fn jump(&mut self, op: Op, line: u32) -> usize {
        self.emit(op, line);
        self.function.code.len() - 1
    }

    /// Lets a jump lead to the next instruction.
    pub(super) fn land(&mut self, jump: usize) {
        self.label = self.function.code.len();
        if let Some(target) = self.function.code[jump].target() {
            *target = self.label as u32;
        }
    }

    /// Cuts out the instructions from `start` on.
    pub(super) fn cut(&mut self, start: usize) -> Cut {
        self.label = start;
        let lines = self.function.lines.split_off(start);
        Cut { code: self.function.code.split_off(start), lines, start }
    }

    /// Appends what was cut out.
    pub(super) fn paste(&mut self, cut: Cut) {
        let at = self.function.code.len();
        self.function.code.extend(cut.code.into_iter().map(|mut op| {
            if let Some(target) = op.target() {
                *target = (*target as usize - cut.start + at) as u32;
            }
            op
        }));
        self.function.lines.extend(cut.lines);
        self.label = self.function.code.len();
    }

    /// Replaces an instruction by one of the same effect.
    pub(super) fn replace(&mut self, at: usize, op: Op) {
        self.function.code[at] = op;
    }

    pub(super) fn begin_block(&mut self) {
        self.block += 1;
    }

    /// Pops the locals of the block.
    pub(super) fn end_block(&mut self, line: u32) {
        while let Some(local) = self.locals.pop_if(|local| local.block == Some(self.block)) {
            self.emit(if local.is_captured { Op::CloseUpvalue } else { Op::Pop }, line);
        }
        self.block -= 1;
    }

    /// Whether names declared here are globals.
    pub(super) fn is_global(&self) -> bool {
        self.block == 0 && self.body == Body::Text
    }

    /// Declares a local, which [`define`](Self::define) makes visible. Returns whether there was room.
    pub(super) fn declare(&mut self, name: &'t str) -> bool {
        self.locals.push(Local { name, block: None, is_captured: false });
        self.locals.len() <= 256
    }

    /// Makes the last local visible: its value is what the stack has on top.
    pub(super) fn define(&mut self) {
        if let Some(local) = self.locals.last_mut() {
            local.block = Some(self.block);
        }
    }

    /// A parameter, whose value the caller has pushed.
    pub(super) fn parameter(&mut self) {
        self.define();
        self.depth += 1;
        self.function.slots = self.function.slots.max(self.depth as u32);
    }

    /// Whether the innermost block has a local of this name.
    pub(super) fn has_in_block(&self, name: &str) -> bool {
        let here = self.locals.iter().rev().take_while(|local| local.block.is_none_or(|b| b == self.block));
        { here }.any(|local| local.name == name)
    }

    /// The slot of a local.
    pub(super) fn local(&self, name: &str) -> Option<u8> {
        self.locals.iter().rposition(|local| local.name == name).map(|slot| slot as u8)
    }

    /// Whether the local in a slot has its value.
    pub(super) fn is_defined(&self, slot: u8) -> bool {
        self.locals[slot as usize].block.is_some()
    }

    /// Notes that a closure captures the local in a slot.
    pub(super) fn capture(&mut self, slot: u8) {
        self.locals[slot as usize].is_captured = true;
    }

    /// The number of a variable that this function's closure captures. `None` if there are too many.
    pub(super) fn captured(&mut self, variable: Captured) -> Option<u8> {
        let captured = &mut self.function.captured;
        let index = captured.iter().position(|known| *known == variable).unwrap_or(captured.len());
        if index == captured.len() {
            captured.push(variable);
        }
        u8::try_from(index).ok()
    }
}
