//! What statements and expressions share: the tokens, the functions that are compiled, and the program's tables.

use super::builder::{Body, Builder};
use super::error::LoxError;
use super::native::Native;
use super::op::Op;
use super::program::{Captured, MOST_SLOTS, Program};
use super::scanner::{Kind, Scanner, Token};
use std::collections::HashMap;

/// Statements and expressions that lie in one another at most, so that no text makes the compiler's own stack overflow.
const DEEPEST: usize = 200;

pub(super) type Compiled<T = ()> = Result<T, LoxError>;

/// A table of names, each once.
#[derive(Default)]
struct Names {
    all: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Names {
    fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        self.numbers.insert(name.into(), self.all.len());
        self.all.push(name.into());
        self.all.len() - 1
    }
}

/// A class whose methods are compiled.
pub(super) struct Class<'t> {
    pub(super) has_superclass: bool,
    /// The fields that its methods set.
    pub(super) fields: Vec<&'t str>,
}

pub(super) struct Compiler<'t> {
    scanner: Scanner<'t>,
    pub(super) current: Token<'t>,
    pub(super) previous: Token<'t>,
    /// The functions, each in the one before it.
    builders: Vec<Builder<'t>>,
    pub(super) classes: Vec<Class<'t>>,
    depth: usize,
    program: Program,
    texts: Names,
    names: Names,
    globals: Names,
}

/// Compiles a text.
///
/// # Errors
/// The first mistake of the text.
pub fn compile(text: &str) -> Result<Program, LoxError> {
    let mut scanner = Scanner::new(text);
    let current = scanner.next()?;
    let mut compiler = Compiler {
        scanner,
        current,
        previous: current,
        builders: vec![Builder::new("", Body::Text)],
        classes: Vec::new(),
        depth: 0,
        program: Program::default(),
        texts: Names::default(),
        names: Names::default(),
        globals: Names::default(),
    };
    compiler.names.number("init");
    Native::ALL.iter().for_each(|native| _ = compiler.globals.number(native.name()));
    while compiler.current.kind != Kind::End {
        compiler.declaration()?;
    }
    compiler.end_function()?;
    let Compiler { program, texts, names, globals, .. } = compiler;
    Ok(Program { texts: texts.all, names: names.all, globals: globals.all, ..program })
}

