//! libheapwood.a, as install.sh installs it (localise.sh), beside another Rust archive: in both orders, whatever that does
//! when it panics, and in each kind of program.

use crate::c_programs::{CRATE, OUT, compiler, installed, is_emulated, library, program, run};
use std::path::{Path, PathBuf};
use std::process::Command;

fn localise(from: &Path, to: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg(Path::new(CRATE).join("localise.sh")).arg(from).arg(to);
    command
}

/// The archive that was installed, or what would be.
fn archive() -> PathBuf {
    let plain = library().join("libheapwood.a");
    if installed().is_some() {
        return plain;
    }
    let localised = Path::new(OUT).join(format!("libheapwood-{}.a", std::process::id()));
    let output = run(&mut localise(&plain, &localised));
    assert!(output.stderr.is_empty(), "{output:?}");
    localised
}

#[test]
fn the_archive_links_beside_another_rust_archive() {
    if is_emulated() {
        eprintln!("SKIPPED: the other archive would be built for this machine");
        return;
    }
    let archive = archive();
    let source = |name| Path::new(CRATE).join("tests/c").join(name);
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    for panic in ["unwind", "abort"] {
        let other = Path::new(OUT).join(format!("libother-{panic}.a"));
        let flags = ["--edition=2024", "-O", "--crate-type=staticlib", "-C"];
        run(Command::new(&rustc)
            .args(flags)
            .arg(format!("panic={panic}"))
            .arg(source("other.rs"))
            .arg("-o")
            .arg(&other));
        for order in [[&archive, &other], [&other, &archive]] {
            for kind in ["-pie", "-static", "-Wl,--gc-sections"] {
                let at = Path::new(OUT).join(format!("two-archives-{}", std::process::id()));
                let mut cc = compiler("CC", "cc");
                cc.args(["-std=c11", "-O2", kind]).arg(source("two_archives.c")).args(order);
                run(cc.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&at));
                let told = run(&mut program(&at)).stdout;
                assert_eq!(told, b"both did their work\n", "{order:?} {kind}");
                std::fs::remove_file(at).expect("the program was just run");
            }
        }
    }
    if installed().is_none() {
        std::fs::remove_file(archive).expect("it was just linked");
    }
}

#[test]
fn an_archive_that_cannot_be_localised_is_installed_as_it_is() {
    let from = Path::new(OUT).join("plain.a");
    let to = Path::new(OUT).join("copied.a");
    std::fs::write(&from, "no archive").expect("the target directory");
    let output = run(localise(&from, &to).env("OBJCOPY", "no-such-tool"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("there is no no-such-tool") && said.contains("beside another Rust archive"),
        "{said}"
    );
    assert_eq!(std::fs::read(&to).expect("it was copied"), b"no archive");
    // With all tools, a file without the functions is an error, and nothing is installed.
    std::fs::remove_file(&to).expect("it was just read");
    let output = localise(&from, &to).output().expect("sh ran before");
    assert!(!output.status.success() && !to.exists(), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("finds no functions of heapwood.h"),
        "{output:?}"
    );
}
