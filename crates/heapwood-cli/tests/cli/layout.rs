//! `heapwood layout`: programs of types and files, printed and checked, and the errors for invalid ones.

use crate::common::*;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// `layout show` of a type, which has spaces.
fn show(ty: impl AsRef<OsStr>, args: &str) -> Ran {
    Ran::of(command(&format!("layout show {args}")).arg(ty))
}

/// The same of one that is right.
fn shown(ty: &str) -> String {
    let ran = show(ty, "");
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
    assert!(shown(" [3] word ").contains("3 words, 24 bytes, 0 pointers; "));
    assert!(shown("[0]ptr").contains("0 words, 0 bytes, 0 pointers; 1 byte of description"));
    assert!(shown("[7]{[2]ptr word}").contains("21 words, 168 bytes, 14 pointers; "));
    assert!(
        shown("[1000]{[99]ptr [101]word}").contains("200000 words, 1600000 bytes (1.5 MiB), 99000 pointers")
    );
    assert!(shown("[1152921504606846975]ptr").contains("(8.0 EiB), 1152921504606846975 pointers"));
}

#[test]
fn types_are_shown_as_json() {
    let ran = show("{ptr [1000]{ptr word}}", "--json");
    assert_eq!((ran.code, ran.out.lines().count()), (Some(0), 1), "{ran:?}");
    let shown: Value = serde_json::from_str(&ran.out).unwrap();
    for (key, value) in [
        ("source", json!("type")),
        ("accepted", json!(true)),
        ("words", json!(2001)),
        ("bytes", json!(16008)),
        ("pointers", json!(1001)),
        ("description_bytes", json!(shown["program"].as_str().unwrap().len() / 2)),
        ("heap_refuses", json!(null)),
    ] {
        assert_eq!(shown[key], value, "{key}: {shown}");
    }
    let instructions = shown["instructions"].as_array().unwrap();
    assert_eq!(instructions[0]["at"], 0);
    let emitted: u64 = instructions
        .iter()
        .map(|one| match one["emit"]["bits"].as_u64() {
            Some(bits) => bits,
            None => one["repeat"]["last"].as_u64().unwrap() * one["repeat"]["times"].as_u64().unwrap(),
        })
        .sum();
    assert_eq!(emitted, 2001);
}