impl<'t> Compiler<'t> {
    pub(super) fn builder(&mut self) -> &mut Builder<'t> {
        self.builders.last_mut().expect("the text as a whole is one")
    }

    pub(super) fn error<T>(&self, message: impl Into<String>) -> Compiled<T> {
        Err(LoxError { line: self.previous.line, message: message.into() })
    }

    pub(super) fn advance(&mut self) -> Compiled {
        self.previous = self.current;
        self.current = self.scanner.next()?;
        Ok(())
    }

    /// Takes the current token if it is of this kind.
    pub(super) fn take(&mut self, kind: Kind) -> Compiled<bool> {
        let taken = self.current.kind == kind;
        if taken {
            self.advance()?;
        }
        Ok(taken)
    }

    /// Takes a token of this kind. `what` says what it is and where.
    pub(super) fn expect(&mut self, kind: Kind, what: &str) -> Compiled {
        if self.take(kind)? {
            return Ok(());
        }
        // What is missing is missed where the token before it ends.
        self.error(format!("expected {what}, not {}", self.found()))
    }

    /// The current token, for a message.
    pub(super) fn found(&self) -> String {
        match self.current.kind {
            Kind::End => "the end".into(),
            Kind::Text => "a text".into(),
            _ => format!("'{}'", self.current.text),
        }
    }

    pub(super) fn name(&mut self, what: &str) -> Compiled<&'t str> {
        self.expect(Kind::Name, what)?;
        Ok(self.previous.text)
    }

    pub(super) fn emit(&mut self, op: Op) {
        let line = self.previous.line;
        self.builder().emit(op, line);
    }

    pub(super) fn jump(&mut self, op: Op) -> usize {
        let line = self.previous.line;
        self.builder().jump(op, line)
    }

    /// Compiles something that may lie in itself.
    pub(super) fn nested<T>(&mut self, compile: impl FnOnce(&mut Self) -> Compiled<T>) -> Compiled<T> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.error("this is nested too deeply");
        }
        let compiled = compile(self)?;
        self.depth -= 1;
        Ok(compiled)
    }

    pub(super) fn begin_function(&mut self, name: &str, body: Body) {
        self.builders.push(Builder::new(name, body));
    }

    /// Ends the innermost function, and returns its number.
    pub(super) fn end_function(&mut self) -> Compiled<u32> {
        self.emit_return();
        if self.builder().function.slots > MOST_SLOTS {
            return self.error("there are too many values at once");
        }
        let builder = self.builders.pop().expect("each is ended once");
        self.program.functions.push(builder.function);
        Ok(self.program.functions.len() as u32 - 1)
    }

    /// Returns what a function without `return` returns.
    pub(super) fn emit_return(&mut self) {
        let this = self.builder().body == Body::Initializer;
        self.emit(if this { Op::GetLocal(0) } else { Op::Nil });
        self.emit(Op::Return);
    }

    /// A number below `u16::MAX`, which machines may use for none.
    fn small(&self, number: usize, what: &str) -> Compiled<u16> {
        let small = u16::try_from(number).ok().filter(|&small| small < u16::MAX);
        small.map_or_else(|| self.error(format!("there are too many {what}")), Ok)
    }

    /// The number of a field, a method or a class.
    pub(super) fn name_number(&mut self, name: &str) -> Compiled<u16> {
        let number = self.names.number(name);
        self.small(number, "names")
    }

    pub(super) fn global(&mut self, name: &str) -> Compiled<u16> {
        let number = self.globals.number(name);
        self.small(number, "globals")
    }

    pub(super) fn text_number(&mut self, text: &str) -> Compiled<u16> {
        let number = self.texts.number(text);
        self.small(number, "texts")
    }

    pub(super) fn number(&mut self, number: f64) -> Compiled<u16> {
        match self.builder().number(number) {
            Some(index) => Ok(index),
            None => self.error("there are too many numbers in one function"),
        }
    }

    /// Declares a local, unless names are globals here.
    pub(super) fn declare(&mut self, name: &'t str) -> Compiled {
        if self.builder().is_global() {
            return Ok(());
        }
        if self.builder().has_in_block(name) {
            return self.error(format!("'{name}' is declared twice in one block"));
        }
        if !self.builder().declare(name) {
            return self.error("there are too many locals in one function");
        }
        Ok(())
    }

    /// Gives the declared variable the value on top of the stack.
    pub(super) fn define(&mut self, name: &str) -> Compiled {
        if self.builder().is_global() {
            let number = self.global(name)?;
            self.emit(Op::DefineGlobal(number));
        } else {
            self.builder().define();
        }
        Ok(())
    }

    /// The instructions that read and write a variable.
    pub(super) fn variable(&mut self, name: &str) -> Compiled<(Op, Op)> {
        let innermost = self.builders.len() - 1;
        if let Some(slot) = self.builder().local(name) {
            if !self.builder().is_defined(slot) {
                return self.error(format!("'{name}' is read in its own initial value"));
            }
            return Ok((Op::GetLocal(slot), Op::SetLocal(slot)));
        }
        if let Some(number) = self.upvalue(innermost, name)? {
            return Ok((Op::GetUpvalue(number), Op::SetUpvalue(number)));
        }
        let number = self.global(name)?;
        Ok((Op::GetGlobal(number), Op::SetGlobal(number)))
    }

    /// The number of the captured variable in a function, if one of the outer functions has a local of this name. From the outermost of
    /// them inwards, each function captures it.
    fn upvalue(&mut self, function: usize, name: &str) -> Compiled<Option<u8>> {
        let owner = self.builders[..function].iter().rposition(|builder| builder.local(name).is_some());
        let Some((owner, slot)) = owner.and_then(|owner| Some((owner, self.builders[owner].local(name)?)))
        else {
            return Ok(None);
        };
        self.builders[owner].capture(slot);
        let (mut from, mut number) = (Captured::Local(slot), 0);
        for builder in &mut self.builders[owner + 1..=function] {
            match builder.captured(from) {
                Some(captured) => number = captured,
                None => return self.error("there are too many captured variables in one function"),
            }
            from = Captured::Outer(number);
        }
        Ok(Some(number))
    }
}
