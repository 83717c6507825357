//! A small language with values in a heap: expressions are parsed into objects, closures hold environments, and both
//! may form cycles. It has the parts of a larger one: values as an enum of words and `Gc`s, variables as objects with a
//! cell, a parser and an evaluator that pass the mutator along. `cargo run -p heapwood --example interpreter`
//!
//! ```text
//! expression = number | name | "let" name "=" expression "in" expression
//!            | "fn" name "->" expression | "if" sum "then" expression "else" expression | sum
//! sum        = call { ("+" | "-" | "<") call }
//! call       = atom { atom }                     atom = number | name | "(" expression ")"
//! ```

use heapwood::{Config, Gc, GcCell, GcStr, Heap, Mutator, Trace};
use std::iter::Peekable;

/// The value of an expression: two words, `Copy`. One word is a number or a pointer, so the collector scans objects
/// with a value conservatively.
#[derive(Trace, Clone, Copy)]
enum Value {
    Number(i64),
    Function(Gc<Function>),
}

#[derive(Trace)]
struct Function {
    parameter: Gc<GcStr>,
    body: Gc<Expression>,
    scope: Option<Gc<Variable>>,
}

/// A variable, and the outer ones. Its value is in its own object, so that `let` can set it after making a function
/// that refers to it. That is how a function calls itself.
#[derive(Trace)]
struct Variable {
    name: Gc<GcStr>,
    value: GcCell<Option<Gc<Value>>>,
    outer: Option<Gc<Variable>>,
}

#[derive(Trace, Clone, Copy)]
enum Operator {
    Add,
    Subtract,
    Less,
}

#[derive(Trace)]
enum Expression {
    Number(i64),
    Name(Gc<GcStr>),
    Let(Gc<GcStr>, Gc<Expression>, Gc<Expression>),
    Function(Gc<GcStr>, Gc<Expression>),
    If(Gc<Expression>, Gc<Expression>, Gc<Expression>),
    Call(Gc<Expression>, Gc<Expression>),
    Operation(Operator, Gc<Expression>, Gc<Expression>),
}

type Error = String;

/// Words and signs of a text. They borrow from the text, and hold no heap objects.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let length = if word > 0 {
            word
        } else if rest.starts_with("->") {
            2
        } else {
            first.len_utf8()
        };
        let (token, behind) = rest.split_at(length);
        tokens.push(token);
        rest = behind.trim_start();
    }
    tokens
}

/// The parser: a mutator, and the remaining tokens.
struct Parser<'a, I: Iterator<Item = &'a str>> {
    m: &'a Mutator,
    tokens: Peekable<I>,
}

impl<'a, I: Iterator<Item = &'a str>> Parser<'a, I> {
    fn next(&mut self) -> Result<&'a str, Error> {
        self.tokens.next().ok_or_else(|| "the text ends too early".into())
    }

    fn expect(&mut self, what: &str) -> Result<(), Error> {
        let found = self.next()?;
        if found == what { Ok(()) } else { Err(format!("{what:?} was expected, not {found:?}")) }
    }

    fn name(&mut self) -> Result<Gc<GcStr>, Error> {
        let name = self.next()?;
        if !name.starts_with(char::is_alphabetic) {
            return Err(format!("{name:?} is no name"));
        }
        Ok(self.m.alloc_str(name))
    }

    fn expression(&mut self) -> Result<Gc<Expression>, Error> {
        let made = match self.tokens.peek().copied() {
            Some("let") => {
                self.next()?;
                let name = self.name()?;
                self.expect("=")?;
                let value = self.expression()?;
                self.expect("in")?;
                Expression::Let(name, value, self.expression()?)
            }
            Some("fn") => {
                self.next()?;
                let parameter = self.name()?;
                self.expect("->")?;
                Expression::Function(parameter, self.expression()?)
            }
            Some("if") => {
                self.next()?;
                let condition = self.sum()?;
                self.expect("then")?;
                let then = self.expression()?;
                self.expect("else")?;
                Expression::If(condition, then, self.expression()?)
            }
            _ => return self.sum(),
        };
        Ok(self.m.alloc(made))
    }

    fn sum(&mut self) -> Result<Gc<Expression>, Error> {
        let mut left = self.call()?;
        while let Some(operator) = self.tokens.peek().copied().and_then(operator) {
            self.next()?;
            let right = self.call()?;
            left = self.m.alloc(Expression::Operation(operator, left, right));
        }
        Ok(left)
    }

    fn call(&mut self) -> Result<Gc<Expression>, Error> {
        let mut function = self.atom()?;
        while self.tokens.peek().is_some_and(|token| begins_atom(token)) {
            let argument = self.atom()?;
            function = self.m.alloc(Expression::Call(function, argument));
        }
        Ok(function)
    }

    fn atom(&mut self) -> Result<Gc<Expression>, Error> {
        let token = self.next()?;
        if token == "(" {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if !begins_atom(token) {
            return Err(format!("{token:?} was not expected"));
        }
        let made = match token.parse() {
            Ok(number) => Expression::Number(number),
            Err(_) => Expression::Name(self.m.alloc_str(token)),
        };
        Ok(self.m.alloc(made))
    }
}

