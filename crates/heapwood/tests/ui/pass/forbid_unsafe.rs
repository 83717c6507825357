//! The derives serve crates that forbid unsafe code, and are silent about everything.
#![forbid(unsafe_code)]
#![deny(warnings)]

use core::cell::Cell;
use heapwood::{Gc, NoPointers, Trace};

#[derive(Trace)]
pub struct List<T> {
    pub value: T,
    hidden: Hidden<T>,
    next: Option<Gc<List<T>>>,
}

#[derive(Trace)]
struct Hidden<T>(Option<Gc<T>>);

#[derive(Trace, NoPointers, Clone, Copy, PartialEq)]
pub enum Colour {
    Red,
    Mixed { red: u8, green: u8, blue: u8 },
}

#[derive(Trace)]
pub struct Painted {
    pub colour: Cell<Option<Colour>>,
    pub r#type: &'static str,
}

fn main() {
    assert!(!Painted::MAP.has_pointers());
    let list = List { value: 1u8, hidden: Hidden(None), next: None };
    assert!(list.hidden.0.is_none() && list.next.is_none());
    assert!(!matches!(Colour::Red, Colour::Mixed { red: 1, green: 2, blue: 3 }));
}
