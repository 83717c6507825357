//! Values that a cell cannot hold: of a type without `CellValue`, and one that owns memory.
use heapwood::{CellValue, Gc, GcCell, Mutator, Trace};

#[derive(Trace, Clone, Copy)]
enum Value {
    Number(i64),
    Node(Gc<Variable>),
}

#[derive(Trace)]
struct Variable {
    value: GcCell<Value>,
}

#[derive(Trace, Clone, Copy, CellValue)]
struct Named {
    value: Value,
    name: &'static str,
}

fn set(m: &Mutator, variable: Gc<Variable>) {
    variable.value.set(m, Value::Number(variable.value.get().number()));
}

impl Value {
    fn number(self) -> i64 {
        match self {
            Value::Number(number) => number,
            Value::Node(node) => node.value.get().number(),
        }
    }
}

fn main() {}
