use heapwood::{Gc, Trace};

#[derive(Trace)]
struct Person {
    age: u32,
    name: String,
    friend: Option<Gc<Person>>,
}

#[derive(Trace)]
enum Value {
    Number(f64),
    Text(String),
}

fn main() {}
