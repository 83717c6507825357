//! Lists and maps by index.

use super::value::{Key, List, Map, Value};
use heapwood::Access;
use heapwood::session::{Gc, GcMap, GcVec};

/// The place that a number names in a list.
#[inline(always)]
fn place(list: &List<'_>, index: Value<'_>) -> Result<usize, String> {
    if let Value::Number(number) = index
        && let place = number.get() as usize
        && place as f64 == number.get()
        && place < list.len()
    {
        return Ok(place);
    }
    Err(no_place(list.len(), index))
}

#[cold]
fn no_place(len: usize, index: Value<'_>) -> String {
    match index {
        Value::Number(number) => format!("{} is no place in a list of {len} elements", number.get()),
        other => format!("a list has no element of {}", other.what()),
    }
}

/// The element of a list in a place, if both are that: in registers, where a `Result` would go by way of memory.
#[inline(always)]
pub(super) fn in_list<'gc>(from: Value<'gc>, index: Value<'gc>) -> Option<Value<'gc>> {
    let (Value::List(list), Value::Number(number)) = (from, index) else { return None };
    let place = number.get() as usize;
    if place as f64 == number.get() { list.get(place) } else { None }
}

/// The element in a place; of a map nil, if there is none.
#[inline(never)]
pub(super) fn get<'gc>(from: Value<'gc>, index: Value<'gc>) -> Result<Value<'gc>, String> {
    match from {
        Value::List(list) => Ok(list.get(place(&list, index)?).unwrap_or(Value::NIL)),
        Value::Map(map) => Ok(map.get(&Key(index)).unwrap_or(Value::NIL)),
        other => Err(format!("only lists and maps have elements, not {}", other.what())),
    }
}

/// Sets the element in a place; a map gets it if there is none.
#[inline]
pub(super) fn set<'gc>(
    m: &impl Access<'gc>,
    of: Value<'gc>,
    index: Value<'gc>,
    value: Value<'gc>,
) -> Result<(), String> {
    match of {
        Value::List(list) => _ = list.set(m, place(&list, index)?, value),
        Value::Map(map) => _ = map.insert(m, Key(index), value),
        other => return Err(format!("only lists and maps have elements, not {}", other.what())),
    }
    Ok(())
}

/// A list of these values.
pub(super) fn list<'gc>(m: &impl Access<'gc>, values: &[Value<'gc>]) -> Gc<'gc, List<'gc>> {
    let list = m.alloc(GcVec::with_capacity(m, values.len()));
    list.extend(m, values.iter().copied());
    list
}

/// A map of keys and values in turn.
pub(super) fn map<'gc>(m: &impl Access<'gc>, entries: &[Value<'gc>]) -> Gc<'gc, Map<'gc>> {
    let map = m.alloc(GcMap::new());
    for entry in entries.chunks_exact(2) {
        map.insert(m, Key(entry[0]), entry[1]);
    }
    map
}
