//! `GcString`: as a `String`, and what was lent of it stays as it was.

use crate::common::*;
use crate::made::*;
use heapwood::{Gc, GcString, Trace};
use std::fmt::Write;

#[derive(Trace, Default)]
struct Document {
    title: GcString,
    body: GcString,
    next: Option<Gc<Document>>,
}

#[test]
fn text_grows_and_shrinks_as_a_string() {
    const PARTS: [&str; 5] = ["", "a", "\u{e9}t\u{e9}", "heap \u{1f332}", "0123456789abcdef0123456789abcdef"];
    for config in HEAPS {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let document = m.alloc(Document::default());
        let (mut title, mut body) = (String::new(), String::new());
        let mut rng = Rng(5);
        for n in 0..if config.stress { 300 } else { 3000 } {
            let (text, model) = match rng.below(2) {
                0 => (&document.title, &mut title),
                _ => (&document.body, &mut body),
            };
            match rng.below(30) {
                0..20 => {
                    let part = PARTS[rng.below(PARTS.len())];
                    text.push_str(&m, part);
                    model.push_str(part);
                }
                20..24 => {
                    text.push(&m, '\u{df}');
                    model.push('\u{df}');
                }
                24 | 25 => {
                    write!(text.writer(&m), "{n}, {:?}", m.alloc(n)).unwrap();
                    write!(model, "{n}, {n}").unwrap();
                }
                26 | 27 => {
                    let at = rng.below(model.len() + 1);
                    let at = (at..).find(|&at| model.is_char_boundary(at)).unwrap();
                    text.truncate(&m, at);
                    model.truncate(at);
                }
                28 if model.len() < 2000 => {
                    // A part of itself.
                    text.push_str(&m, &text[..]);
                    model.push_str(&model.clone());
                }
                29 if n % 3 == 0 => {
                    text.clear(&m);
                    model.clear();
                }
                _ => m.collect(),
            }
            assert_eq!(*text, model.as_str());
        }
        m.collect();
        assert!(
            document.title == title.as_str() && document.body == body.as_str() && document.next.is_none()
        );
        assert_eq!(heap.stats().barrier_violations, 0);
    }
}

#[test]
fn what_was_lent_stays_as_it_was() {
    for config in [VERIFY, STRESS] {
        let heap = heap(config);
        let m = heap.attach().unwrap();
        let text = m.alloc(GcString::from_str(&m, "first words"));
        text.reserve(&m, 100);
        let lent = text.as_str();
        text.push_str(&m, ", and more");
        let longer = text.as_str();
        text.truncate(&m, 5);
        text.push_str(&m, " XXXXXXXXXXXXXXXXXXXXXX");
        let third = text.as_str();
        text.clear(&m);
        text.push_str(&m, "YYYYYYYYYYYYYYYYYYYYYYYYYYY");
        m.collect();
        m.alloc_slice(1000, |i| i);
        assert_eq!((lent, longer), ("first words", "first words, and more"));
        assert!(third.starts_with("first XX") && text.starts_with("YYY"));
        let message = panic_message(|| {
            text.push(&m, '\u{e9}');
            text.truncate(&m, text.len() - 1);
        });
        assert!(message.contains("in the middle of a character"), "{message}");
    }
}

#[test]
fn text_has_the_traits_of_text() {
    let heap = heap(SMALL);
    let m = heap.attach().unwrap();
    let [one, other] = ["abc", "abd"].map(|text| GcString::from_str(&m, text));
    assert!(one < other && one != other && one == "abc" && one == *"abc" && one.to_uppercase() == "ABC");
    assert_eq!(format!("{one} {one:?}"), "abc \"abc\"");
    assert!(one.to_gc_str(&m) == m.alloc_str("abc") && GcString::new().is_empty());
}
