//! The examples run, and print what they should.

use std::process::Command;

fn prints(example: &str, expected: &str) {
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--package", "heapwood", "--example", example]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example} ended with {}\n{errors}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{example}");
}

#[test]
fn list() {
    prints(
        "list",
        "first Some(999999), sum 499999500000\n\
         alive: true\n\
         collected while allocating: true\n\
         sum 499999500000\n",
    );
}

#[test]
fn cache() {
    prints(
        "cache",
        "4000 entries\n\
         113250 of 300000 requests were made anew\n\
         evicted pages were collected: true\n",
    );
}

#[test]
fn threads() {
    prints(
        "threads",
        "thread 0: 25000 keys, the last Some(299988)\n\
         thread 1: 25000 keys, the last Some(299997)\n\
         thread 2: 25000 keys, the last Some(299994)\n\
         thread 3: 25000 keys, the last Some(299991)\n\
         collected: true\n",
    );
}

#[test]
fn interpreter() {
    prints(
        "interpreter",
        "17711\n\
         20000100000\n\
         84\n\
         error: there is no y\n\
         error: a number is no function\n\
         error: the text ends too early\n\
         collected: true\n",
    );
}