#[test]
fn files_are_bytes_or_hexadecimal_text() {
    let facts = "3000 words, 24000 bytes (23.4 KiB), 1000 pointers; 7 bytes of description";
    let text = "# cells\n03 01 # one\n83 09\t9e63\n\n00 # the end";
    let files = [File::with("raw.bin", NESTED), File::with("text.hex", text.as_bytes())];
    let outputs = files.each_ref().map(|file| output(&format!("layout show {file}")));
    assert_eq!(outputs[0], outputs[1]);
    assert!(outputs[0].contains("0004  9e 63") && outputs[0].contains(facts), "{}", outputs[0]);
    for file in &files {
        let line = output(&format!("layout check {file}"));
        assert_eq!(line, format!("{file}: accepted: {facts}\n"));
        assert_eq!(output(&format!("layout check {file} --words 3000")), line);
        let checked = json(&format!("layout check {file}"));
        assert_eq!((&checked["accepted"], &checked["words"]), (&json!(true), &json!(3000)));
        assert_eq!((&checked["pointers"], &checked["description_bytes"]), (&json!(1000), &json!(7)));
        let shown = json(&format!("layout show {file}"));
        assert_eq!((&shown["source"], &shown["program"]), (&json!("file"), &json!("030183099e6300")));
    }
    // A file of that name goes before a type.
    let folder = std::env::temp_dir().join(format!("heapwood-layout-{}-folder", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("ptr"), NESTED).unwrap();
    let here = command("layout show ptr").current_dir(&folder).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(String::from_utf8(here.stdout).unwrap().contains(facts));
}

#[test]
fn errors_name_the_wrong_byte() {
    let mut huge = vec![0x02, 0x01, 0x82];
    huge.extend([0xff; 9]);
    huge.extend([0x01, 0x00]);
    let cases: [(&[u8], &str, usize, &str); 10] = [
        (&[], "", 0, "without an end instruction"),
        (&[0x02, 0x01], "", 2, "without an end instruction"),
        (&[0x09, 0xff], "", 2, "at least 1 more bytes were expected"),
        (&[0x01, 0x01, 0x82, 0x01, 0x00], "", 2, "but only 1 were emitted before"),
        (&[0x03, 0x09, 0x00], "", 1, "zeros were expected above"),
        (&[0x01, 0x01, 0x81, 0x00, 0x00], "", 2, "at least 1 was expected"),
        (&[0x02, 0x01, 0x00, 0x00, 0x07], "", 3, "2 bytes follow the end"),
        (&huge, "", 2, "emits more than"),
        (&NESTED, "--words 3001", 6, "after 3000 bits, but the type has 3001 words"),
        (&NESTED, "--words 2999", 4, "the type's 2999 words"),
    ];
    for (k, (bytes, words, at, why)) in cases.into_iter().enumerate() {
        let file = File::with(&format!("wrong-{k}.bin"), bytes);
        let place = format!("{file}: byte {at}: ");
        let ran = fails(&format!("layout check {file} {words}"), 1, &[&place, why]);
        assert_eq!((ran.out.as_str(), ran.err.lines().count()), ("", 1), "{ran:?}");
        let ran = fails(&format!("layout check {file} {words} --json"), 1, &[&place, why]);
        let refused: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((&refused["accepted"], &refused["at"]), (&json!(false), &json!(at)));
        assert!(refused["why"].as_str().unwrap().contains(why), "{refused}");
        // The instructions before the error are shown.
        let ran = fails(&format!("layout show {file} {words}"), 1, &[&place, why]);
        assert!(!ran.out.is_empty(), "{ran:?}");
        assert_eq!(fails(&format!("layout show {file} {words} --json"), 1, &[&place]).out, "");
    }
    // The offset is that of the program's byte, and not of the text's.
    let text = File::with("wrong.hex", b"# two words, and more\n01 01\n82 01 00\n");
    fails(&format!("layout check {text}"), 1, &["wrong.hex: byte 2: a repeat of the last 2 bits"]);
    let ran = fails(&format!("layout show {text}"), 1, &["byte 2"]);
    assert!(ran.out.starts_with("0000  01 01"), "{}", ran.out);
}

#[test]
fn a_valid_program_may_be_too_large_for_heaps() {
    // Loops in each other, a word more in each.
    let (mut bytes, mut words) = (vec![0x02, 0x01], 2u64);
    for _ in 0..20 {
        bytes.extend([0x01, 0x00, 0x80]);
        words += 1;
        let mut n = words;
        while n >= 0x80 {
            bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        bytes.extend([n as u8, 0x02]);
        words *= 3;
    }
    bytes.push(0);
    let file = File::with("deep.bin", &bytes);
    let line = output(&format!("layout check {file}"));
    assert!(
        line.contains(&format!("accepted: {words} words")) && line.contains("no heap takes it: byte "),
        "{line}"
    );
    let checked = json(&format!("layout check {file}"));
    assert!(checked["pointers"].is_null() && checked["heap_refuses"].is_string(), "{checked}");
}

#[test]
fn files_without_a_program_are_errors() {
    let words = File::with("words.txt", b"02 01 00\nsome words\n");
    let odd = File::with("odd.hex", b"2 1 0 0");
    for command in ["show", "check"] {
        fails(&format!("layout {command} {words}"), 1, &["words.txt: line 2: \"some\"", "two digits a byte"]);
        fails(&format!("layout {command} {odd}"), 1, &["odd.hex: line 1: \"2\"", "two digits a byte"]);
    }
    fails("layout check /nowhere/program.bin", 1, &["/nowhere/program.bin cannot be read", "No such file"]);
    let folder = std::env::temp_dir();
    fails(&format!("layout check {}", folder.display()), 1, &["cannot be read", "directory"]);
    fails("layout check /dev/zero", 1, &["cannot be read", "larger than 4.0 MiB"]);
}

#[test]
fn an_argument_that_is_neither_file_nor_type_is_an_error() {
    let deep = "[2]".repeat(17) + "ptr";
    for (ty, why) in [
        ("nope", "byte 0: expected a type: `ptr`, `val`, `word`, `[N]T` or `{T ...}`"),
        ("", "byte 0: expected a type"),
        ("{ptr wrod}", "byte 5: expected a type"),
        ("{ptr", "byte 4: expected a type (`ptr`, `val`, `word`, `[N]T` or `{T ...}`) or `}`"),
        ("ptr ptr", "byte 4: expected the end"),
        ("[]ptr", "byte 1: expected the number of elements"),
        ("[3 ptr", "byte 3: expected `]`"),
        ("[1<<64]ptr", "byte 1: expected a number below 2^64"),
        ("[1<<60]ptr", "item 0: "),
        (&deep, "at most 16"),
    ] {
        let ran = show(ty, "");
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ty}: {ran:?}");
        for words in [&format!("{ty:?} is neither a type: "), why, "; nor a file: ", "(os error "] {
            assert!(ran.err.contains(words), "{ty}: {words} is missing:\n{}", ran.err);
        }
    }
    let long = show("ptr ".repeat(10_000), "").err;
    assert!(long.len() < 1000 && long.contains("(and more) is neither"), "{long}");
    let ran = show(OsStr::from_bytes(b"\xff\xfe"), "");
    assert!(ran.code == Some(2) && ran.err.contains("neither a type: it is not text"), "{ran:?}");
    let folder = std::env::temp_dir();
    fails(&format!("layout show {}", folder.display()), 2, &["neither a type", "Is a directory"]);
}

#[test]
fn wrong_options_name_the_cause() {
    fails("layout", 2, &["Usage", "show", "check"]);
    fails("layout show", 2, &["<FILE|TYPE>"]);
    fails("layout check", 2, &["<FILE>"]);
    fails("layout draw ptr", 2, &["draw"]);
    fails("layout show ptr --words 1", 2, &["--words goes with a file only"]);
    for words in ["-1", "1.5", "many", "18446744073709551616", ""] {
        fails(&format!("layout check x --words={words}"), 2, &["--words", "whole number of words"]);
    }
}

#[test]
fn the_help_names_everything() {
    for (command, words) in [
        (
            "layout show",
            &["[N]T", "ptr", "word", "{T T ...}", "--words", "--json", "hexadecimal", "Examples:"][..],
        ),
        ("layout check", &["--words", "--json", "offset", "Examples:", "1 refused"]),
        ("layout", &["show", "check"]),
    ] {
        let help = output(&format!("{command} --help"));
        for word in words {
            assert!(help.contains(word), "{word} is missing:\n{help}");
        }
        assert!(command == "layout" || help.contains("Exit codes: 0"), "{help}");
    }
    assert!(output("--help").contains("layout"));
}
