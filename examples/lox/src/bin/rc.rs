//! The machine with counted memory.
#![forbid(unsafe_code)]

#[path = "../door/rc.rs"]
mod door;
#[path = "../machine/mod.rs"]
mod machine;

use heapwood_lox::program::{Error, Program};
use machine::{Kept, Machine, State};

fn main() {
    heapwood_lox::command::main(run);
}

fn run(program: &Program, size: f64) -> Result<(), Error> {
    let (m, stack) = door::start();
    let mut state = State::new(program);
    Machine::new(m, program, &mut state, Kept::new(m, program, size), stack).run()?;
    Ok(())
}
