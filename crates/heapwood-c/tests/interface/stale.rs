//! Stale pointers of C programs in verify mode: what is said with HW_CHECKED, and under AddressSanitizer.

use super::c_programs::{Link, compile_with, program};
use std::os::unix::process::ExitStatusExt;

const SOURCE: &str = "tests/c/stale.c";

#[test]
fn a_stale_pointer_is_named_where_it_is_followed() {
    let checked = compile_with(SOURCE, Link::Static, "-O2", &["-DHW_CHECKED"]);
    let plain = compile_with(SOURCE, Link::Shared, "-O2", &[]);
    for (mistake, said) in [
        ("global", "a pointer leads to node, made at "),
        ("malloc", "a pointer leads to node, made at "),
        ("wrong mask", "a pointer leads to node, made at "),
        ("freed", "that the program has freed"),
        ("store", "as its object, which collection 1 had freed"),
    ] {
        let ended = program(&checked).arg(mistake).output().unwrap();
        let text = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.signal() == Some(6) && text.contains(said), "{mistake}: {ended:?}");
        if !["freed", "store"].contains(&mistake) {
            assert!(text.contains(", that collection 1 freed, since nothing"), "{mistake}: {text}");
        }
        if mistake != "store" {
            assert!(text.contains("/stale.c:20, 32 bytes at 0x"), "{mistake}: {text}");
            let ended = program(&plain).arg(mistake).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&ended.stdout), "dbdbdbdbdbdbdbdb\n", "{mistake}: {ended:?}");
        }
    }
    [checked, plain].into_iter().for_each(|program| std::fs::remove_file(program).unwrap());
}

/// Without a change of the program, if the compiler has the sanitizer.
#[test]
fn the_address_sanitizer_knows_of_freed_objects() {
    let has = std::process::Command::new("sh")
        .args(["-c", "echo 'int main(void) { return 0; }' | cc -fsanitize=address -xc - -o /dev/null"])
        .output();
    if !has.unwrap().status.success() {
        println!("SKIPPED: stale pointers under AddressSanitizer: cc has none");
        return;
    }
    let built = compile_with(SOURCE, Link::Static, "-O1", &["-fsanitize=address"]);
    let ended = program(&built).arg("global").env("ASAN_OPTIONS", "detect_leaks=0").output().unwrap();
    assert!(String::from_utf8_lossy(&ended.stderr).contains("use-after-poison"), "{ended:?}");
    std::fs::remove_file(built).unwrap();
}
