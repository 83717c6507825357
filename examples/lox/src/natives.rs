//! Functions that the machine provides as global variables. They allocate objects, but never call back.

/// A native function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Native {
    /// `length(x)`: of a text (bytes), list or map.
    Length,
    /// `text(x)`: as `print` shows it.
    Text,
    /// `floor(x)`.
    Floor,
    /// `slice(text, from, to)`: bytes of a text.
    Slice,
    /// `code(text, at)`: a byte of a text.
    Code,
    /// `push(list, x)`.
    Push,
    /// `pop(list)`: the last element, which goes.
    Pop,
    /// `sort(list)`: in place, of numbers or of texts.
    Sort,
    /// `has(map, key)`.
    Has,
    /// `remove(map, key)`: whether it was there.
    Remove,
    /// `keys(map)`: as a list, in no certain order.
    Keys,
}

/// All of them with their names and arities, in the order of their global variables.
pub const ALL: [(Native, &str, u32); 11] = [
    (Native::Length, "length", 1),
    (Native::Text, "text", 1),
    (Native::Floor, "floor", 1),
    (Native::Slice, "slice", 3),
    (Native::Code, "code", 2),
    (Native::Push, "push", 2),
    (Native::Pop, "pop", 1),
    (Native::Sort, "sort", 1),
    (Native::Has, "has", 2),
    (Native::Remove, "remove", 2),
    (Native::Keys, "keys", 1),
];

/// The name of the global variable behind them: the size of the work, from the command line.
pub const SIZE: &str = "size";

impl Native {
    /// Its name and arity.
    pub fn signature(self) -> (&'static str, u32) {
        let (_, name, arity) = ALL[self as usize];
        (name, arity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        assert!(ALL.iter().enumerate().all(|(i, &(native, name, arity))| {
            native as usize == i && native.signature() == (name, arity)
        }));
    }
}
