use heapwood::{Gc, Trace};

#[derive(Trace)]
struct File {
    descriptor: i32,
    next: Option<Gc<File>>,
}

impl Drop for File {
    fn drop(&mut self) {}
}

#[derive(Trace)]
struct Wrapper<T>(T);

impl<T> Drop for Wrapper<T> {
    fn drop(&mut self) {}
}

fn main() {}
