use heapwood::{Gc, GcCell, Shared, Trace};
#[derive(Trace, Shared)]
pub struct List<T> { pub v: T, pub next: GcCell<Option<Gc<List<T>>>> }
fn need<T: Shared>() {}
fn main() { need::<List<u8>>(); }
