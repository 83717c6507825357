//! Values of every width for tests of what holds values: each is made from a number, and tells it again from all that it refers to.
use crate::common::*;
use heapwood::{Concurrent, Config, Gc, Generational, Mutator, Slot, Trace};
use std::fmt::Debug;

/// The heaps that all of it is tested on: small ones, verified, collected at each allocation, with young collections, and with
/// markings beside the program.
pub(crate) const HEAPS: [Config; 6] = [
    SMALL,
    VERIFY,
    VERIFY.stress(true),
    VERIFY.generational(Generational::Always),
    SMALL.generational(Generational::Always).concurrent(Concurrent::Always),
    VERIFY.generational(Generational::Off).concurrent(Concurrent::Always),
];

pub(crate) trait Made: Slot + PartialEq + Debug {
    fn make(m: &Mutator, n: u64) -> Self;
    fn number(self) -> u64;
}

/// Random numbers (xorshift).
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n
    }
}

impl Made for u64 {
    fn make(_: &Mutator, n: u64) -> Self {
        n
    }
    fn number(self) -> u64 {
        self
    }
}

impl Made for Gc<u64> {
    fn make(m: &Mutator, n: u64) -> Self {
        m.alloc(n)
    }
    fn number(self) -> u64 {
        *self
    }
}

/// One word, which is a pointer or zero.
#[derive(Trace, Clone, Copy, PartialEq, Debug)]
pub(crate) enum Link {
    End,
    To(Gc<u64>),
}

impl Made for Link {
    fn make(m: &Mutator, n: u64) -> Self {
        if n == 0 { Link::End } else { Link::To(m.alloc(n)) }
    }
    fn number(self) -> u64 {
        match self {
            Link::End => 0,
            Link::To(number) => *number,
        }
    }
}

/// Two words, of which one is a pointer, and padding.
impl Made for (u16, Gc<u64>) {
    fn make(m: &Mutator, n: u64) -> Self {
        (n as u16, m.alloc(n))
    }
    fn number(self) -> u64 {
        assert_eq!(self.0, *self.1 as u16);
        *self.1
    }
}

/// Words whose meaning depends on the variant, with padding in some.
#[derive(Trace, Clone, Copy, PartialEq, Debug)]
pub(crate) enum Value {
    Nil,
    Flag(bool),
    Number(u64),
    Text(Gc<u64>),
    Turned(u64, Gc<u64>),
    Both(Gc<u64>, Gc<u64>),
    Near(Gc<u64>, u8),
}

impl Made for Value {
    fn make(m: &Mutator, n: u64) -> Self {
        match n % 7 {
            _ if n == 0 => Value::Nil,
            _ if n == 1 => Value::Flag(true),
            2 | 3 => Value::Number(n),
            4 => Value::Text(m.alloc(n)),
            5 => Value::Turned(n, m.alloc(n)),
            6 => Value::Both(m.alloc(n), m.alloc(n)),
            _ => Value::Near(m.alloc(n), n as u8),
        }
    }
    fn number(self) -> u64 {
        match self {
            Value::Nil => 0,
            Value::Flag(flag) => flag.into(),
            Value::Number(n) => n,
            Value::Text(at) => *at,
            Value::Turned(n, at) => {
                assert_eq!(n, *at);
                n
            }
            Value::Both(one, other) => {
                assert_eq!(one, other);
                *one
            }
            Value::Near(at, low) => {
                assert_eq!(*at as u8, low);
                *at
            }
        }
    }
}

/// Four words.
impl Made for [Option<Gc<u64>>; 4] {
    fn make(m: &Mutator, n: u64) -> Self {
        [0, 1, 2, 3].map(|i| (n % 4 != i).then(|| m.alloc(n)))
    }
    fn number(self) -> u64 {
        let mut all = self.into_iter().flatten();
        let n = *all.next().unwrap();
        assert!(all.all(|other| *other == n));
        n
    }
}
