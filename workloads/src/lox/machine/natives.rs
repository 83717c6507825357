//! The functions of the machine.

use super::elements;
use super::value::{Key, List, Value};
use crate::lox::front::{Native, Program};
use heapwood::Access;
use heapwood::session::{Gc, GcVec};

/// Calls one with its arguments, of which there are as many as it takes.
#[inline(never)]
pub(super) fn call<'gc>(
    m: &impl Access<'gc>,
    program: &Program,
    scratch: &mut String,
    native: Native,
    args: &[Value<'gc>],
) -> Result<Value<'gc>, String> {
    let wrong = |what: &str| Err(format!("'{}' takes {what}, not {}", native.name(), args[0].what()));
    Ok(match (native, args) {
        (Native::Len, [Value::Text(text)]) => Value::from(text.chars().count() as f64),
        (Native::Len, [Value::List(list)]) => Value::from(list.len() as f64),
        (Native::Len, [Value::Map(map)]) => Value::from(map.len() as f64),
        (Native::Len, _) => return wrong("a text, a list or a map"),
        (Native::Push, [Value::List(list), value]) => {
            list.push(m, *value);
            Value::NIL
        }
        (Native::Pop, [Value::List(list)]) => match list.pop(m) {
            Some(value) => value,
            None => return Err("'pop' takes a list that is not empty".into()),
        },
        (Native::Push | Native::Pop, _) => return wrong("a list"),
        (Native::Map, _) => Value::Map(elements::map(m, &[])),
        (Native::Keys, [Value::Map(map)]) => {
            let keys = new_list(m, map.len());
            keys.extend(m, map.iter().map(|(Key(key), _)| key));
            Value::List(keys)
        }
        (Native::Has, [Value::Map(map), key]) => Value::from(map.contains_key(&Key(*key))),
        (Native::Remove, [Value::Map(map), key]) => map.remove(m, &Key(*key)).unwrap_or(Value::NIL),
        (Native::Keys | Native::Has | Native::Remove, _) => return wrong("a map"),
        (Native::Str, _) => {
            scratch.clear();
            args[0].show(program, 0, scratch);
            Value::Text(m.alloc_str(scratch))
        }
        (Native::Split, [Value::Text(text), Value::Text(separator)]) if !separator.is_empty() => {
            let parts = new_list(m, 0);
            text.split(&***separator).for_each(|part| parts.push(m, Value::Text(m.alloc_str(part))));
            Value::List(parts)
        }
        (Native::Split, [Value::Text(_), Value::Text(_)]) => {
            return Err("'split' takes a separator that is not empty".into());
        }
        (Native::Split, _) => return wrong("two texts"),
        (Native::Floor, [Value::Number(number)]) => Value::from(number.get().floor()),
        (Native::Floor, _) => return wrong("a number"),
    })
}

fn new_list<'gc>(m: &impl Access<'gc>, room: usize) -> Gc<'gc, List<'gc>> {
    m.alloc(GcVec::with_capacity(m, room))
}
