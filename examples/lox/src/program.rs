//! A compiled program: functions as bytecode, and their constants. Plain data, which no collector sees. Invariant: each index in
//! the code is one of its list, each jump leads into the code of its function, and a function's code ends with `Return`.

use std::fmt;

/// A word of the program: its place in [`Program::names`].
pub type Name = u32;

/// The longest stack of a machine. A program that needs a longer one has no end, most often.
pub const MOST_VALUES: usize = 1 << 14;

/// One instruction of the stack machine. Eight bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Push a constant.
    Nil,
    /// Push a constant.
    True,
    /// Push a constant.
    False,
    /// Push a whole number.
    Small(i32),
    /// Push one of [`Program::numbers`].
    Number(u32),
    /// Push one of [`Program::texts`].
    Text(u32),
    /// Drop the top.
    Pop,
    /// Push a variable of the call.
    GetLocal(u32),
    /// Store the top, which stays, into a variable of the call.
    SetLocal(u32),
    /// As `GetLocal`, of a variable that closures capture: it may lie in a box.
    GetShared(u32),
    /// As `SetLocal`, of such a variable.
    SetShared(u32),
    /// Push a variable that this closure has captured.
    GetOuter(u32),
    /// Store the top into a variable that this closure has captured.
    SetOuter(u32),
    /// Push a global variable.
    GetGlobal(u32),
    /// Store the top into a global variable, which exists.
    SetGlobal(u32),
    /// Pop into a new global variable.
    DefineGlobal(u32),
    /// Pop two, push the result.
    Equal,
    /// Pop two, push the result.
    Less,
    /// Pop two, push the result.
    LessEqual,
    /// Pop two, push the result.
    Greater,
    /// Pop two, push the result.
    GreaterEqual,
    /// Pop two numbers, or two texts; push the result.
    Add,
    /// Pop two, push the result.
    Subtract,
    /// Pop two, push the result.
    Multiply,
    /// Pop two, push the result.
    Divide,
    /// Pop two, push the result.
    Remainder,
    /// Pop one, push the result.
    Negate,
    /// Pop one, push the result.
    Not,
    /// Go on elsewhere.
    Jump(u32),
    /// Go back. Between two of these, and two calls, a program does a bounded number of steps.
    Loop(u32),
    /// Go on elsewhere if the top is false; it stays.
    JumpIfFalse(u32),
    /// Go on elsewhere if the top is true; it stays.
    JumpIfTrue(u32),
    /// Pop, and go on elsewhere if it was false.
    PopJumpIfFalse(u32),
    /// Call what is below N arguments.
    Call(u32),
    /// Call the method of that name with N arguments.
    Invoke(u8, Name),
    /// Call the superclass's method of that name with N arguments; the superclass is on top of them.
    InvokeSuper(u8, Name),
    /// Return the top.
    Return,
    /// Push a closure of one of [`Program::functions`].
    Closure(u32),
    /// Push a class of one of [`Program::classes`].
    Class(u32),
    /// Pop the class; it inherits from the one below, which stays.
    Inherit,
    /// Pop a closure, and make it a method of the class below.
    Method(Name),
    /// Pop an object, push its field or method.
    GetField(Name),
    /// Pop a value and an object, store, push the value.
    SetField(Name),
    /// Pop a superclass and an object, push the method.
    GetSuper(Name),
    /// Pop N values, push a list of them.
    List(u32),
    /// Pop N keys and values, push a map of them.
    Map(u32),
    /// Pop an index and what it is of, push the element.
    GetIndex,
    /// Pop a value, an index and what it is of; store, push the value.
    SetIndex,
    /// Pop and print.
    Print,
}

const _: () = assert!(size_of::<Op>() == 8);

impl Op {
    /// By how much the stack is longer afterwards. An instruction that goes on elsewhere leaves the same there.
    pub fn effect(self) -> i64 {
        match self {
            Op::Nil | Op::True | Op::False | Op::Small(_) | Op::Number(_) | Op::Text(_) => 1,
            Op::GetLocal(_) | Op::GetShared(_) | Op::GetOuter(_) | Op::GetGlobal(_) => 1,
            Op::Closure(_) | Op::Class(_) => 1,
            Op::SetLocal(_) | Op::SetShared(_) | Op::SetOuter(_) | Op::SetGlobal(_) => 0,
            Op::Negate | Op::Not | Op::GetField(_) => 0,
            Op::Jump(_) | Op::Loop(_) | Op::JumpIfFalse(_) | Op::JumpIfTrue(_) => 0,
            Op::Pop | Op::Print | Op::PopJumpIfFalse(_) | Op::DefineGlobal(_) | Op::Return => -1,
            Op::Equal | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => -1,
            Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Remainder => -1,
            Op::Inherit | Op::Method(_) | Op::SetField(_) | Op::GetSuper(_) | Op::GetIndex => -1,
            Op::SetIndex => -2,
            Op::Call(count) => -i64::from(count),
            Op::Invoke(count, _) => -i64::from(count),
            Op::InvokeSuper(count, _) => -i64::from(count) - 1,
            Op::List(count) => 1 - i64::from(count),
            Op::Map(count) => 1 - 2 * i64::from(count),
        }
    }
}

/// Where a closure finds a variable that it captures, when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capture {
    /// A variable of the call that makes it.
    Local(u32),
    /// One that the closure which makes it has captured itself.
    Outer(u32),
}

/// A function's code.
#[derive(Debug, Default)]
pub struct Function {
    /// For messages.
    pub name: String,
    /// How many arguments it takes.
    pub arity: u32,
    /// How many values it has on the stack at most, with its arguments.
    pub room: u32,
    /// Where on the stack, above the call's base, its closure is: below the arguments, or above them where the object of a method
    /// is below.
    pub closure_at: u32,
    /// It is a class's `init`: it returns its object.
    pub initializes: bool,
    /// The instructions.
    pub code: Vec<Op>,
    /// The line of each.
    pub lines: Vec<u32>,
    /// What its closures capture.
    pub captures: Vec<Capture>,
}

/// A compiled program.
#[derive(Debug, Default)]
pub struct Program {
    /// The last is the program itself.
    pub functions: Vec<Function>,
    /// Constants.
    pub numbers: Vec<f64>,
    /// Constants.
    pub texts: Vec<String>,
    /// Names of fields, methods, classes and global variables.
    pub names: Vec<String>,
    /// The name of the method that makes an object.
    pub init: Name,
    /// The names of global variables. The first are the native functions and `size`.
    pub globals: Vec<Name>,
    /// The names of the classes that the program declares.
    pub classes: Vec<Name>,
}

/// What is wrong with a program, or went wrong while it ran.
#[derive(Debug)]
pub struct Error {
    /// 0: of none.
    line: u32,
    message: String,
}

impl Error {
    /// In a line, that.
    pub fn new(line: u32, message: impl Into<String>) -> Self {
        Error { line, message: message.into() }
    }

    /// Of the heap, before the program began.
    pub fn of_heap(error: impl fmt::Display) -> Self {
        Error { line: 0, message: error.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

impl std::error::Error for Error {}
