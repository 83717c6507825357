//! The examples run, and print the expected text.

use std::process::Command;

/// Runs an example, which must succeed, with this variable `HEAPWOOD`. Returns standard output and standard error.
fn run(example: &str, variable: &str) -> (String, String) {
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--package", "heapwood", "--example", example]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env("HEAPWOOD", variable);
    let output = command.output().expect("cargo runs");
    let text = |bytes| String::from_utf8(bytes).expect("examples print text");
    let (printed, told) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{example} ended with {}\n{told}", output.status);
    (printed, told)
}

/// No example uses the variable.
#[test]
fn the_variable_traces_any_program() {
    let (_, told) = run("list", "trace=1,percent=50,trce=1");
    // Messages of the build come first.
    let lines: Vec<&str> = told.lines().skip_while(|line| !line.starts_with("heapwood: ")).collect();
    assert!(lines.len() > 1, "{told}");
    assert!(lines[0].starts_with("heapwood: ignored in HEAPWOOD: no option is called trce: is trace meant?"));
    for (i, line) in lines[1..].iter().enumerate() {
        assert!(line.starts_with(&format!("gc {} @", i + 1)) && line.contains(" MB goal, "), "{told}");
    }
}

#[test]
fn examples_print_their_text() {
    let expected = [
        (
            "list",
            "first Some(999999), sum 499999500000\n\
             alive: true\n\
             collected while allocating: true\n\
             sum 499999500000\n",
        ),
        (
            "cache",
            "4000 entries\n\
             113250 of 300000 requests were made anew\n\
             evicted pages were collected: true\n",
        ),
        (
            "threads",
            "thread 0: 25000 keys, the last Some(299988)\n\
             thread 1: 25000 keys, the last Some(299997)\n\
             thread 2: 25000 keys, the last Some(299994)\n\
             thread 3: 25000 keys, the last Some(299991)\n\
             collected: true\n",
        ),
        (
            "interpreter",
            "17711\n\
             20000100000\n\
             84\n\
             error: there is no y\n\
             error: a number is no function\n\
             error: the text ends too early\n\
             collected: true\n",
        ),
    ];
    for (example, text) in expected {
        assert_eq!(run(example, "").0, text, "{example}");
    }
}
