//! Native functions. Their arguments stay on the stack while they run.

use super::objects::{key, place};
use super::{Machine, Value, Wrong};
use crate::door::{self, Vector};
use heapwood_lox::natives::Native;
use std::cmp::Ordering;

impl<'gc> Machine<'gc, '_> {
    /// Calls a native function, whose arguments begin at `first` on the stack.
    pub(super) fn call_native(&mut self, native: Native, first: usize) -> Result<Value<'gc>, Wrong> {
        let m = self.m;
        let argument = |i: usize| self.stack.get(first + i);
        Ok(match (native, argument(0)) {
            (Native::Length, Value::Text(text)) => number(text.len()),
            (Native::Length, Value::List(list)) => number(list.len()),
            (Native::Length, Value::Map(map)) => number(map.len()),
            (Native::Text, Value::Text(text)) => Value::Text(text),
            (Native::Text, value) => Value::Text(door::text(m, &self.show(&value))),
            (Native::Floor, Value::Number(value)) => Value::Number(value.floor()),
            (Native::Slice, Value::Text(text)) => {
                let (from, to) = (place(&argument(1), text.len() + 1)?, place(&argument(2), text.len() + 1)?);
                match text.get(from..to) {
                    Some(part) => Value::Text(door::text(m, part)),
                    None => return Err(format!("{from}..{to} is no part of the text")),
                }
            }
            (Native::Code, Value::Text(text)) => {
                number(text.as_bytes()[place(&argument(1), text.len())?].into())
            }
            (Native::Push, Value::List(list)) => {
                list.push(m, argument(1));
                Value::Nil
            }
            (Native::Pop, Value::List(list)) => list.pop(m).ok_or("the list is empty")?,
            (Native::Sort, Value::List(list)) => {
                sort(m, &list)?;
                Value::Nil
            }
            (Native::Has, Value::Map(map)) => Value::Bool(map.get(&key(argument(1))?).is_some()),
            (Native::Remove, Value::Map(map)) => Value::Bool(map.remove(m, &key(argument(1))?).is_some()),
            (Native::Keys, Value::Map(map)) => {
                let keys = door::alloc(m, door::vector(m, 0, |_| Value::Nil));
                door::each(&map, |key, _| keys.push(m, key));
                Value::List(keys)
            }
            (native, other) => {
                return Err(format!("{} does not take {}", native.signature().0, other.kind()));
            }
        })
    }
}

fn number<'gc>(length: usize) -> Value<'gc> {
    Value::Number(length as f64)
}

/// Sorts numbers, or texts.
fn sort<'gc>(m: door::Mutator<'gc>, list: &Vector<'gc, Value<'gc>>) -> Result<(), Wrong> {
    let numbers = (0..list.len()).all(|i| matches!(list.get(i), Some(Value::Number(_))));
    let texts = (0..list.len()).all(|i| matches!(list.get(i), Some(Value::Text(_))));
    if !numbers && !texts {
        return Err("sort takes a list of numbers, or of texts".into());
    }
    list.sort_by(m, |a, b| match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.total_cmp(b),
        (Value::Text(a), Value::Text(b)) => (**a).cmp(&**b),
        _ => Ordering::Equal,
    });
    Ok(())
}
