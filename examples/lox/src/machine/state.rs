//! What a machine keeps besides objects: calls, layouts of objects, the output. Plain data, which no collector sees.

use heapwood_lox::program::{Error, Name, Program};
use std::io::{self, Write};

/// A call: its function, the place of the next instruction, and that of its first value on the stack, the callee.
#[derive(Clone, Copy, Default)]
pub(crate) struct Frame {
    pub(crate) function: u32,
    pub(crate) at: usize,
    pub(crate) base: usize,
}

/// How a machine stopped.
pub(crate) enum Status {
    Ended,
    /// Nothing but the door's wish stops it: it goes on with the same state.
    Stands,
}

/// Where the fields of a class's objects are. It grows when a field is first set.
#[derive(Clone)]
pub(crate) struct Layout {
    /// For each name of the program its place, or `NONE`.
    places: Vec<u32>,
    fields: u32,
}

const NONE: u32 = u32::MAX;

impl Layout {
    fn new(program: &Program) -> Self {
        Layout { places: vec![NONE; program.names.len()], fields: 0 }
    }

    /// How many fields there are.
    pub(crate) fn fields(&self) -> usize {
        self.fields as usize
    }

    pub(crate) fn place(&self, name: Name) -> Option<usize> {
        let place = self.places[name as usize];
        (place != NONE).then_some(place as usize)
    }

    pub(crate) fn place_or_new(&mut self, name: Name) -> usize {
        let place = &mut self.places[name as usize];
        if *place == NONE {
            *place = self.fields;
            self.fields += 1;
        }
        *place as usize
    }
}

pub(crate) struct State {
    pub(crate) begun: bool,
    /// The current call.
    pub(crate) frame: Frame,
    /// Those around it.
    pub(crate) callers: Vec<Frame>,
    /// Of the objects of each declared class.
    pub(crate) layouts: Vec<Layout>,
    output: io::BufWriter<io::Stdout>,
}

impl State {
    pub(crate) fn new(program: &Program) -> Self {
        State {
            begun: false,
            frame: Frame::default(),
            callers: Vec::new(),
            layouts: vec![Layout::new(program); program.classes.len()],
            output: io::BufWriter::new(io::stdout()),
        }
    }

    /// A line of output. A reader that has gone is no failure of the program.
    pub(crate) fn print(&mut self, line: &str) {
        let _ = writeln!(self.output, "{line}");
    }

    /// What went wrong, with the line of the last instruction.
    pub(crate) fn error(&self, program: &Program, why: String) -> Error {
        let function = &program.functions[self.frame.function as usize];
        Error::new(function.lines[self.frame.at.saturating_sub(1)], format!("{}: {why}", function.name))
    }
}
