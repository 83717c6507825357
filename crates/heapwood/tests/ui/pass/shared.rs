//! Types that several threads may use: atomics, cells of pointers, and types made of them, including recursive ones.
#![forbid(unsafe_code)]
#![deny(warnings)]

use core::sync::atomic::AtomicU64;
use heapwood::{Gc, GcCell, Root, Shared, Slice, Trace};

#[derive(Trace, Shared)]
pub struct Node {
    pub hits: AtomicU64,
    pub next: GcCell<Option<Gc<Node>>>,
    pub children: Gc<Slice<GcCell<Option<Gc<Node>>>>>,
    pub kind: Kind,
}

#[derive(Trace, Shared)]
pub enum Kind {
    Plain(u8, [u32; 4]),
    Named { name: Gc<Slice<u8>>, at: (u64, Option<Gc<Node>>) },
}

#[derive(Trace, Shared)]
pub struct Pair<A, B> {
    pub a: A,
    pub b: Option<Gc<B>>,
}

#[derive(Trace, Shared)]
pub struct List<T> {
    pub value: T,
    pub next: GcCell<Option<Gc<List<T>>>>,
}

fn on_another_thread<T: Send + Sync>() {}

fn main() {
    on_another_thread::<Root<Node>>();
    on_another_thread::<Root<Slice<Pair<u8, Kind>>>>();
    on_another_thread::<Root<List<u64>>>();
}
