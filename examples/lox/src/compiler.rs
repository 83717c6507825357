//! Tokens to bytecode, in one pass, as in Nystrom's "Crafting Interpreters". Invariant: the innermost function is the last of
//! `functions`, and its code leaves one value for each expression, and for each statement none but declared variables.

mod expressions;
mod function;
mod statements;

use crate::natives;
use crate::program::{Error, Name, Op, Program};
use crate::scanner::{Kind, Token, scan};
use function::{FunctionKind, Open};
use std::collections::HashMap;

/// Compiles a program.
///
/// # Errors
/// The first mistake, with its line.
pub fn compile(source: &str) -> Result<Program, Error> {
    let mut compiler = Compiler {
        tokens: scan(source)?,
        at: 0,
        program: Program::default(),
        names: HashMap::new(),
        texts: HashMap::new(),
        globals: HashMap::new(),
        functions: vec![Open::new(FunctionKind::Program, "the program".into())],
        nested: 0,
        classes: Vec::new(),
    };
    compiler.program.init = compiler.name("init");
    for (_, name, _) in natives::ALL {
        compiler.global(name);
    }
    compiler.global(natives::SIZE);
    while compiler.peek().kind != Kind::End {
        compiler.declaration()?;
    }
    compiler.end_function();
    Ok(compiler.program)
}

/// Statements and expressions within each other, at most: the compiler calls itself for each.
const MOST_NESTED: u32 = 200;

struct Compiler<'s> {
    tokens: Vec<Token<'s>>,
    /// The next token.
    at: usize,
    program: Program,
    names: HashMap<&'s str, Name>,
    texts: HashMap<&'s str, u32>,
    globals: HashMap<&'s str, u32>,
    functions: Vec<Open<'s>>,
    /// Statements and expressions around the next token.
    nested: u32,
    /// The classes around: whether each has a superclass.
    classes: Vec<bool>,
}

impl<'s> Compiler<'s> {
    fn peek(&self) -> Token<'s> {
        self.tokens[self.at]
    }

    fn next(&mut self) -> Token<'s> {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// Whether the next token is that sign or keyword, which is then taken.
    fn take(&mut self, text: &str) -> bool {
        let found = self.is(text);
        if found {
            self.next();
        }
        found
    }

    fn is(&self, text: &str) -> bool {
        let next = self.peek();
        matches!(next.kind, Kind::Sign | Kind::Keyword) && next.text == text
    }

    fn expect(&mut self, text: &str) -> Result<(), Error> {
        if self.take(text) { Ok(()) } else { Err(self.unexpected(&format!("{text:?}"))) }
    }

    fn expect_name(&mut self) -> Result<&'s str, Error> {
        if self.peek().kind == Kind::Name { Ok(self.next().text) } else { Err(self.unexpected("a name")) }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        self.wrong(format!("{wanted} was expected, not {:?}", self.peek().text))
    }

    fn wrong(&self, message: impl Into<String>) -> Error {
        Error::new(self.peek().line, message)
    }

    /// Compiles what lies within what is compiled.
    fn within(&mut self, compile: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        if self.nested == MOST_NESTED {
            return Err(self.wrong("this is nested too deeply"));
        }
        self.nested += 1;
        compile(self)?;
        self.nested -= 1;
        Ok(())
    }

    fn function(&mut self) -> &mut Open<'s> {
        self.functions.last_mut().expect("the program is a function")
    }

    /// Appends an instruction, of the line of the token before.
    fn emit(&mut self, op: Op) -> usize {
        let line = self.tokens[self.at.saturating_sub(1)].line;
        self.function().emit(op, line)
    }

    fn name(&mut self, text: &'s str) -> Name {
        *self.names.entry(text).or_insert_with(|| {
            self.program.names.push(text.into());
            self.program.names.len() as u32 - 1
        })
    }

    fn text(&mut self, text: &'s str) -> u32 {
        *self.texts.entry(text).or_insert_with(|| {
            self.program.texts.push(text.into());
            self.program.texts.len() as u32 - 1
        })
    }

    fn global(&mut self, text: &'s str) -> u32 {
        let name = self.name(text);
        *self.globals.entry(text).or_insert_with(|| {
            self.program.globals.push(name);
            self.program.globals.len() as u32 - 1
        })
    }

    /// Ends the innermost function; its place among the program's.
    fn end_function(&mut self) -> u32 {
        let returned = if self.function().kind == FunctionKind::Init { Op::GetLocal(0) } else { Op::Nil };
        self.emit_local(returned);
        self.emit(Op::Return);
        let ended = self.functions.pop().expect("it was begun");
        self.program.functions.push(ended.end());
        self.program.functions.len() as u32 - 1
    }

    /// Appends an instruction that may be of a local variable, so that it is changed if the variable is captured later.
    fn emit_local(&mut self, op: Op) {
        let at = self.emit(op);
        if let Op::GetLocal(slot) | Op::SetLocal(slot) = op {
            self.function().used(slot, at);
        }
    }

    /// The variable that function `of` captures from those around it.
    fn outer(&mut self, of: usize, name: &str) -> Option<u32> {
        let around = of.checked_sub(1)?;
        let capture = match self.functions[around].find(name) {
            Some(slot) => self.functions[around].share(slot),
            None => crate::program::Capture::Outer(self.outer(around, name)?),
        };
        Some(self.functions[of].capture(capture))
    }
}
