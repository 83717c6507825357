//! The machine on a plain heap, where the collector scans the blocks of the ordinary allocator, too.

#[path = "../door/scanned.rs"]
mod door;
#[path = "../machine/mod.rs"]
mod machine;

use heapwood::{Config, Heap, Scanned};
use heapwood_lox::program::{Error, Program};
use machine::{Kept, Machine, State};

#[global_allocator]
static ALLOCATOR: Scanned = Scanned::new();

fn main() {
    heapwood_lox::command::main(run);
}

fn run(program: &Program, size: f64) -> Result<(), Error> {
    // SAFETY: the program has one thread, which is attached as long as there are `Gc`s, and one heap. It has no packed structs, and no
    // memory of other allocators.
    let heap = unsafe { Heap::new(Config::from_env()) }.map_err(Error::of_heap)?;
    let m = heap.attach().map_err(Error::of_heap)?;
    let mut state = State::new(program);
    let stack = door::Stack::new(Vec::new(), 0);
    Machine::new(&m, program, &mut state, Kept::new(&m, program, size), stack).run()?;
    Ok(())
}
