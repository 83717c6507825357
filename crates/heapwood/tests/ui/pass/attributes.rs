//! `#[trace(..)]`: a plain type of another crate, and a crate that passes heapwood on.
#![forbid(unsafe_code)]
#![deny(warnings)]

mod engine {
    pub use heapwood as gc;
}

/// Of another crate.
#[derive(Clone, Copy)]
pub struct Uuid([u8; 16]);

#[derive(engine::gc::Trace, engine::gc::Shared)]
#[trace(crate = engine::gc)]
pub struct Record<T> {
    #[trace(skip)]
    pub id: Uuid,
    #[trace(skip)]
    pub lock: std::sync::Mutex<u64>,
    pub next: Option<engine::gc::Gc<Record<T>>>,
}

#[derive(engine::gc::Trace)]
#[trace(crate = engine::gc)]
pub struct Extra<T>(#[trace(skip)] pub T);

#[derive(engine::gc::Trace, engine::gc::NoPointers)]
#[trace(crate = engine::gc)]
pub enum Key {
    Id(#[trace(skip)] Uuid),
    Number(u64),
}

fn main() {
    fn plain<T: engine::gc::NoPointers>() {}
    plain::<core::cell::Cell<Key>>();
    assert!(!<Extra<Uuid> as engine::gc::Trace>::MAP.has_pointers());
    assert_eq!(<Record<u64> as engine::gc::Trace>::MAP.mask()[0].count_ones(), 1);
    assert_eq!(Uuid([7; 16]).0.len(), 16);
}
