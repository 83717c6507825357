//! Types as trees, unrolled into one bool for each word, and programs expanded likewise. Slow and plain: it shares no
//! code with the code under test.
#![allow(dead_code, reason = "each test file uses a part")]

use heapwood_layout::describe::Item;
use heapwood_layout::program::Builder;
use proptest::prelude::*;

/// The largest unrolled type.
pub(crate) const LIMIT: usize = 100_000;

pub(crate) const BYTES: usize = 1 << 14;

#[derive(Clone, Debug)]
pub(crate) enum Type {
    Scalars(usize),
    Pointers(usize),
    Bits(Vec<bool>),
    Struct(Vec<Type>),
    Array(Box<Type>, usize),
    /// Padded to this many words.
    Padded(Box<Type>, usize),
}

use Type::*;

impl Type {
    pub(crate) fn words(&self) -> usize {
        match self {
            Scalars(n) | Pointers(n) => *n,
            Bits(bits) => bits.len(),
            Struct(fields) => fields.iter().map(Type::words).sum(),
            Array(element, n) => element.words() * n,
            Padded(inner, more) => inner.words() + more,
        }
    }

    pub(crate) fn unrolled(&self) -> Vec<bool> {
        match self {
            Scalars(n) => vec![false; *n],
            Pointers(n) => vec![true; *n],
            Bits(bits) => bits.clone(),
            Struct(fields) => fields.iter().flat_map(Type::unrolled).collect(),
            Array(element, n) => element.unrolled().repeat(*n),
            Padded(inner, more) => [inner.unrolled(), vec![false; *more]].concat(),
        }
    }

    /// By the builder's operations, with a builder for each element and field.
    pub(crate) fn built(&self) -> Builder<BYTES> {
        let mut all = Builder::new();
        match self {
            Scalars(n) => all.push_scalars(*n as u64).unwrap(),
            Pointers(n) => all.push_pointers(*n as u64).unwrap(),
            Bits(bits) => {
                for part in bits.chunks(64) {
                    all.push_bits(as_bits(part), part.len() as u32).unwrap();
                }
            }
            Struct(fields) => {
                for field in fields {
                    match field {
                        Array(element, n) => {
                            let words = element.words() as u64;
                            let element = if let Padded(inner, _) = &**element { inner } else { element };
                            all.push_array(element.built().body(), words, *n as u64).unwrap();
                        }
                        field => all.push_body(field.built().body()).unwrap(),
                    }
                }
            }
            Array(element, n) => {
                all.push_array(element.built().body(), element.words() as u64, *n as u64).unwrap();
            }
            Padded(inner, more) => {
                all.push_body(inner.built().body()).unwrap();
                all.push_padding(all.words() + *more as u64).unwrap();
            }
        }
        all
    }

    /// As a description.
    pub(crate) fn items(&self, out: &mut Vec<Item>) {
        match self {
            Scalars(n) => out.push(Item::Scalars(*n as u64)),
            Pointers(n) => out.push(Item::Pointers(*n as u64)),
            Bits(bits) => {
                out.push(Item::Struct { fields: bits.chunks(64).len() as u64 });
                out.extend(bits.chunks(64).map(|p| Item::Bits { mask: as_bits(p), words: p.len() as u32 }));
            }
            Struct(fields) => {
                out.push(Item::Struct { fields: fields.len() as u64 });
                fields.iter().for_each(|field| field.items(out));
            }
            Array(element, n) => {
                out.push(Item::Array { n: *n as u64 });
                element.items(out);
            }
            Padded(inner, more) => {
                out.push(Item::Struct { fields: 2 });
                inner.items(out);
                out.push(Item::Scalars(*more as u64));
            }
        }
    }

    /// As text.
    pub(crate) fn text(&self) -> String {
        match self {
            Scalars(n) => format!("[{n}]word"),
            Pointers(n) => format!("[{n}] ptr"),
            Bits(bits) => {
                let words: Vec<_> = bits.iter().map(|bit| if *bit { "ptr" } else { "word" }).collect();
                format!("{{{}}}", words.join("\t"))
            }
            Struct(fields) => {
                format!("{{ {} }}", fields.iter().map(Type::text).collect::<Vec<_>>().join(" "))
            }
            Array(element, n) => format!("[ {n}<<0 ]{}", element.text()),
            Padded(inner, more) => format!("{{{} [{more}]word}}", inner.text()),
        }
    }

    pub(crate) fn nesting(&self) -> usize {
        match self {
            Scalars(_) | Pointers(_) | Bits(_) => 1,
            Struct(fields) => 1 + fields.iter().map(Type::nesting).max().unwrap_or(0),
            Array(inner, _) | Padded(inner, _) => 1 + inner.nesting(),
        }
    }
}

pub(crate) fn as_bits(words: &[bool]) -> u64 {
    words.iter().rev().fold(0, |bits, word| bits << 1 | *word as u64)
}

/// Types of all kinds, about half of them large. Arrays that are too long are shortened.
pub(crate) fn types() -> impl Strategy<Value = Type> {
    let sizes = prop_oneof![3 => 100usize..3000, 1 => 3000usize..LIMIT];
    let large = (shapes(), shapes(), shapes(), sizes).prop_map(|(before, element, behind, size)| {
        let left = LIMIT.saturating_sub(before.words() + behind.words());
        let n = left.min(size) / element.words().max(1);
        let fields = vec![before, Array(Box::new(element), n), behind];
        let mut left = LIMIT;
        Struct(fields.into_iter().filter(|field| fits(field, &mut left)).collect())
    });
    prop_oneof![shapes(), large]
}

