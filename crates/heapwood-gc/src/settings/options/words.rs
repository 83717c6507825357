//! Options whose values are words: each is an enum, and its words are those of the variable. Invariant: a number is the same in
//! Rust, in C and in the table of options.

/// The value of an option, as a number.
pub(super) trait Value: Copy {
    fn number(self) -> Option<u64>;
    /// The value with a number in the option's range.
    fn of(number: u64) -> Self;
}

impl Value for u32 {
    fn number(self) -> Option<u64> {
        Some(self.into())
    }
    fn of(number: u64) -> Self {
        number as u32
    }
}

impl Value for u64 {
    fn number(self) -> Option<u64> {
        Some(self)
    }
    fn of(number: u64) -> Self {
        number
    }
}

impl Value for usize {
    fn number(self) -> Option<u64> {
        Some(self as u64)
    }
    fn of(number: u64) -> Self {
        number as usize
    }
}

impl Value for bool {
    fn number(self) -> Option<u64> {
        Some(self.into())
    }
    fn of(number: u64) -> Self {
        number != 0
    }
}

impl<T: Value> Value for Option<T> {
    fn number(self) -> Option<u64> {
        self.and_then(T::number)
    }
    fn of(number: u64) -> Self {
        Some(T::of(number))
    }
}

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $help:literal])+ $variant:ident = $number:literal, $word:literal $(| $other:literal)*;)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum $name {
            $($(#[doc = $help])+ $variant = $number,)+
        }

        impl $name {
            /// The word of a number in the option's range.
            pub(super) fn word(number: u64) -> &'static str {
                match Self::of(number) {
                    $(Self::$variant => $word,)+
                }
            }

            /// The number of a word.
            pub(crate) fn parse(text: &str) -> Option<u64> {
                match text {
                    $($word $(| $other)* => Some($number),)+
                    _ => None,
                }
            }
        }

        impl Value for $name {
            fn number(self) -> Option<u64> {
                Some(self as u64)
            }

            fn of(number: u64) -> Self {
                match number {
                    $($number => Self::$variant,)+
                    _ => unreachable!("a number in the option's range"),
                }
            }
        }
    };
}

words! {
    /// Whether full markings go on beside the program.
    Concurrent {
        /// Every full marking stops all threads.
        Off = 0, "off";
        /// Full markings go on beside the program where there are at least two cores, and a stop would be long. Those of a heap with trace functions do not: such a function may read what the program frees or moves.
        Auto = 1, "auto";
        /// As `Auto`, with trace functions, too.
        On = 2, "on";
    }
}

words! {
    /// Whether a heap has young collections, which look only at objects allocated since the last one.
    Generational {
        /// Every collection is full.
        Off = 0, "off";
        /// Young collections while they are profitable: while they free more in their time than a full one would.
        Auto = 1, "auto";
        /// Young collections, profitable or not.
        Always = 2, "always";
    }
}

words! {
    /// How a collection stops the threads of a heap.
    Stop {
        /// At polls: allocation polls, and a thread that does not allocate calls a poll itself.
        Polls = 0, "polls";
        /// By a signal, between any two instructions.
        Signals = 1, "signals";
    }
}

words! {
    /// Whether a heap reports its collections on standard error.
    GcTrace {
        /// A line after each collection, in the format of Go's gctrace.
        On = 1, "1" | "on";
        /// Nothing, whatever the variable `HEAPWOOD` says.
        Off = 2, "off" | "0";
    }
}
