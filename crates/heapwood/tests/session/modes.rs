//! Objects live as long as the root leads to them, in every way of collecting.
use crate::common::{Link, Node, SMALL, VERIFY, assert_list, in_all_modes, list, node, walk};

use heapwood::session::{GcCell, Session};
use heapwood::{Concurrent, Rootable};
use std::collections::BTreeMap;

type Top<'gc> = [GcCell<Link<'gc>>; 8];

#[test]
fn what_the_root_leads_to_lives_and_the_rest_goes() {
    in_all_modes(|config| {
        let mut session = Session::<Rootable![Top<'_>]>::new(config, |m| {
            std::array::from_fn(|i| GcCell::new(list(m, i as u64 * 10)))
        })
        .unwrap();
        for round in 0..40 {
            session.mutate(|m, top| {
                let place = round as usize % 8;
                top[place].set(m, list(m, 100 + round));
                // Garbage, and a change deep inside an old list.
                assert_list(list(m, 500), 500);
                let old = walk(top[(place + 3) % 8].get()).nth(5);
                if let Some(old) = old {
                    old.right.set(m, Some(node(m, round, None)));
                    assert!(walk(old.right.get()).map(|node| node.value).eq([round]));
                }
            });
            if round % 7 == 0 {
                session.collect();
            }
            if round % 5 == 0 {
                session.collect_young();
            }
            session.mutate(|_, top| {
                for (i, head) in top.iter().enumerate() {
                    let rounds = (0..=round).rev().find(|round| *round as usize % 8 == i);
                    assert_list(head.get(), rounds.map_or(i as u64 * 10, |round| 100 + round));
                }
            });
        }
        session.mutate(|m, top| top.iter().for_each(|head| head.set(m, None)));
        session.collect();
        session.collect();
        let alive = session.stats().live_bytes;
        assert!(alive < 64 << 10, "{alive} bytes are alive");
    });
}

/// A session that only calls, and asks for no collection, has its markings beside the program: between its calls their first and last
/// pauses come.
#[test]
fn sessions_are_marked_beside_the_program() {
    for config in [SMALL, VERIFY] {
        let config = config.concurrent(Concurrent::Always);
        let mut session = Session::<Rootable![Top<'_>]>::new(config, |m| {
            std::array::from_fn(|_| GcCell::new(list(m, 1000)))
        })
        .unwrap();
        let mut rounds = 0..200_000;
        while session.stats().concurrent_markings < 3 {
            let round = rounds.next().expect("a marking beside the program comes");
            session.mutate(|m, top| {
                let (from, to) = (round % 8, (round * 5 + 3) % 8);
                // The end of one list moves to another, perhaps while both are marked.
                let end = walk(top[from].get()).nth(900).unwrap();
                top[to].set(m, Some(end));
                assert_list(top[to].get(), 100);
                top[to].set(m, list(m, 1000));
                assert_list(top[from].get(), 1000);
            });
        }
    }
}

/// A model of what the heap holds: lists by their keys, moved about at random.
#[test]
fn random_moves_agree_with_a_model() {
    in_all_modes(|config| {
        let mut session = Session::<Rootable![Top<'_>]>::new(config, |_| Default::default()).unwrap();
        let mut model: BTreeMap<usize, Vec<u64>> = (0..8).map(|i| (i, vec![])).collect();
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = move |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % below as u64) as usize
        };
        for _ in 0..300 {
            session.mutate(|m, top| {
                for _ in 0..random(40) {
                    let (from, to) = (random(8), random(8));
                    match random(5) {
                        0 => {
                            top[to].set(m, top[from].get());
                            model.insert(to, model[&from].clone());
                        }
                        1 => {
                            let rest = top[from].get().and_then(|node| node.left.get());
                            top[from].set(m, rest);
                            let list = model.get_mut(&from).unwrap();
                            if !list.is_empty() {
                                list.remove(0);
                            }
                        }
                        2 => {
                            let nodes: Vec<_> = walk(top[from].get()).collect();
                            let copied =
                                nodes.iter().rev().fold(None, |next, old| Some(node(m, old.value, next)));
                            top[to].set(m, copied);
                            model.insert(to, model[&from].clone());
                        }
                        _ => {
                            let value = random(1000) as u64;
                            if model[&to].len() < 60 {
                                top[to].set(m, Some(node(m, value, top[to].get())));
                                model.get_mut(&to).unwrap().insert(0, value);
                            }
                        }
                    }
                }
                for (i, head) in top.iter().enumerate() {
                    let found: Vec<u64> = walk(head.get()).map(|node| node.value).collect();
                    assert_eq!(found, model[&i]);
                }
            });
        }
    });
}

/// A root is changed as a whole, and replaced by one of another type.
#[test]
fn roots_change() {
    in_all_modes(|config| {
        let mut session = Session::<Rootable![Link<'_>]>::new(config, |m| list(m, 3)).unwrap();
        for n in 4..30 {
            session.mutate_root(|m, root| {
                assert_list(*root, n - 1);
                *root = list(m, n);
            });
            session.collect();
        }
        let mut session = session.map_root::<Rootable![(Link<'_>, Link<'_>)]>(|m, root| (root, list(m, 7)));
        session.collect();
        session.mutate_root(|_, root| std::mem::swap(&mut root.0, &mut root.1));
        session.collect();
        session.mutate(|_, root| {
            assert_list(root.0, 7);
            assert_list(root.1, 29);
        });
        let mapped = session.try_map_root::<Rootable![u8], heapwood::Error>(|m, _| Ok(*m.try_alloc(1)?));
        assert_eq!(mapped.unwrap().mutate(|_, root| *root), 1);
    });
}

/// Objects without a pointer, slices, texts and tails.
#[test]
fn other_objects_live_too() {
    use heapwood::session::Gc;
    use heapwood::{GcStr, Slice, WithTail};
    type Row<'gc> = (Gc<'gc, GcStr>, Gc<'gc, Slice<Link<'gc>>>, Gc<'gc, WithTail<Link<'gc>, Link<'gc>>>);
    in_all_modes(|config| {
        let mut session = Session::<Rootable![Gc<'_, Slice<Row<'_>>>]>::new(config, |m| {
            m.alloc_slice(50, |i| {
                let text = m.alloc_str(&i.to_string());
                let links = m.collect_slice((0..i as u64).map(|n| list(m, n)));
                (text, links, m.alloc_with_tail(list(m, 3), i, |n| list(m, n as u64)))
            })
        })
        .unwrap();
        for _ in 0..3 {
            session.collect();
            session.mutate(|m, rows| {
                assert_list(list(m, 20_000), 20_000);
                for (i, (text, links, object)) in rows.iter().enumerate() {
                    assert!(**text == *i.to_string() && text.parse() == Ok(i));
                    assert_list(*object.header(), 3);
                    assert!(links.len() == i && object.tail().len() == i);
                    for n in 0..i {
                        assert_list(links[n], n as u64);
                        assert_list(object.tail()[n], n as u64);
                    }
                }
            });
        }
    });
}

/// The lint of unused fields does not apply: a node is read by its test.
#[test]
fn nodes_are_three_words() {
    assert_eq!(size_of::<Node<'_>>(), 24);
}
