//! The grammar of expressions, by precedence.

use super::builder::Body;
use super::compiler::{Compiled, Compiler};
use super::op::{Compare, Op};
use super::scanner::Kind;

/// How strongly operators bind, from the weakest on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    None,
    Assignment,
    Or,
    And,
    Equality,
    Comparison,
    Term,
    Factor,
    Unary,
    Call,
}

fn precedence(kind: Kind) -> Precedence {
    match kind {
        Kind::Or => Precedence::Or,
        Kind::And => Precedence::And,
        Kind::EqualEqual | Kind::BangEqual => Precedence::Equality,
        Kind::Less | Kind::LessEqual | Kind::Greater | Kind::GreaterEqual => Precedence::Comparison,
        Kind::Plus | Kind::Minus => Precedence::Term,
        Kind::Star | Kind::Slash | Kind::Percent => Precedence::Factor,
        Kind::LeftParen | Kind::LeftBracket | Kind::Dot => Precedence::Call,
        _ => Precedence::None,
    }
}

/// The precedence of the right side of an operator, which binds to the left, and its instruction.
fn operator(kind: Kind) -> Option<(Precedence, Op)> {
    Some(match kind {
        Kind::EqualEqual => (Precedence::Comparison, Op::Compare(Compare::Equal)),
        Kind::BangEqual => (Precedence::Comparison, Op::Compare(Compare::NotEqual)),
        Kind::Less => (Precedence::Term, Op::Compare(Compare::Less)),
        Kind::LessEqual => (Precedence::Term, Op::Compare(Compare::LessEqual)),
        Kind::Greater => (Precedence::Term, Op::Compare(Compare::Greater)),
        Kind::GreaterEqual => (Precedence::Term, Op::Compare(Compare::GreaterEqual)),
        Kind::Plus => (Precedence::Factor, Op::Add),
        Kind::Minus => (Precedence::Factor, Op::Subtract),
        Kind::Star => (Precedence::Unary, Op::Multiply),
        Kind::Slash => (Precedence::Unary, Op::Divide),
        Kind::Percent => (Precedence::Unary, Op::Remainder),
        _ => return None,
    })
}

