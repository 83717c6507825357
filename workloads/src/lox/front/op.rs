//! The instructions of a stack machine. Invariant: one has eight bytes.

/// A comparison. Its bits are the outcomes for which it holds: less, equal, greater, and neither, where a number is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Compare {
    /// `<`, of numbers.
    Less = 1,
    /// `==`, of any values.
    Equal = 2,
    /// `<=`
    LessEqual = 3,
    /// `>`
    Greater = 4,
    /// `>=`
    GreaterEqual = 6,
    /// `!=`, of any values.
    NotEqual = 13,
}

impl Compare {
    /// Whether two numbers compare so, without a branch.
    #[inline(always)]
    pub fn holds(self, a: f64, b: f64) -> bool {
        let (less, equal, greater) = (u8::from(a < b), u8::from(a == b), u8::from(a > b));
        let neither = u8::from(less | equal | greater == 0);
        (less | equal << 1 | greater << 2 | neither << 3) & self as u8 != 0
    }
}

/// `a % b`, with the sign of `a`. Most numbers are whole, and processors divide those much faster.
#[inline]
pub fn remainder(a: f64, b: f64) -> f64 {
    // Below this each is a number of its own, and the conversion exact; zero with a sign stays out.
    let is_whole = |n: f64| n > 0.0 && n < 9e15 && n as i64 as f64 == n;
    match is_whole(a) && is_whole(b) {
        true => (a as i64 % b as i64) as f64,
        false => a % b,
    }
}

