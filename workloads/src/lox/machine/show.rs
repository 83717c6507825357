//! Values as people read them.

use super::objects::class_of;
use super::value::{Key, Value};
use crate::lox::front::{Native, Program};
use std::fmt::{self, Write};

/// Lists and maps that are shown in one another.
const DEEPEST: u32 = 4;

impl Value<'_> {
    /// What it is, in a message.
    pub(super) fn what(self) -> &'static str {
        match self {
            Value::Nil(_) | Value::Absent(_) | Value::Open(_) => "nil",
            Value::True(_) | Value::False(_) => "a truth value",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Closure(_) | Value::Native(_) | Value::Bound(_) => "a function",
            Value::Class(_) => "a class",
            Value::Instance(_) | Value::Moved(_) => "an instance",
        }
    }

    /// Appends what `print` shows. `depth` says how many lists and maps it lies in: those beyond the fourth are not shown, so a list
    /// that contains itself ends.
    pub(super) fn show(self, program: &Program, depth: u32, to: &mut String) {
        // Writing to a string does not fail.
        _ = self.write(program, depth, to);
    }

    fn write(self, program: &Program, depth: u32, to: &mut String) -> fmt::Result {
        match self {
            Value::Nil(_) | Value::Absent(_) | Value::Open(_) => to.write_str("nil"),
            Value::True(_) => to.write_str("true"),
            Value::False(_) => to.write_str("false"),
            Value::Number(number) => write!(to, "{}", number.get()),
            Value::Text(text) => to.write_str(&text),
            Value::List(_) if depth == DEEPEST => to.write_str("[..]"),
            Value::Map(_) if depth == DEEPEST => to.write_str("{..}"),
            Value::List(list) => {
                to.push('[');
                for (index, value) in list.iter().enumerate() {
                    to.push_str(if index > 0 { ", " } else { "" });
                    value.write(program, depth + 1, to)?;
                }
                to.write_char(']')
            }
            Value::Map(map) => {
                to.push('{');
                for (index, (Key(key), value)) in map.iter().enumerate() {
                    to.push_str(if index > 0 { ", " } else { "" });
                    key.write(program, depth + 1, to)?;
                    to.push_str(": ");
                    value.write(program, depth + 1, to)?;
                }
                to.write_char('}')
            }
            Value::Closure(closure) => {
                write!(to, "<fun {}>", program.functions[closure.function as usize].name)
            }
            Value::Native(native) => write!(to, "<fun {}>", Native::ALL[native as usize].name()),
            Value::Class(class) => to.write_str(&program.names[class.name as usize]),
            Value::Instance(instance) => {
                write!(to, "{} instance", program.names[class_of(&instance).name as usize])
            }
            Value::Bound(bound) => {
                write!(to, "<fun {}>", program.functions[bound.method.function as usize].name)
            }
            Value::Moved(_) => Ok(()),
        }
    }
}
