//! A module that pretends to be heapwood decides neither where pointers are nor which types have markers.
#![forbid(unsafe_code)]

use heapwood::Gc;

mod maps {
    pub mod __private {
        pub use heapwood::__private::{Trace, TracedTypesMustNotImplementDrop};

        pub struct TypeMap;

        impl TypeMap {
            pub const fn of_struct<T, const N: usize>(_: [(usize, heapwood::TypeMap); N]) -> heapwood::TypeMap {
                heapwood::TypeMap::NO_POINTERS
            }
        }
    }
}

#[derive(heapwood::Trace)]
#[trace(crate = maps)]
struct Hidden(Gc<u64>);

mod markers {
    pub mod __private {
        pub use heapwood::__private::*;

        pub const fn has_no_pointers<T>() {}
        pub const fn may_be_skipped<T>() {}
    }
}

#[derive(heapwood::Trace, heapwood::NoPointers)]
#[trace(crate = markers)]
struct Plain(Gc<u64>);

fn main() {}
