#![deny(unsafe_code)]
use heapwood::Trace;

struct Date(u32);

#[derive(Trace)]
struct Checked {
    #[trace(skip)]
    date: Date,
}

#[derive(Trace)]
struct Lint {
    #[trace(unsafe(skip))]
    date: Date,
}

#[derive(Trace)]
struct Owner {
    #[allow(unsafe_code)]
    #[trace(unsafe(skip))]
    dates: Vec<u32>,
}

#[derive(Trace)]
#[trace(skip)]
struct OfTheType(u8);

fn main() {}
