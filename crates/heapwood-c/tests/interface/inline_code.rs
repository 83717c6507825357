//! The machine code of the header's inline functions. An allocation is twelve instructions, ten in an arena, and
//! commits with one store after the test. Frames are linked and unlinked in program order, even if the compiler sees no
//! use of them. For x86-64 with objdump.

use std::path::Path;
use std::process::Command;

const PROBE: &str = "#include <heapwood.h>
void *probe_alloc(hw_mutator *m, hw_type type) { return hw_alloc(m, type); }
void *probe_alloc_bytes(hw_mutator *m, size_t n) { return hw_alloc_bytes(m, n); }
void *probe_arena_alloc(hw_arena *arena, hw_type type) { return hw_arena_alloc(arena, type, 1); }
void *probe_arena_alloc_bytes(hw_arena *arena, size_t n) { return hw_arena_alloc_bytes(arena, n); }
void probe_frame(hw_mutator *m, long *slot) {
    hw_frame frame;
    hw_frame_push(m, &frame, slot, 1);
    *slot = 7;
    hw_frame_pop(m, &frame);
}
";

/// The instructions of a function up to its first return, each without its address.
fn instructions<'a>(listing: &'a str, function: &str) -> Vec<&'a str> {
    let head = format!("<{function}>:");
    let body = listing.split_once(&head).unwrap_or_else(|| panic!("no {function} in\\n{listing}")).1;
    let mut code = Vec::new();
    for line in body.lines().skip(1) {
        let Some((_, instruction)) = line.split_once(":\t") else { break };
        code.push(instruction.trim());
        if instruction.trim_start().starts_with("ret") {
            break;
        }
    }
    code
}

/// Whether an instruction moves something into memory.
fn is_store(instruction: &str) -> bool {
    instruction.starts_with("mov") && instruction.ends_with(')')
}

fn listing() -> Option<String> {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("SKIPPED: the machine code of the inline functions is known for x86-64 only");
        return None;
    }
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, object) = (out.join("probe.c"), out.join("probe.o"));
    std::fs::write(&source, PROBE).unwrap();
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let compiled = Command::new(&cc)
        .args(["-std=c11", "-O2", "-fcf-protection=none", "-fno-stack-protector", "-c", "-I"])
        .args([&include, &source])
        .arg("-o")
        .arg(&object)
        .status()
        .unwrap_or_else(|e| panic!("running {cc:?} failed ({e}): install a C compiler or set CC"));
    assert!(compiled.success());
    match Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(&object).output() {
        Ok(output) if output.status.success() => Some(String::from_utf8(output.stdout).unwrap()),
        _ => {
            eprintln!(
                "SKIPPED: the machine code of the inline functions: objdump (package binutils) is missing"
            );
            None
        }
    }
}

#[test]
fn inline_functions_do_not_grow() {
    let Some(listing) = listing() else { return };
    for (function, most) in [
        ("probe_alloc", 13),
        ("probe_alloc_bytes", 14),
        ("probe_arena_alloc", 11),
        ("probe_arena_alloc_bytes", 11),
    ] {
        let code = instructions(&listing, function);
        assert!(code.len() <= most, "{function} has grown to {} instructions: {code:#?}", code.len());
        let test = code.iter().rposition(|i| i.starts_with('j')).expect("a test of the run's end");
        let stores: Vec<_> = (0..code.len()).filter(|&i| is_store(code[i])).collect();
        assert!(stores.len() == 1 && stores[0] > test, "{function} commits otherwise: {code:#?}");
    }
    // The fields, then the link; the slot; the link below. (The order of the fields is the compiler's.)
    let code = instructions(&listing, "probe_frame");
    let to = |place: &str| code.iter().filter(|i| is_store(i) && i.ends_with(place)).count();
    assert_eq!(to("0x8(%rdi)"), 2, "a frame is linked and unlinked: {code:#?}");
    let links: Vec<_> =
        (0..code.len()).filter(|&i| is_store(code[i]) && code[i].ends_with("0x8(%rdi)")).collect();
    let slot = code.iter().position(|i| is_store(i) && i.ends_with("(%rsi)")).expect("the slot is stored");
    let fields = code[..links[0]].iter().filter(|i| is_store(i)).count();
    assert!(fields >= 2 && links[0] < slot && slot < links[1], "in another order: {code:#?}");
}
