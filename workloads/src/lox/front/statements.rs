//! The grammar of declarations and statements.

use super::builder::Body;
use super::compiler::{Class, Compiled, Compiler};
use super::op::Op;
use super::program::INIT;
use super::scanner::Kind;

impl Compiler<'_> {
    pub(super) fn declaration(&mut self) -> Compiled {
        if self.take(Kind::Class)? {
            self.nested(Self::class)
        } else if self.take(Kind::Fun)? {
            let name = self.name("a name of the function")?;
            self.declare(name)?;
            if !self.builder().is_global() {
                // A function may call itself: its name is known in it.
                self.builder().define();
            }
            self.function(name, Body::Function)?;
            self.define(name)
        } else if self.take(Kind::Var)? {
            self.var()
        } else {
            self.nested(Self::statement)
        }
    }

    fn var(&mut self) -> Compiled {
        let name = self.name("a name of the variable")?;
        self.declare(name)?;
        if self.take(Kind::Equal)? {
            self.expression()?;
        } else {
            self.emit(Op::Nil);
        }
        self.expect(Kind::Semicolon, "';' after the variable")?;
        self.define(name)
    }

    fn statement(&mut self) -> Compiled {
        if self.take(Kind::Print)? {
            self.expression()?;
            self.expect(Kind::Semicolon, "';' after the value")?;
            self.emit(Op::Print);
        } else if self.take(Kind::LeftBrace)? {
            self.builder().begin_block();
            self.block()?;
            self.end_block();
        } else if self.take(Kind::If)? {
            self.if_statement()?;
        } else if self.take(Kind::While)? {
            self.while_statement()?;
        } else if self.take(Kind::For)? {
            self.builder().begin_block();
            self.for_statement()?;
            self.end_block();
        } else if self.take(Kind::Return)? {
            self.return_statement()?;
        } else {
            self.expression()?;
            self.expect(Kind::Semicolon, "';' after the expression")?;
            self.emit(Op::Pop);
        }
        Ok(())
    }

    fn end_block(&mut self) {
        let line = self.previous.line;
        self.builder().end_block(line);
    }

    /// Declarations up to '}'.
    fn block(&mut self) -> Compiled {
        while !matches!(self.current.kind, Kind::RightBrace | Kind::End) {
            self.declaration()?;
        }
        self.expect(Kind::RightBrace, "'}' after the block")
    }

    fn condition(&mut self) -> Compiled {
        self.expect(Kind::LeftParen, "'(' before the condition")?;
        self.expression()?;
        self.expect(Kind::RightParen, "')' after the condition")
    }

    fn if_statement(&mut self) -> Compiled {
        self.condition()?;
        let otherwise = self.jump(Op::PopJumpIfFalse(0));
        self.nested(Self::statement)?;
        if self.take(Kind::Else)? {
            let end = self.jump(Op::Jump(0));
            self.builder().land(otherwise);
            self.nested(Self::statement)?;
            self.builder().land(end);
        } else {
            self.builder().land(otherwise);
        }
        Ok(())
    }

    fn while_statement(&mut self) -> Compiled {
        let start = self.builder().loop_start();
        self.condition()?;
        let end = self.jump(Op::PopJumpIfFalse(0));
        self.nested(Self::statement)?;
        self.emit(Op::Loop(start as u32));
        self.builder().land(end);
        Ok(())
    }

    fn for_statement(&mut self) -> Compiled {
        self.expect(Kind::LeftParen, "'(' after 'for'")?;
        if self.take(Kind::Var)? {
            self.var()?;
        } else if !self.take(Kind::Semicolon)? {
            self.expression()?;
            self.expect(Kind::Semicolon, "';' after the first expression")?;
            self.emit(Op::Pop);
        }
        let start = self.builder().loop_start();
        let mut end = None;
        if !self.take(Kind::Semicolon)? {
            self.expression()?;
            self.expect(Kind::Semicolon, "';' after the condition")?;
            end = Some(self.jump(Op::PopJumpIfFalse(0)));
        }
        // The step stands before the body, and runs behind it.
        let step = self.builder().loop_start();
        if self.current.kind != Kind::RightParen {
            self.expression()?;
            self.emit(Op::Pop);
        }
        let step = self.builder().cut(step);
        self.expect(Kind::RightParen, "')' after the step")?;
        self.nested(Self::statement)?;
        self.builder().paste(step);
        self.emit(Op::Loop(start as u32));
        end.into_iter().for_each(|end| self.builder().land(end));
        Ok(())
    }

    fn return_statement(&mut self) -> Compiled {
        let body = self.builder().body;
        if body == Body::Text {
            return self.error("'return' is outside of a function");
        }
        if self.take(Kind::Semicolon)? {
            self.emit_return();
        } else if body == Body::Initializer {
            return self.error("an initializer returns no value");
        } else {
            self.expression()?;
            self.expect(Kind::Semicolon, "';' after the value")?;
            self.emit(Op::Return);
        }
        Ok(())
    }

    /// The parameters and the body of a function, and the instruction that makes its closure.
    fn function(&mut self, name: &str, body: Body) -> Compiled {
        self.begin_function(name, body);
        self.builder().begin_block();
        self.expect(Kind::LeftParen, "'(' after the name of the function")?;
        let mut arity = 0u8;
        while self.current.kind != Kind::RightParen {
            let parameter = self.name("a name of a parameter")?;
            match arity.checked_add(1) {
                Some(more) => arity = more,
                None => return self.error("there are more than 255 parameters"),
            }
            self.declare(parameter)?;
            self.builder().parameter();
            if !self.take(Kind::Comma)? {
                break;
            }
        }
        self.expect(Kind::RightParen, "')' after the parameters")?;
        self.expect(Kind::LeftBrace, "'{' before the body")?;
        self.builder().function.arity = arity;
        self.nested(Self::block)?;
        let number = self.end_function()?;
        self.emit(Op::Closure(number));
        Ok(())
    }

    fn class(&mut self) -> Compiled {
        let class = self.name("a name of the class")?;
        let name = self.name_number(class)?;
        self.declare(class)?;
        self.emit(Op::Class { name, fields: 0 });
        let made = self.builder().loop_start() - 1;
        self.define(class)?;
        let has_superclass = self.take(Kind::Less)?;
        if has_superclass {
            let superclass = self.name("a name of the superclass")?;
            if superclass == class {
                return self.error("a class cannot inherit from itself");
            }
            // The methods capture the superclass as a local that no program can name.
            self.named(superclass, false)?;
            self.builder().begin_block();
            self.declare("super")?;
            self.builder().define();
        }
        self.named(class, false)?;
        if has_superclass {
            self.emit(Op::Inherit);
            self.named(class, false)?;
        }
        self.classes.push(Class { has_superclass, fields: Vec::new() });
        self.expect(Kind::LeftBrace, "'{' before the methods")?;
        while self.current.kind == Kind::Name {
            self.method()?;
        }
        self.expect(Kind::RightBrace, "'}' after the methods")?;
        self.emit(Op::Pop);
        if has_superclass {
            self.end_block();
        }
        let fields = self.classes.pop().map_or(0, |class| class.fields.len());
        self.builder().replace(made, Op::Class { name, fields: fields.min(u8::MAX.into()) as u8 });
        Ok(())
    }

    fn method(&mut self) -> Compiled {
        let method = self.name("a name of a method")?;
        let name = self.name_number(method)?;
        self.function(method, if name == INIT { Body::Initializer } else { Body::Method })?;
        self.emit(Op::Method(name));
        Ok(())
    }
}
