//! Listings of functions, from a compiler's assembly, without directives and comments. Labels are numbered in their order
//! and kept only if an instruction refers to them, and symbols are their last names. Invariant: a listing has exactly the
//! executed instructions.

/// The functions' code, each with its name, in the order asked for.
pub(crate) fn functions(assembly: &str, names: &[&str]) -> Vec<(String, Vec<String>)> {
    names.iter().map(|&name| (name.to_owned(), function(assembly, name))).collect()
}

fn function(assembly: &str, name: &str) -> Vec<String> {
    let (head, tail) = (format!("{name}:"), format!(".size\t{name},"));
    let body = assembly.lines().map(without_comment);
    let body = body.skip_while(|line| *line != head).skip(1).take_while(|line| !line.starts_with(&tail));
    let body: Vec<&str> =
        body.filter(|line| is_label(line) || !line.starts_with('.')).filter(|l| !l.is_empty()).collect();
    assert!(
        !body.is_empty(),
        "no function {name} in the assembly: is it still there, and not merged with another?"
    );
    let mut labels = Vec::new();
    for line in body.iter().filter_map(|line| line.strip_suffix(':')) {
        if body.iter().any(|other| !is_label(other) && tokens(other).any(|token| token == line)) {
            labels.push(line);
        }
    }
    let number = |label: &str| labels.iter().position(|l| *l == label).map(|i| format!("L{}", i + 1));
    let mut listing = Vec::new();
    for line in body {
        match line.strip_suffix(':') {
            Some(label) => listing.extend(number(label).map(|label| format!("{label}:"))),
            None => listing.push(instruction(line, number)),
        }
    }
    listing
}

/// `#` begins a comment for x86 and a number for aarch64, whose comments begin with `//`.
fn without_comment(line: &str) -> &str {
    let line = line.trim();
    let begins = [line.find("# "), line.find("//"), line.starts_with('#').then_some(0)];
    line[..begins.into_iter().flatten().min().unwrap_or(line.len())].trim()
}

fn is_label(line: &str) -> bool {
    line.ends_with(':')
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')
}

fn tokens(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c| !is_of_a_name(c))
}

/// An instruction with one space after its name, labels as they are numbered, and symbols without hashes.
fn instruction(line: &str, number: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    for token in line.split_inclusive(|c| !is_of_a_name(c)) {
        let end = token.trim_end_matches(is_of_a_name).len().min(1);
        let (name, rest) = token.split_at(token.len() - end);
        match number(name) {
            Some(label) => out += &label,
            None if name.starts_with(".Lanon.") => out += "<constant>",
            None => match rustc_demangle::try_demangle(name) {
                Ok(symbol) => {
                    // The position in the sources does not matter.
                    let path = format!("{symbol:#}");
                    out += &format!("<{}>", path.rsplit("::").next().unwrap_or(&path));
                }
                Err(_) => out += name,
            },
        }
        out += rest;
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The number of instructions up to the first return, or jump to another function.
pub(crate) fn hot_path(code: &[String]) -> usize {
    let instructions = code.iter().filter(|line| !is_label(line));
    let leaves = |line: &String| line.starts_with("ret") || line.starts_with("jmp") || line.starts_with("b ");
    let mut count = 0;
    for line in instructions {
        count += 1;
        if leaves(line) {
            break;
        }
    }
    count
}

#[test]
fn listings_do_not_depend_on_labels_and_hashes() {
    let code = |label: &str, hash: &str| {
        format!(
            "\t.globl f\nf:\n.Lfunc_begin0:\n\t.cfi_startproc\n\tmovq\t8(%rdi), %rax # a comment\n\tja\t{label}\n\tretq\n\
             {label}:\n\tjmpq\t*_ZN4core3foo17h{hash}E@GOTPCREL(%rip)\n.Lfunc_end0:\n\t.size\tf, .Lfunc_end0-f\n"
        )
    };
    let listing = functions(&code(".LBB0_7", "0123456789abcdef"), &["f"]);
    assert_eq!(listing, functions(&code(".LBB3_1", "fedcba9876543210"), &["f"]));
    let expected = ["movq 8(%rdi), %rax", "ja L1", "retq", "L1:", "jmpq *<foo>@GOTPCREL(%rip)"];
    assert_eq!(listing, [("f".to_owned(), expected.map(str::to_owned).to_vec())]);
    assert_eq!(hot_path(&listing[0].1), 3);
}
