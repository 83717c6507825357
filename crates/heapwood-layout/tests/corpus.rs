//! The corpus of the fuzz targets `program` and `describe`, whose inputs take different paths through checking,
//! printing and decoding, or through parsing and compiling, once more through the same functions; and random bytes.

mod reference;

use proptest::prelude::*;
use reference::{describe, program};

fn replay(folder: &str, least: usize, replay: fn(&[u8])) {
    let folder = format!("{}/tests/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is part of the sources") {
        let path = entry.expect("an entry").path();
        let data = std::fs::read(&path).expect("an input");
        if std::panic::catch_unwind(|| replay(&data)).is_err() {
            panic!("{} fails", path.display());
        }
        inputs += 1;
    }
    assert!(inputs >= least, "only {inputs} inputs");
}

#[test]
fn every_program_is_replayed() {
    replay("corpus", 100, program::replay);
}

#[test]
fn every_type_is_replayed() {
    replay("corpus_of_types", 50, describe::replay);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_items(data in prop::collection::vec(any::<u8>(), 0..120)) {
        let odd: Vec<u8> = core::iter::once(1).chain(data).collect();
        describe::replay(&odd);
    }

    #[test]
    fn any_text(room in 0u8..128, text in "[ {}\\[\\]0-9<ptrwod]{0,40}") {
        describe::replay(&[&[room * 2], text.as_bytes()].concat());
    }
}