/// An instruction. "Pushes" and "pops" are of the stack of values; a slot is counted from the frame's first value, which is the called
/// function, or `this`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Pushes nil.
    Nil,
    /// Pushes true.
    True,
    /// Pushes false.
    False,
    /// Pushes a number of the function.
    Number(u16),
    /// Pushes a text of the program.
    Text(u32),
    /// Pops a value.
    Pop,
    /// Pushes the value of a local.
    GetLocal(u8),
    /// Sets a local to the value on top.
    SetLocal(u8),
    /// The same, and pops the value.
    StoreLocal(u8),
    /// Pushes the value of a captured variable.
    GetUpvalue(u8),
    /// Sets a captured variable to the value on top.
    SetUpvalue(u8),
    /// Pushes the value of a global, which may not be there.
    GetGlobal(u16),
    /// Sets a global that is there to the value on top.
    SetGlobal(u16),
    /// Makes a global of the value that it pops.
    DefineGlobal(u16),
    /// Replaces an instance by the value of its field, or its method with it.
    GetField(u16),
    /// Pushes the field of the instance in a local.
    GetLocalField {
        /// The slot of the local.
        local: u8,
        /// The name's number.
        name: u16,
    },
    /// Sets a field of the instance below the value on top, and leaves the value only.
    SetField(u16),
    /// Sets a field of the instance in slot 0 to the value on top.
    SetThisField(u16),
    /// The same, and pops the value.
    StoreThisField(u16),
    /// Pops a class; replaces the instance below by the class's method with it.
    GetSuper(u16),
    /// Replaces a list or a map and an index by the element.
    Index,
    /// Sets an element of the list or map below an index and the value on top, and leaves the value only.
    SetIndex,
    /// Makes a list of so many values.
    List(u16),
    /// Makes a map of so many pairs of a key and a value.
    Map(u16),
    /// Replaces two values by whether they compare so.
    Compare(Compare),
    /// Pops two values and jumps unless they compare so.
    JumpUnless {
        /// How.
        compare: Compare,
        /// The instruction to go on with.
        to: u32,
    },
    /// Pops a value and jumps unless it compares so with a number of the function.
    JumpUnlessNumber {
        /// How.
        compare: Compare,
        /// The number's place.
        number: u16,
        /// The instruction to go on with.
        to: u32,
    },
    /// `+` of numbers or texts.
    Add,
    /// `+` with a number of the function.
    AddNumber(u16),
    /// `-`
    Subtract,
    /// `-` with a number of the function.
    SubtractNumber(u16),
    /// Pushes the sum of a local and a number of the function.
    AddToLocal {
        /// The slot of the local.
        local: u8,
        /// The number's place.
        number: u16,
    },
    /// Pushes the difference of a local and a number of the function.
    SubtractFromLocal {
        /// The slot of the local.
        local: u8,
        /// The number's place.
        number: u16,
    },
    /// Adds a number of the function to a local.
    Increase {
        /// The slot of the local.
        local: u8,
        /// The number's place.
        number: u16,
    },
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`, with the sign of the left side.
    Remainder,
    /// `!`
    Not,
    /// `-` of one number.
    Negate,
    /// Pops a value and prints it.
    Print,
    /// Jumps forward.
    Jump(u32),
    /// Jumps backward.
    Loop(u32),
    /// Jumps if the value on top is nil or false, which stays.
    JumpIfFalse(u32),
    /// Jumps unless the value on top is nil or false, which stays.
    JumpIfTrue(u32),
    /// Pops a value and jumps if it is nil or false.
    PopJumpIfFalse(u32),
    /// Calls the value below so many arguments.
    Call(u8),
    /// Calls a method of the instance below the arguments.
    Invoke {
        /// How many arguments.
        args: u8,
        /// The name's number.
        name: u16,
    },
    /// Pops a class, and calls its method with the instance below the arguments.
    SuperInvoke {
        /// How many arguments.
        args: u8,
        /// The name's number.
        name: u16,
    },
    /// Pushes a closure of a function.
    Closure(u32),
    /// Pops a local that closures have captured, which keep it.
    CloseUpvalue,
    /// Returns the value on top to the caller.
    Return,
    /// Pushes a new class.
    Class {
        /// The name's number.
        name: u16,
        /// How many fields its methods set.
        fields: u8,
    },
    /// Pops a class, which gets the methods of the class below, its superclass.
    Inherit,
    /// Pops a closure, which becomes a method of the class below.
    Method(u16),
}

const _: () = assert!(size_of::<Op>() == 8);

impl Op {
    /// By how many values the stack grows.
    pub(super) fn effect(self) -> isize {
        match self {
            Op::Nil | Op::True | Op::False | Op::Number(_) | Op::Text(_) | Op::Closure(_) => 1,
            Op::GetLocal(_) | Op::GetUpvalue(_) | Op::GetGlobal(_) | Op::GetLocalField { .. } => 1,
            Op::AddToLocal { .. } | Op::SubtractFromLocal { .. } | Op::Class { .. } => 1,
            Op::Increase { .. } => 0,
            Op::SetLocal(_) | Op::SetUpvalue(_) | Op::SetGlobal(_) | Op::SetThisField(_) => 0,
            Op::GetField(_) | Op::AddNumber(_) | Op::SubtractNumber(_) | Op::Not | Op::Negate => 0,
            Op::Jump(_) | Op::Loop(_) | Op::JumpIfFalse(_) | Op::JumpIfTrue(_) => 0,
            Op::JumpUnlessNumber { .. } => -1,
            Op::Pop | Op::StoreLocal(_) | Op::StoreThisField(_) | Op::DefineGlobal(_) | Op::SetField(_) => -1,
            Op::GetSuper(_) | Op::Index | Op::Compare(_) | Op::Print | Op::PopJumpIfFalse(_) => -1,
            Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Remainder => -1,
            Op::CloseUpvalue | Op::Return | Op::Inherit | Op::Method(_) => -1,
            Op::SetIndex | Op::JumpUnless { .. } => -2,
            Op::List(len) => 1 - len as isize,
            Op::Map(pairs) => 1 - 2 * pairs as isize,
            Op::Call(args) | Op::Invoke { args, .. } => -(args as isize),
            Op::SuperInvoke { args, .. } => -(args as isize) - 1,
        }
    }

    /// Where it jumps to, if it does.
    pub(super) fn target(&mut self) -> Option<&mut u32> {
        match self {
            Op::Jump(to) | Op::Loop(to) | Op::JumpIfFalse(to) | Op::JumpIfTrue(to) => Some(to),
            Op::PopJumpIfFalse(to) | Op::JumpUnless { to, .. } => Some(to),
            Op::JumpUnlessNumber { to, .. } => Some(to),
            _ => None,
        }
    }
}