fn operator(token: &str) -> Option<Operator> {
    match token {
        "+" => Some(Operator::Add),
        "-" => Some(Operator::Subtract),
        "<" => Some(Operator::Less),
        _ => None,
    }
}

fn begins_atom(token: &str) -> bool {
    let keyword = ["let", "in", "fn", "if", "then", "else"].contains(&token);
    token == "(" || (token.starts_with(char::is_alphanumeric) && !keyword)
}

fn parse(m: &Mutator, text: &str) -> Result<Gc<Expression>, Error> {
    let mut parser = Parser { m, tokens: tokens(text).into_iter().peekable() };
    let expression = parser.expression()?;
    match parser.tokens.next() {
        None => Ok(expression),
        Some(token) => Err(format!("{token:?} was not expected")),
    }
}

fn evaluate(m: &Mutator, mut e: Gc<Expression>, mut scope: Option<Gc<Variable>>) -> Result<Value, Error> {
    // A tail call is another turn of the loop, so that tail recursion takes no stack.
    loop {
        match *e {
            Expression::Number(number) => return Ok(Value::Number(number)),
            Expression::Name(name) => return look_up(name, scope),
            Expression::Function(parameter, body) => {
                return Ok(Value::Function(m.alloc(Function { parameter, body, scope })));
            }
            Expression::Let(name, value, inner) => {
                let variable = m.alloc(Variable { name, value: GcCell::new(None), outer: scope });
                let value = evaluate(m, value, Some(variable))?;
                variable.value.set(m, Some(m.alloc(value)));
                (e, scope) = (inner, Some(variable));
            }
            Expression::If(condition, then, otherwise) => {
                e = if number(evaluate(m, condition, scope)?)? != 0 { then } else { otherwise };
            }
            Expression::Call(function, argument) => {
                let Value::Function(function) = evaluate(m, function, scope)? else {
                    return Err("a number is no function".into());
                };
                let argument = m.alloc(evaluate(m, argument, scope)?);
                let (name, value) = (function.parameter, GcCell::new(Some(argument)));
                (e, scope) = (function.body, Some(m.alloc(Variable { name, value, outer: function.scope })));
            }
            Expression::Operation(operator, left, right) => {
                let (left, right) = (number(evaluate(m, left, scope)?)?, number(evaluate(m, right, scope)?)?);
                let result = match operator {
                    Operator::Add => left.checked_add(right),
                    Operator::Subtract => left.checked_sub(right),
                    Operator::Less => Some((left < right).into()),
                };
                return result.map(Value::Number).ok_or_else(|| "a number is too large".into());
            }
        }
    }
}

fn number(value: Value) -> Result<i64, Error> {
    match value {
        Value::Number(number) => Ok(number),
        Value::Function(_) => Err("a function is no number".into()),
    }
}

fn look_up(name: Gc<GcStr>, scope: Option<Gc<Variable>>) -> Result<Value, Error> {
    let variable = std::iter::successors(scope, |variable| variable.outer)
        .find(|variable| variable.name == name)
        .ok_or_else(|| format!("there is no {name}"))?;
    variable.value.get().map(|value| *value).ok_or_else(|| format!("{name} has no value yet"))
}

const PROGRAMS: [&str; 6] = [
    "let fib = fn n -> if n < 2 then n else fib (n - 1) + fib (n - 2) in fib 22",
    "let sum = fn n -> fn so -> if n < 1 then so else sum (n - 1) (so + n) in sum 200000 0",
    "let compose = fn f -> fn g -> fn x -> f (g x) in let double = fn x -> x + x in compose double double 21",
    "let x = y in x",
    "(1 2)",
    "if 1 then 2",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::default().min_heap(1 << 20); // Otherwise programs this small would not collect.
    // SAFETY: this program keeps `Gc`s on the stacks of attached threads, in objects and in roots only. Its `Vec`s and
    // `String`s hold text.
    let heap = unsafe { Heap::new(config) }?;
    let m = heap.attach()?;
    for program in PROGRAMS {
        match parse(&m, program).and_then(|expression| evaluate(&m, expression, None)) {
            Ok(Value::Number(number)) => println!("{number}"),
            Ok(Value::Function(_)) => println!("a function"),
            Err(error) => println!("error: {error}"),
        }
    }
    println!("collected: {}", heap.stats().collections > 0);
    Ok(())
}
