//! Values as text.

use super::{Machine, Value};
use crate::door;
use heapwood_lox::number;

/// Lists and maps in each other are shown to this depth: they may hold themselves.
const DEPTH: usize = 4;

impl<'gc> Machine<'gc, '_> {
    pub(super) fn show(&self, value: &Value<'gc>) -> String {
        let mut text = String::new();
        self.show_into(&mut text, value, DEPTH);
        text
    }

    fn show_into(&self, text: &mut String, value: &Value<'gc>, depth: usize) {
        match value {
            Value::Nil | Value::Nothing => text.push_str("nil"),
            Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Value::Number(value) => text.push_str(&number::to_text(*value)),
            Value::Native(native) => text.push_str(Value::native(*native).signature().0),
            Value::Text(value) => text.push_str(value),
            Value::List(_) | Value::Map(_) if depth == 0 => text.push_str(".."),
            Value::List(list) => {
                text.push('[');
                for i in 0..list.len() {
                    separate(text, i);
                    let element = list.get(i).expect("it is within");
                    self.show_into(text, &element, depth - 1);
                }
                text.push(']');
            }
            Value::Map(map) => {
                text.push('{');
                let mut i = 0;
                door::each(map, |key, value| {
                    separate(text, i);
                    self.show_into(text, &key, depth - 1);
                    text.push_str(": ");
                    self.show_into(text, &value, depth - 1);
                    i += 1;
                });
                text.push('}');
            }
            Value::Closure(closure) => text.push_str(&self.program.functions[closure.function as usize].name),
            Value::Bound(bound) => {
                text.push_str(&self.program.functions[bound.method.function as usize].name);
            }
            Value::Class(class) => text.push_str(self.class_name(class.declaration)),
            Value::Instance(this) => {
                text.push_str(self.class_name(this.class.declaration));
                text.push_str(" object");
            }
            Value::Box(shared) => self.show_into(text, &shared.get(), depth),
        }
    }

    fn class_name(&self, declaration: u32) -> &str {
        self.name(self.program.classes[declaration as usize])
    }
}

fn separate(text: &mut String, i: usize) {
    if i > 0 {
        text.push_str(", ");
    }
}
