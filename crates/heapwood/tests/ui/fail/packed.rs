// No scan would find a pointer off its alignment, on the stack or in an object.
use heapwood::{Gc, Trace, Weak, WeakSet};

#[repr(packed)]
struct Shifted(u8, Gc<u64>);

#[repr(packed)]
struct Others(u8, Weak<u64>, WeakSet<u64>);

// The compiler does not look into enums, nor at arguments of generic types. The derive does.
#[derive(Trace)]
#[repr(C, packed(4))]
struct Optional(u32, Option<Gc<u64>>);

fn main() {}
