//! Expressions, by precedence.

use super::Compiler;
use super::function::FunctionKind;
use crate::program::{Error, Op};
use crate::scanner::Kind;

/// How strongly operators bind: `or` least.
const OR: u32 = 1;
const AND: u32 = 2;
const EQUALITY: u32 = 3;
const COMPARISON: u32 = 4;
const SUM: u32 = 5;
const PRODUCT: u32 = 6;
const UNARY: u32 = 7;

fn binds(operator: &str) -> Option<u32> {
    Some(match operator {
        "or" => OR,
        "and" => AND,
        "==" | "!=" => EQUALITY,
        "<" | "<=" | ">" | ">=" => COMPARISON,
        "+" | "-" => SUM,
        "*" | "/" | "%" => PRODUCT,
        _ => return None,
    })
}

impl<'s> Compiler<'s> {
    pub(super) fn expression(&mut self) -> Result<(), Error> {
        self.within(|this| this.operation(0, true))
    }

    /// Operators that bind more strongly than `above`.
    fn operation(&mut self, above: u32, may_assign: bool) -> Result<(), Error> {
        self.unary(may_assign)?;
        loop {
            let next = self.peek();
            let operator =
                matches!(next.kind, Kind::Sign | Kind::Keyword).then_some(next.text).and_then(binds);
            let Some(strength) = operator.filter(|&strength| strength > above) else { break };
            self.next();
            self.binary(next.text, strength)?;
        }
        // Where an assignment was possible it was taken.
        if self.is("=") { Err(self.wrong("nothing can be assigned to that")) } else { Ok(()) }
    }

    fn binary(&mut self, operator: &str, strength: u32) -> Result<(), Error> {
        if strength <= AND {
            let skip = self.emit(if strength == AND { Op::JumpIfFalse(0) } else { Op::JumpIfTrue(0) });
            self.emit(Op::Pop);
            self.operation(strength, false)?;
            self.function().land(skip);
            return Ok(());
        }
        self.operation(strength, false)?;
        self.emit(match operator {
            "==" | "!=" => Op::Equal,
            "<" => Op::Less,
            "<=" => Op::LessEqual,
            ">" => Op::Greater,
            ">=" => Op::GreaterEqual,
            "+" => Op::Add,
            "-" => Op::Subtract,
            "*" => Op::Multiply,
            "/" => Op::Divide,
            _ => Op::Remainder,
        });
        if operator == "!=" {
            self.emit(Op::Not);
        }
        Ok(())
    }

    fn unary(&mut self, may_assign: bool) -> Result<(), Error> {
        for (sign, op) in [("-", Op::Negate), ("!", Op::Not)] {
            if self.take(sign) {
                self.within(|this| this.operation(UNARY, false))?;
                self.emit(op);
                return Ok(());
            }
        }
        self.atom(may_assign)?;
        self.behind(may_assign)
    }

    /// Calls, fields and indices behind an atom.
    fn behind(&mut self, may_assign: bool) -> Result<(), Error> {
        loop {
            if self.take("(") {
                let count = self.arguments()?;
                self.emit(Op::Call(count.into()));
            } else if self.take("[") {
                self.expression()?;
                self.expect("]")?;
                if may_assign && self.take("=") {
                    self.expression()?;
                    self.emit(Op::SetIndex);
                } else {
                    self.emit(Op::GetIndex);
                }
            } else if self.take(".") {
                let name = self.expect_name()?;
                let name = self.name(name);
                if may_assign && self.take("=") {
                    self.expression()?;
                    self.emit(Op::SetField(name));
                } else if self.take("(") {
                    let count = self.arguments()?;
                    self.emit(Op::Invoke(count, name));
                } else {
                    self.emit(Op::GetField(name));
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Expressions up to the parenthesis.
    fn arguments(&mut self) -> Result<u8, Error> {
        let count = self.list(")")?;
        u8::try_from(count).map_err(|_| self.wrong("a call has at most 255 arguments"))
    }

    /// Expressions up to a sign; how many.
    fn list(&mut self, end: &str) -> Result<u32, Error> {
        let mut count = 0;
        while !self.is(end) {
            self.expression()?;
            count += 1;
            if !self.take(",") {
                break;
            }
        }
        self.expect(end)?;
        Ok(count)
    }

    fn atom(&mut self, may_assign: bool) -> Result<(), Error> {
        let token = self.next();
        match (token.kind, token.text) {
            (Kind::Number, text) => {
                let number: f64 = text.parse().map_err(|_| self.wrong(format!("{text} is no number")))?;
                if f64::from(number as i32) == number {
                    self.emit(Op::Small(number as i32));
                } else {
                    self.program.numbers.push(number);
                    self.emit(Op::Number(self.program.numbers.len() as u32 - 1));
                }
            }
            (Kind::Text, text) => {
                let text = self.text(text);
                self.emit(Op::Text(text));
            }
            (Kind::Name, name) => self.variable(name, may_assign)?,
            (Kind::Keyword, "nil") => drop(self.emit(Op::Nil)),
            (Kind::Keyword, "true") => drop(self.emit(Op::True)),
            (Kind::Keyword, "false") => drop(self.emit(Op::False)),
            (Kind::Keyword, "fun") => self.function_body(FunctionKind::Function, "fun")?,
            (Kind::Keyword, "this") => match self.classes.is_empty() {
                true => return Err(self.wrong("there is no this outside of a class")),
                false => self.variable("this", false)?,
            },
            (Kind::Keyword, "super") => self.superclass()?,
            (Kind::Sign, "(") => {
                self.expression()?;
                self.expect(")")?;
            }
            (Kind::Sign, "[") => {
                let count = self.list("]")?;
                self.emit(Op::List(count));
            }
            (Kind::Sign, "{") => self.map()?,
            (_, text) => return Err(self.wrong(format!("{text:?} was not expected"))),
        }
        Ok(())
    }

    fn map(&mut self) -> Result<(), Error> {
        let mut count = 0;
        while !self.is("}") {
            self.expression()?;
            self.expect(":")?;
            self.expression()?;
            count += 1;
            if !self.take(",") {
                break;
            }
        }
        self.expect("}")?;
        self.emit(Op::Map(count));
        Ok(())
    }

    fn superclass(&mut self) -> Result<(), Error> {
        if self.classes.last() != Some(&true) {
            return Err(self.wrong("there is no super outside of a class that inherits"));
        }
        self.expect(".")?;
        let method = self.expect_name()?;
        let method = self.name(method);
        self.variable("this", false)?;
        if self.take("(") {
            let count = self.arguments()?;
            self.variable("super", false)?;
            self.emit(Op::InvokeSuper(count, method));
        } else {
            self.variable("super", false)?;
            self.emit(Op::GetSuper(method));
        }
        Ok(())
    }

    /// A variable, or an assignment to it.
    pub(super) fn variable(&mut self, name: &'s str, may_assign: bool) -> Result<(), Error> {
        let innermost = self.functions.len() - 1;
        let (get, set) = if let Some(slot) = self.functions[innermost].find(name) {
            (Op::GetLocal(slot), Op::SetLocal(slot))
        } else if let Some(place) = self.outer(innermost, name) {
            (Op::GetOuter(place), Op::SetOuter(place))
        } else {
            let place = self.global(name);
            (Op::GetGlobal(place), Op::SetGlobal(place))
        };
        if may_assign && self.take("=") {
            self.expression()?;
            self.emit_local(set);
        } else {
            self.emit_local(get);
        }
        Ok(())
    }
}
