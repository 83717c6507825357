//! Statements and declarations.

use super::Compiler;
use super::function::{FunctionKind, Open};
use crate::program::{Error, Op};

/// More would not fit beside a method's name.
const MOST_ARGUMENTS: u32 = 255;

impl<'s> Compiler<'s> {
    pub(super) fn declaration(&mut self) -> Result<(), Error> {
        if self.take("class") {
            return self.class();
        }
        if self.take("fun") {
            let name = self.expect_name()?;
            // Its own name is known inside it.
            let global = self.declare(name)?;
            if global.is_none() {
                // Its place, until the closure that may capture it is there.
                self.emit(Op::Nil);
            }
            self.function_body(FunctionKind::Function, name)?;
            match global {
                Some(global) => drop(self.emit(Op::DefineGlobal(global))),
                None => self.fill(name),
            }
            return Ok(());
        }
        if self.take("var") {
            let name = self.expect_name()?;
            if self.take("=") {
                self.expression()?;
            } else {
                self.emit(Op::Nil);
            }
            self.expect(";")?;
            if let Some(global) = self.declare(name)? {
                self.emit(Op::DefineGlobal(global));
            }
            return Ok(());
        }
        self.within(Self::statement)
    }

    /// Stores the top into the variable that was declared last, and pops it.
    fn fill(&mut self, name: &str) {
        let slot = self.function().find(name).expect("it was declared");
        self.emit_local(Op::SetLocal(slot));
        self.emit(Op::Pop);
    }

    /// A new variable: its place among the global ones, or none.
    fn declare(&mut self, name: &'s str) -> Result<Option<u32>, Error> {
        if !self.function().is_local() {
            return Ok(Some(self.global(name)));
        }
        if self.function().declared_here(name) {
            return Err(self.wrong(format!("{name} is declared twice")));
        }
        self.function().declare(name);
        Ok(None)
    }

    /// Arguments and body, up to the closure.
    pub(super) fn function_body(&mut self, kind: FunctionKind, name: &str) -> Result<(), Error> {
        self.functions.push(Open::new(kind, name.into()));
        self.expect("(")?;
        let mut arguments = 0;
        while !self.is(")") {
            let name = self.expect_name()?;
            if self.function().declared_here(name) {
                return Err(self.wrong(format!("{name} is declared twice")));
            }
            self.function().take_argument(name);
            arguments += 1;
            if arguments > MOST_ARGUMENTS {
                return Err(self.wrong(format!("a function takes at most {MOST_ARGUMENTS} arguments")));
            }
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        self.function().end_arguments();
        self.expect("{")?;
        while !self.is("}") {
            self.declaration()?;
        }
        self.expect("}")?;
        let function = self.end_function();
        self.emit(Op::Closure(function));
        Ok(())
    }

    fn class(&mut self) -> Result<(), Error> {
        let text = self.expect_name()?;
        let name = self.name(text);
        self.program.classes.push(name);
        let class = Op::Class(self.program.classes.len() as u32 - 1);
        let global = self.declare(text)?;
        self.emit(class);
        if let Some(global) = global {
            self.emit(Op::DefineGlobal(global));
        }

        let inherits = self.take("<");
        self.function().begin_block();
        if inherits {
            let superclass = self.expect_name()?;
            if superclass == text {
                return Err(self.wrong("a class cannot inherit from itself"));
            }
            self.variable(superclass, false)?;
            self.function().declare("super");
            self.variable(text, false)?;
            self.emit(Op::Inherit);
        }
        self.classes.push(inherits);
        self.variable(text, false)?;
        self.expect("{")?;
        while !self.is("}") {
            let method = self.expect_name()?;
            let kind = if method == "init" { FunctionKind::Init } else { FunctionKind::Method };
            self.function_body(kind, method)?;
            let method = self.name(method);
            self.emit(Op::Method(method));
        }
        self.expect("}")?;
        self.emit(Op::Pop);
        self.classes.pop();
        self.end_block();
        Ok(())
    }

    fn statement(&mut self) -> Result<(), Error> {
        if self.take("print") {
            self.expression()?;
            self.expect(";")?;
            self.emit(Op::Print);
        } else if self.take("if") {
            self.condition()?;
            let otherwise = self.emit(Op::PopJumpIfFalse(0));
            self.within(Self::statement)?;
            if self.take("else") {
                let end = self.emit(Op::Jump(0));
                self.function().land(otherwise);
                self.within(Self::statement)?;
                self.function().land(end);
            } else {
                self.function().land(otherwise);
            }
        } else if self.take("while") {
            let start = self.function().here();
            self.condition()?;
            let end = self.emit(Op::PopJumpIfFalse(0));
            self.within(Self::statement)?;
            self.emit(Op::Loop(start));
            self.function().land(end);
        } else if self.take("for") {
            self.for_loop()?;
        } else if self.take("return") {
            self.return_value()?;
        } else if self.take("{") {
            self.function().begin_block();
            while !self.is("}") {
                self.declaration()?;
            }
            self.expect("}")?;
            self.end_block();
        } else {
            self.expression_statement()?;
        }
        Ok(())
    }

    fn condition(&mut self) -> Result<(), Error> {
        self.expect("(")?;
        self.expression()?;
        self.expect(")")
    }

    fn expression_statement(&mut self) -> Result<(), Error> {
        self.expression()?;
        self.expect(";")?;
        self.emit(Op::Pop);
        Ok(())
    }

    fn for_loop(&mut self) -> Result<(), Error> {
        self.function().begin_block();
        self.expect("(")?;
        if self.is("var") {
            self.declaration()?;
        } else if !self.take(";") {
            self.expression_statement()?;
        }
        let mut start = self.function().here();
        let mut end = None;
        if !self.take(";") {
            self.expression()?;
            self.expect(";")?;
            end = Some(self.emit(Op::PopJumpIfFalse(0)));
        }
        if !self.is(")") {
            // What is done after each round stands before the body.
            let body = self.emit(Op::Jump(0));
            let after = self.function().here();
            self.expression()?;
            self.emit(Op::Pop);
            self.emit(Op::Loop(start));
            self.function().land(body);
            start = after;
        }
        self.expect(")")?;
        self.within(Self::statement)?;
        self.emit(Op::Loop(start));
        if let Some(end) = end {
            self.function().land(end);
        }
        self.end_block();
        Ok(())
    }

    fn return_value(&mut self) -> Result<(), Error> {
        let kind = self.function().kind;
        if self.is(";") {
            self.emit_local(if kind == FunctionKind::Init { Op::GetLocal(0) } else { Op::Nil });
        } else if kind == FunctionKind::Init {
            return Err(self.wrong("init returns its object, and no other value"));
        } else if kind == FunctionKind::Program {
            return Err(self.wrong("only a function returns a value"));
        } else {
            self.expression()?;
        }
        self.expect(";")?;
        self.emit(Op::Return);
        Ok(())
    }

    fn end_block(&mut self) {
        for _ in 0..self.function().end_block() {
            self.emit(Op::Pop);
        }
    }
}
