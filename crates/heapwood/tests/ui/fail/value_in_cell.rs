use heapwood::{Gc, GcCell, GcVec, Trace};

#[derive(Trace)]
enum Moved {
    Number(u64),
    Text(Gc<u8>),
}

#[derive(Trace)]
struct Variable {
    value: GcCell<Moved>,
}

#[derive(Trace)]
struct Five {
    value: GcCell<[Option<Gc<u8>>; 5]>,
}

fn push(m: &heapwood::Mutator, names: &GcVec<String>, values: &GcVec<Moved>) {
    names.push(m, String::new());
    values.push(m, Moved::Number(1));
}

fn main() {}
