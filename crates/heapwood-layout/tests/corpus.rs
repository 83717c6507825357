//! The inputs that the fuzz target `program` found worth keeping, each of which takes another path through checking,
//! printing or decoding, once more through the same function.

use heapwood_layout::program::reference::replay;

#[test]
fn every_input_is_replayed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is part of the sources") {
        let path = entry.expect("an entry").path();
        let data = std::fs::read(&path).expect("an input");
        if std::panic::catch_unwind(|| replay(&data)).is_err() {
            panic!("{} fails", path.display());
        }
        inputs += 1;
    }
    assert!(inputs >= 100, "only {inputs} inputs");
}
