//! Operators whose operands are not the usual ones: texts are added, other mistakes are named.

use super::value::Value;
use crate::lox::front::Compare;
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

/// Whether two values compare so that are not both numbers.
#[inline(never)]
pub(super) fn compare<'gc>(how: Compare, a: Value<'gc>, b: Value<'gc>) -> Result<bool, String> {
    match how {
        Compare::Equal => Ok(a.equals(b)),
        Compare::NotEqual => Ok(!a.equals(b)),
        _ => Err("only numbers can be compared".into()),
    }
}
