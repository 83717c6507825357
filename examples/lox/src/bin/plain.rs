//! The machine on a plain heap.

#[path = "../door/plain.rs"]
mod door;
#[path = "../machine/mod.rs"]
mod machine;

use heapwood::{Config, Heap};
use heapwood_lox::program::{Error, MOST_VALUES, Program};
use machine::{Kept, Machine, State, Value};

fn main() {
    heapwood_lox::command::main(run);
}

fn run(program: &Program, size: f64) -> Result<(), Error> {
    // SAFETY: the machine keeps `Gc`s in its stack and in itself, both of which are on this thread's stack, and in objects.
    let heap = unsafe { Heap::new(Config::from_env()) }.map_err(Error::of_heap)?;
    let m = heap.attach().map_err(Error::of_heap)?;
    let mut values = [Value::Nothing; MOST_VALUES];
    let mut state = State::new(program);
    let stack = door::Stack::new(&mut values, 0);
    Machine::new(&m, program, &mut state, Kept::new(&m, program, size), stack).run()?;
    Ok(())
}
