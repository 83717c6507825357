//! `+` of what is not two numbers.

use super::value::Value;
use heapwood::Access;

pub(super) const NOT_ADDED: &str = "only two numbers or two texts can be added";

/// `a + b`, by way of `scratch`.
#[inline(never)]
pub(super) fn add<'gc>(
    m: &impl Access<'gc>,
    scratch: &mut String,
    a: Value<'gc>,
    b: Value<'gc>,
) -> Result<Value<'gc>, String> {
    let (Value::Text(first), Value::Text(second)) = (a, b) else {
        return Err(NOT_ADDED.into());
    };
    scratch.clear();
    scratch.push_str(&first);
    scratch.push_str(&second);
    Ok(Value::Text(m.alloc_str(scratch)))
}
