//! The functions that the machine itself has. They are globals like others, the first ones. None of them reads a clock, so a program
//! prints the same in every run.

/// A function of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Native {
    /// `len(x)`: the characters of a text, the elements of a list, the entries of a map.
    Len,
    /// `push(list, value)` appends.
    Push,
    /// `pop(list)` takes the last element off.
    Pop,
    /// `map()`: an empty one.
    Map,
    /// `keys(map)`: a list of them, in the order in which they came; a removal moves the last one.
    Keys,
    /// `has(map, key)`
    Has,
    /// `remove(map, key)`: the value that was there, or nil.
    Remove,
    /// `str(x)`: what `print` would print.
    Str,
    /// `split(text, separator)`: a list of texts.
    Split,
    /// `floor(number)`
    Floor,
}

impl Native {
    /// All of them; a global's number is the place in this list.
    pub const ALL: [Native; 10] = [
        Native::Len,
        Native::Push,
        Native::Pop,
        Native::Map,
        Native::Keys,
        Native::Has,
        Native::Remove,
        Native::Str,
        Native::Split,
        Native::Floor,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Native::Len => "len",
            Native::Push => "push",
            Native::Pop => "pop",
            Native::Map => "map",
            Native::Keys => "keys",
            Native::Has => "has",
            Native::Remove => "remove",
            Native::Str => "str",
            Native::Split => "split",
            Native::Floor => "floor",
        }
    }

    /// How many arguments it takes.
    pub fn arity(self) -> u8 {
        match self {
            Native::Map => 0,
            Native::Len | Native::Pop | Native::Keys | Native::Str | Native::Floor => 1,
            Native::Push | Native::Has | Native::Remove | Native::Split => 2,
        }
    }
}