impl Compiler<'_> {
    pub(super) fn expression(&mut self) -> Compiled {
        self.binding(Precedence::Assignment)
    }

    /// An expression whose operators bind at least so strongly.
    fn binding(&mut self, least: Precedence) -> Compiled {
        self.nested(|this| {
            let can_assign = least <= Precedence::Assignment;
            this.prefix(can_assign)?;
            while precedence(this.current.kind) >= least {
                this.advance()?;
                this.infix(can_assign)?;
            }
            if can_assign && this.take(Kind::Equal)? {
                return this.error("what is before this '=' cannot be assigned to");
            }
            Ok(())
        })
    }

    fn prefix(&mut self, can_assign: bool) -> Compiled {
        if !self.begins_expression() {
            return self.error(format!("expected an expression, not {}", self.found()));
        }
        self.advance()?;
        match self.previous.kind {
            Kind::LeftParen => {
                self.expression()?;
                self.expect(Kind::RightParen, "')' after the expression")?;
            }
            Kind::LeftBracket => {
                let len = self.separated(Kind::RightBracket, "']' after the elements", Self::expression)?;
                self.emit(Op::List(len));
            }
            Kind::LeftBrace => {
                let pairs = self.separated(Kind::RightBrace, "'}' after the entries", Self::entry)?;
                self.emit(Op::Map(pairs));
            }
            Kind::Minus | Kind::Bang => {
                let op = if self.previous.kind == Kind::Minus { Op::Negate } else { Op::Not };
                self.binding(Precedence::Unary)?;
                self.emit(op);
            }
            Kind::Name => return self.named(self.previous.text, can_assign),
            Kind::Number => {
                let number = self.number(self.previous.text.parse().unwrap_or(f64::NAN))?;
                self.emit(Op::Number(number));
            }
            Kind::Text => {
                let number = self.text_number(self.previous.text)?;
                self.emit(Op::Text(number.into()));
            }
            Kind::This => self.this()?,
            Kind::Super => return self.super_method(),
            Kind::True => self.emit(Op::True),
            Kind::False => self.emit(Op::False),
            _ => self.emit(Op::Nil),
        }
        Ok(())
    }

    fn begins_expression(&self) -> bool {
        let signs = [Kind::LeftParen, Kind::LeftBracket, Kind::LeftBrace, Kind::Minus, Kind::Bang];
        let words = [Kind::This, Kind::Super, Kind::True, Kind::False, Kind::Nil];
        let kind = self.current.kind;
        matches!(kind, Kind::Name | Kind::Number | Kind::Text)
            || signs.contains(&kind)
            || words.contains(&kind)
    }

    fn infix(&mut self, can_assign: bool) -> Compiled {
        match self.previous.kind {
            Kind::LeftParen => {
                let args = self.arguments()?;
                self.emit(Op::Call(args));
            }
            Kind::LeftBracket => {
                self.expression()?;
                self.expect(Kind::RightBracket, "']' after the index")?;
                let sets = can_assign && self.take(Kind::Equal)?;
                if sets {
                    self.expression()?;
                }
                self.emit(if sets { Op::SetIndex } else { Op::Index });
            }
            Kind::Dot => return self.dot(can_assign),
            Kind::And | Kind::Or => {
                let and = self.previous.kind == Kind::And;
                let jump = self.jump(if and { Op::JumpIfFalse(0) } else { Op::JumpIfTrue(0) });
                self.emit(Op::Pop);
                self.binding(if and { Precedence::Equality } else { Precedence::And })?;
                self.builder().land(jump);
            }
            kind => {
                if let Some((right, op)) = operator(kind) {
                    let line = self.previous.line;
                    self.binding(right)?;
                    self.builder().emit(op, line);
                }
            }
        }
        Ok(())
    }

    /// Things with commas between them, up to a closing sign; how many there are.
    fn separated(&mut self, close: Kind, what: &str, one: fn(&mut Self) -> Compiled) -> Compiled<u16> {
        let mut count = 0u16;
        while self.current.kind != close {
            one(self)?;
            match count.checked_add(1) {
                Some(more) => count = more,
                None => return self.error("there are too many elements"),
            }
            if !self.take(Kind::Comma)? {
                break;
            }
        }
        self.expect(close, what)?;
        Ok(count)
    }

    fn entry(&mut self) -> Compiled {
        self.expression()?;
        self.expect(Kind::Colon, "':' after the key")?;
        self.expression()
    }

    fn arguments(&mut self) -> Compiled<u8> {
        let count = self.separated(Kind::RightParen, "')' after the arguments", Self::expression)?;
        u8::try_from(count).or_else(|_| self.error("there are more than 255 arguments"))
    }

    pub(super) fn named(&mut self, name: &str, can_assign: bool) -> Compiled {
        let (get, set) = self.variable(name)?;
        if can_assign && self.take(Kind::Equal)? {
            self.expression()?;
            self.emit(set);
        } else {
            self.emit(get);
        }
        Ok(())
    }

    fn this(&mut self) -> Compiled {
        if self.classes.is_empty() {
            return self.error("'this' is outside of a class");
        }
        self.named("this", false)
    }

    fn super_method(&mut self) -> Compiled {
        match self.classes.last() {
            None => return self.error("'super' is outside of a class"),
            Some(class) if !class.has_superclass => {
                return self.error("'super' is in a class without a superclass");
            }
            Some(_) => {}
        }
        self.expect(Kind::Dot, "'.' after 'super'")?;
        let method = self.name("the name of a method after 'super.'")?;
        let name = self.name_number(method)?;
        self.named("this", false)?;
        if self.take(Kind::LeftParen)? {
            let args = self.arguments()?;
            self.named("super", false)?;
            self.emit(Op::SuperInvoke { args, name });
        } else {
            self.named("super", false)?;
            self.emit(Op::GetSuper(name));
        }
        Ok(())
    }

    /// A field or a method of the instance on top of the stack.
    fn dot(&mut self, can_assign: bool) -> Compiled {
        let field = self.name("a name after '.'")?;
        let name = self.name_number(field)?;
        if can_assign && self.take(Kind::Equal)? {
            let is_method = matches!(self.builder().body, Body::Method | Body::Initializer);
            let of_this = is_method && self.builder().last() == Some(Op::GetLocal(0));
            if of_this {
                self.builder().take_back();
                if let Some(class) = self.classes.last_mut()
                    && !class.fields.contains(&field)
                {
                    class.fields.push(field);
                }
            }
            self.expression()?;
            self.emit(if of_this { Op::SetThisField(name) } else { Op::SetField(name) });
        } else if self.take(Kind::LeftParen)? {
            let args = self.arguments()?;
            self.emit(Op::Invoke { args, name });
        } else {
            self.emit(Op::GetField(name));
        }
        Ok(())
    }
}
