//! Values and collections in a session's heap: against those of the standard library, in every way of collecting.
use crate::common::{Link, assert_list, in_all_modes, list};
use heapwood::session::{Gc, GcCell, GcMap, GcString, GcVec, Session};
use heapwood::{ById, GcStr, Rootable, Trace};
use std::collections::HashMap;
use std::fmt::Write;

/// A value of two words.
#[derive(Trace, Clone, Copy, Default, PartialEq, Debug)]
enum Value<'gc> {
    #[default]
    Nil,
    Number(u64),
    Text(Gc<'gc, GcStr>),
}

impl Value<'_> {
    fn shown(self) -> String {
        match self {
            Value::Nil => "nil".into(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => text.to_string(),
        }
    }
}

#[derive(Trace, Default)]
struct Top<'gc> {
    cells: [GcCell<Value<'gc>>; 8],
    values: GcVec<'gc, Value<'gc>>,
    numbers: GcVec<'gc, u64>,
    lists: GcVec<'gc, Link<'gc>>,
    map: GcMap<'gc, Gc<'gc, GcStr>, Value<'gc>>,
    ids: GcMap<'gc, ById<Gc<'gc, u64>>, u64>,
    text: GcString<'gc>,
}

#[test]
fn collections_agree_with_those_of_the_standard_library() {
    in_all_modes(|config| {
        let mut session = Session::<Rootable![Top<'_>]>::new(config, |_| Top::default()).unwrap();
        let (mut values, mut numbers, mut lists) = (vec![], vec![], vec![]);
        let (mut map, mut text, mut cells) = (HashMap::new(), String::new(), vec![String::from("nil"); 8]);
        let mut seed = 7u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for round in 0..60u64 {
            session.mutate(|m, top| {
                for _ in 0..random(40) {
                    let n = random(1000);
                    let value = match n % 3 {
                        0 => Value::Nil,
                        1 => Value::Number(n),
                        _ => Value::Text(m.alloc_str(&format!("text {n}"))),
                    };
                    match random(12) {
                        0 | 1 => {
                            top.values.push(m, value);
                            values.push(value.shown());
                        }
                        2 => assert_eq!(top.values.pop(m).map(Value::shown), values.pop()),
                        3 if !values.is_empty() => {
                            let i = random(values.len() as u64) as usize;
                            assert_eq!(top.values.replace(m, i, value).shown(), values[i]);
                            values[i] = value.shown();
                            top.values.swap(m, 0, i);
                            values.swap(0, i);
                        }
                        4 => {
                            top.values.sort_by(m, |one, other| one.shown().cmp(&other.shown()));
                            values.sort();
                            top.values.retain(m, |value| value.shown().len() != 3 || value == Value::Nil);
                            values.retain(|value| value.len() != 3 || value == "nil");
                        }
                        5 => {
                            top.numbers.extend(m, [n, n + 1]);
                            numbers.extend([n, n + 1]);
                            top.numbers.truncate(m, 50);
                            numbers.truncate(50);
                        }
                        6 => {
                            top.lists.push(m, list(m, n % 30));
                            lists.push(n % 30);
                            if lists.len() > 20 {
                                let removed = top.lists.remove(m, 3);
                                assert_list(removed, lists.remove(3));
                            }
                        }
                        7 | 8 => {
                            let key = (n % 40).to_string();
                            let old = top.map.insert(m, m.alloc_str(&key), value);
                            assert_eq!(old.map(Value::shown), map.insert(key, value.shown()));
                        }
                        9 => {
                            let key = (n % 40).to_string();
                            assert_eq!(top.map.remove(m, key.as_str()).map(Value::shown), map.remove(&key));
                            top.ids.insert(m, ById(m.alloc(n)), n);
                        }
                        10 => {
                            write!(top.text.writer(m), "{n},").unwrap();
                            write!(text, "{n},").unwrap();
                            let part = top.text.as_str();
                            top.text.push_str(m, &part[..part.len() / 2]);
                            text.push_str(&text.clone()[..text.len() / 2]);
                            // What was borrowed is what it was.
                            assert!(text.starts_with(part));
                            top.text.truncate(m, 100);
                            text.truncate(100);
                        }
                        _ => {
                            let i = n as usize % 8;
                            assert_eq!(top.cells[i].replace(m, value).shown(), cells[i]);
                            cells[i] = value.shown();
                        }
                    }
                }
            });
            match round % 5 {
                0 => session.collect(),
                1 => session.collect_young(),
                _ => {}
            }
            session.mutate(|m, top| {
                assert!(top.values.iter().map(Value::shown).eq(values.iter().cloned()));
                assert!(top.values.to_slice(m).iter().map(|value| value.shown()).eq(values.iter().cloned()));
                assert!(top.numbers.iter().eq(numbers.iter().copied()) && top.numbers.len() == numbers.len());
                top.lists.iter().zip(&lists).for_each(|(list, &n)| assert_list(list, n));
                let found: HashMap<_, _> =
                    top.map.iter().map(|(key, value)| (key.to_string(), value.shown())).collect();
                assert_eq!(found, map);
                assert!(map.iter().all(|(key, value)| top.map.get(key.as_str()).unwrap().shown() == *value));
                assert!(top.ids.iter().all(|(id, n)| **id == n && top.ids.contains_key(&id)));
                assert_eq!(top.text.as_str(), text);
                assert!(top.cells.iter().map(|cell| cell.get().shown()).eq(cells.iter().cloned()));
            });
        }
        session.mutate(|m, top| {
            top.values.clear(m);
            top.lists.clear(m);
            top.map.clear(m);
            top.ids.clear(m);
            top.cells.iter().for_each(|cell| _ = cell.take(m));
        });
        session.collect();
        session.collect();
        assert!(session.stats().live_bytes < 64 << 10);
    });
}

/// Growth at the limit is an error, and what was there stays.
#[test]
fn growth_at_the_limit() {
    let config = crate::common::SMALL.limit(4 << 20);
    let mut session = Session::<Rootable![GcVec<'_, u64>]>::new(config, |_| GcVec::new()).unwrap();
    session.mutate(|m, numbers| {
        let refused = (0..).find_map(|n| numbers.try_push(m, n).err()).unwrap();
        assert!(refused.to_string().contains("nothing is collected inside `mutate`"));
        let len = numbers.len() as u64;
        assert!(len > 10_000 && numbers.iter().eq(0..len));
    });
    session.mutate(|m, numbers| numbers.push(m, 7));
}
