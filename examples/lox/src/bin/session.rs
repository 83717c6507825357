//! The machine in a session: nothing unsafe.
#![forbid(unsafe_code)]

#[path = "../door/session.rs"]
mod door;
#[path = "../machine/mod.rs"]
mod machine;

use door::{Cell, Slice};
use heapwood::session::Session;
use heapwood::{Config, Rootable, Trace};
use heapwood_lox::program::{Error, Program};
use machine::{Kept, Machine, State, Status, Value};

/// What the machine leaves between two calls.
#[derive(Trace)]
struct Top<'gc> {
    kept: Kept<'gc>,
    stack: Cell<'gc, Slice<'gc, Value<'gc>>>,
}

fn main() {
    heapwood_lox::command::main(run);
}

fn run(program: &Program, size: f64) -> Result<(), Error> {
    let mut session = Session::<Rootable![Top<'_>]>::new(Config::from_env(), |m| Top {
        kept: Kept::new(m, program, size),
        stack: Cell::new(m.alloc_slice(0, |_| Value::Nil)),
    })
    .map_err(Error::of_heap)?;
    let mut state = State::new(program);
    loop {
        let status = session.mutate(|m, top| {
            let machine = Machine::new(m, program, &mut state, top.kept, door::stack(top.stack.get()));
            let (status, stack) = machine.run()?;
            top.stack.set(m, door::keep(m, &stack));
            Ok(status)
        })?;
        if let Status::Ended = status {
            return Ok(());
        }
    }
}