/// Takes the room for one more field, if there is any.
fn fits(field: &Type, left: &mut usize) -> bool {
    let fits = field.words() <= *left;
    *left -= if fits { field.words() } else { 0 };
    fits
}

fn shapes() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        3 => (0usize..6).prop_map(Scalars),
        3 => (0usize..4).prop_map(Pointers),
        1 => (0usize..200).prop_map(Scalars),
        1 => (0usize..200).prop_map(Pointers),
        1 => prop::collection::vec(any::<bool>(), 0..200).prop_map(Bits),
        1 => prop::collection::vec(any::<bool>(), 0..10).prop_map(Bits),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 0..6).prop_map(|fields| {
                let mut left = LIMIT;
                Struct(fields.into_iter().filter(|field| fits(field, &mut left)).collect())
            }),
            2 => (inner.clone(), prop_oneof![0usize..8, 0usize..300]).prop_map(|(element, n)| {
                let most = LIMIT / element.words().max(1);
                Array(Box::new(element), n.min(most))
            }),
            1 => (inner, prop_oneof![0usize..6, 0usize..100]).prop_map(|(inner, more)| {
                let more = more.min(LIMIT - inner.words());
                Padded(Box::new(inner), more)
            }),
        ]
    })
}

/// The bits of a program. Panics for an invalid program.
pub(crate) fn expanded(program: &[u8]) -> Vec<bool> {
    let mut bits = Vec::new();
    let mut at = 0;
    loop {
        let first = program[at];
        at += 1;
        match first {
            0 => break,
            1..0x80 => {
                let n = if first == 0x7f { varint(program, &mut at) } else { first as usize };
                bits.extend((0..n).map(|i| program[at + i / 8] >> (i % 8) & 1 == 1));
                at += n.div_ceil(8);
            }
            _ => {
                let n = if first == 0x80 { varint(program, &mut at) } else { (first & 0x7f) as usize };
                let times = varint(program, &mut at);
                let last = bits[bits.len() - n..].to_vec();
                (0..times).for_each(|_| bits.extend(&last));
            }
        }
    }
    assert_eq!(at, program.len());
    bits
}

fn varint(program: &[u8], at: &mut usize) -> usize {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = program[*at];
        *at += 1;
        value |= ((byte & 0x7f) as usize) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

/// An instruction of a program that no builder made.
#[derive(Clone, Debug)]
pub(crate) enum Instruction {
    Literal(Vec<bool>),
    /// A repeat of this many thousandths of the bits so far.
    Share(usize, usize),
    /// A repeat of this many bits.
    Last(usize, usize),
}

pub(crate) fn instructions() -> impl Strategy<Value = Vec<Instruction>> {
    let one = prop_oneof![
        2 => prop::collection::vec(any::<bool>(), 1..12).prop_map(Instruction::Literal),
        1 => (any::<bool>(), 1usize..200).prop_map(|(bit, n)| Instruction::Literal(vec![bit; n])),
        1 => prop::collection::vec(any::<bool>(), 1..200).prop_map(Instruction::Literal),
        2 => (0usize..=1000, 1usize..6).prop_map(|(share, times)| Instruction::Share(share, times)),
        2 => (1usize..10, 1usize..60).prop_map(|(last, times)| Instruction::Last(last, times)),
        1 => (1usize..300, 1usize..10).prop_map(|(last, times)| Instruction::Last(last, times)),
        1 => (1usize..20, 1usize..80).prop_map(|(words, times)| Instruction::Last(words * 64, times)),
        1 => (1usize..20, 80usize..3000).prop_map(|(last, times)| Instruction::Last(last, times)),
    ];
    prop::collection::vec(one, 1..14)
}

/// A program of instructions, without those that would repeat nothing or make it longer than `limit`.
pub(crate) fn encoded(instructions: &[Instruction], limit: usize) -> (Vec<u8>, usize) {
    let (mut program, mut words) = (Vec::new(), 0);
    for instruction in instructions {
        match instruction {
            Instruction::Literal(bits) => {
                write_literal(&mut program, bits);
                words += bits.len();
            }
            Instruction::Share(..) | Instruction::Last(..) => {
                let (last, times) = match instruction {
                    Instruction::Share(share, times) => (words * share / 1000, *times),
                    Instruction::Last(last, times) => ((*last).min(words), *times),
                    Instruction::Literal(_) => unreachable!(),
                };
                if last == 0 || words + last * times > limit {
                    continue;
                }
                write_repeat(&mut program, last, times);
                words += last * times;
            }
        }
    }
    program.push(0);
    (program, words)
}

pub(crate) fn write_literal(out: &mut Vec<u8>, bits: &[bool]) {
    if bits.len() < 0x7f {
        out.push(bits.len() as u8);
    } else {
        out.push(0x7f);
        write_varint(out, bits.len());
    }
    out.extend(bits.chunks(8).map(|chunk| as_bits(chunk) as u8));
}

pub(crate) fn write_repeat(out: &mut Vec<u8>, last: usize, times: usize) {
    if last < 0x80 {
        out.push(0x80 | last as u8);
    } else {
        out.push(0x80);
        write_varint(out, last);
    }
    write_varint(out, times);
}

fn write_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
