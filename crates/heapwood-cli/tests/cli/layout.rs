//! `heapwood layout show`: programs of types and files, and the errors for invalid ones.

use crate::common::*;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// `layout show` of a type, which has spaces.
fn show(ty: impl AsRef<OsStr>) -> Ran {
    Ran::of(command("layout show").arg(ty))
}

/// The same of one that is right.
fn shown(ty: &str) -> String {
    let ran = show(ty);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ty}: {ran:?}");
    ran.out
}

/// A run that must end with `code` and print all of `words` on one line.
fn fails(args: &str, code: i32, words: &[&str]) -> Ran {
    let ran = heapwood(args);
    assert_eq!(ran.code, Some(code), "heapwood {args}: {ran:?}");
    for word in words {
        assert!(ran.err.contains(word), "heapwood {args} does not say {word:?}:\n{}", ran.err);
    }
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    ran
}

/// [100][10] of a pointer and two words.
const NESTED: [u8; 7] = [0x03, 0x01, 0x83, 0x09, 0x9e, 0x63, 0x00];

#[test]
fn types_are_shown() {
    let out = shown("{ word ptr [100]{ptr word word} [1<<28]ptr }");
    let lines = squeezed(&out);
    for line in [
        "0000 05 06 emit 5 bits: 01100",
        "0002 83 63 repeat the last 3 bits 99 more times (302 so far)",
        "000b 00 end: 268435758 words",
        "268435758 words, 2147486064 bytes (2.0 GiB), 268435557 pointers; 12 bytes of description",
    ] {
        assert!(lines.contains(&line.to_string()), "{line} is missing:\n{out}");
    }
    assert!(shown("ptr").contains("1 word, 8 bytes, 1 pointer; 3 bytes of description"));
    assert!(shown("[0]ptr").contains("0 words, 0 bytes, 0 pointers; 1 byte of description"));
    assert!(
        shown("[1000]{[99]ptr [101]word}").contains("200000 words, 1600000 bytes (1.5 MiB), 99000 pointers")
    );
    assert!(shown("[1152921504606846975]ptr").contains("(8.0 EiB), 1152921504606846975 pointers"));
}

#[test]
fn files_are_bytes_or_hexadecimal_text() {
    let facts = "3000 words, 24000 bytes (23.4 KiB), 1000 pointers; 7 bytes of description";
    let text = "# cells\n03 01 # one\n83 09\t9e63\n\n00 # the end";
    let files = [File::with("raw.bin", NESTED), File::with("text.hex", text.as_bytes())];
    let outputs = files.each_ref().map(|file| output(&format!("layout show {file}")));
    assert_eq!(outputs[0], outputs[1]);
    assert!(outputs[0].contains("0004  9e 63") && outputs[0].contains(facts), "{}", outputs[0]);
    // A file of that name goes before a type.
    let folder = folder("layout");
    std::fs::write(folder.join("ptr"), NESTED).unwrap();
    let here = command("layout show ptr").current_dir(&folder).output().unwrap();
    assert!(String::from_utf8(here.stdout).unwrap().contains(facts));
}

#[test]
fn errors_name_the_wrong_byte() {
    let mut huge = vec![0x02, 0x01, 0x82];
    huge.extend([0xff; 9]);
    huge.extend([0x01, 0x00]);
    let cases: [(&[u8], usize, &str); 6] = [
        (&[0x02, 0x01], 2, "without an end instruction"),
        (&[0x09, 0xff], 2, "at least 1 more bytes were expected"),
        (&[0x01, 0x01, 0x82, 0x01, 0x00], 2, "but only 1 were emitted before"),
        (&[0x03, 0x09, 0x00], 1, "zeros were expected above"),
        (&[0x02, 0x01, 0x00, 0x00, 0x07], 3, "2 bytes follow the end"),
        (&huge, 2, "emits more than"),
    ];
    for (k, (bytes, at, why)) in cases.into_iter().enumerate() {
        let file = File::with(&format!("wrong-{k}.bin"), bytes);
        let ran = fails(&format!("layout show {file}"), 1, &[&format!("{file}: byte {at}: "), why]);
        assert!(!ran.out.is_empty() && ran.err.lines().count() == 1, "the instructions before it: {ran:?}");
    }
    // The offset is that of the program's byte, and not of the text's.
    let text = File::with("wrong.hex", b"# two words, and more\n01 01\n82 01 00\n");
    let ran = fails(&format!("layout show {text}"), 1, &["wrong.hex: byte 2: a repeat of the last 2 bits"]);
    assert!(ran.out.starts_with("0000  01 01"), "{}", ran.out);
    let words = File::with("words.txt", b"02 01 00\nsome words\n");
    fails(&format!("layout show {words}"), 1, &["words.txt: line 2: \"some\"", "two digits a byte"]);
}

#[test]
fn an_argument_that_is_neither_file_nor_type_is_an_error() {
    let deep = "[2]".repeat(17) + "ptr";
    for (ty, why) in [
        ("nope", "byte 0: expected a type: `ptr`, `word`, `[N]T` or `{T ...}`"),
        ("", "byte 0: expected a type"),
        ("{ptr", "byte 4: expected a type (`ptr`, `word`, `[N]T` or `{T ...}`) or `}`"),
        ("[1<<64]ptr", "byte 1: expected a number below 2^64"),
        ("[1<<60]ptr", "item 0: "),
        (&deep, "at most 16"),
    ] {
        let ran = show(ty);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ty}: {ran:?}");
        for words in [&format!("{ty:?} is neither a type: "), why, "; nor a file: ", "(os error "] {
            assert!(ran.err.contains(words), "{ty}: {words} is missing:\n{}", ran.err);
        }
    }
    let long = show("ptr ".repeat(10_000)).err;
    assert!(long.len() < 1000 && long.contains("(and more) is neither"), "{long}");
    let ran = show(OsStr::from_bytes(b"\xff\xfe"));
    assert!(ran.code == Some(2) && ran.err.contains("neither a type: it is not text"), "{ran:?}");
    fails("layout show /dev/zero", 2, &["neither a type", "larger than 4.0 MiB"]);
}

#[test]
fn the_command_line_is_explained() {
    fails("layout", 2, &["Usage", "show"]);
    fails("layout show", 2, &["<FILE|TYPE>"]);
    fails("layout draw ptr", 2, &["draw"]);
    let help = output("layout show --help");
    for word in ["[N]T", "ptr", "word", "{T T ...}", "hexadecimal", "Examples:", "Exit codes: 0"] {
        assert!(help.contains(word), "{word} is missing:\n{help}");
    }
}
