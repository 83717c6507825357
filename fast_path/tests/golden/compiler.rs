//! The compilers: each makes assembly of the crate's functions with the options of a user's release build, without
//! linking, so that a target needs no linker and no libraries. An error names a missing tool; a failed build panics.

use std::path::{Path, PathBuf};
use std::process::Command;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");
/// The directory for the output of these tests, in the target directory.
const OUT: &str = env!("CARGO_TARGET_TMPDIR");

/// The output of a compiler.
pub(crate) struct Compiled {
    /// The compiler, up to the version that determines its code.
    pub(crate) compiler: String,
    pub(crate) assembly: String,
}

/// The output of a command. The error is its message, or why it did not run.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{:?}: {e}", command.get_program()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn rustc() -> std::ffi::OsString {
    std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
}

fn needs_library(target: &str) -> Result<(), String> {
    let library = output(Command::new(rustc()).args(["--print", "target-libdir", "--target", target]))?;
    match Path::new(library.trim()).exists() {
        true => Ok(()),
        false => Err(format!("no standard library for {target}: rustup target add {target}")),
    }
}

/// Cargo, for a release build as users make it.
fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    // Removes a user's own settings.
    for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS"] {
        cargo.env_remove(variable);
    }
    // Code that links to one file is only made when it is linked.
    cargo.args(["--config", "profile.release.lto=false", "--config", "profile.release.debug=false"]);
    cargo.current_dir(CRATE);
    cargo
}

/// The Rust functions for a target whose standard library is installed.
pub(crate) fn rust(target: &str) -> Result<Compiled, String> {
    rust_of(env!("CARGO_PKG_NAME"), &["--lib"], target)
}

/// Those of libgc's drop-in. An archive needs no linker.
pub(crate) fn libgc(target: &str) -> Result<Compiled, String> {
    rust_of("heapwood-libgc", &["--lib", "--crate-type", "staticlib"], target)
}

fn rust_of(package: &str, which: &[&str], target: &str) -> Result<Compiled, String> {
    needs_library(target)?;
    let version = output(Command::new(rustc()).arg("--version"))?;
    let assembly = PathBuf::from(OUT).join(format!("{package}-{target}.s"));
    let mut cargo = cargo();
    cargo.args(["rustc", "--quiet", "--release", "--package", package]).args(which);
    cargo.args(["--target", target, "--target-dir"]).arg(Path::new(OUT).join("rust"));
    cargo.arg("--").arg(format!("--emit=asm={}", assembly.display()));
    output(&mut cargo).unwrap_or_else(|e| panic!("{e}"));
    let version = version.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    Ok(Compiled { compiler: version, assembly: read(&assembly) })
}

/// The whole C library for a target, disassembled.
pub(crate) fn library(target: &str) -> Result<String, String> {
    needs_library(target)?;
    let machine = target.split('-').next().unwrap_or(target);
    let objdump = match machine == std::env::consts::ARCH {
        true => "objdump".to_owned(),
        false => format!("{machine}-linux-gnu-objdump"),
    };
    output(Command::new(&objdump).arg("--version")).map_err(|e| {
        format!("{objdump} is missing (package binutils-{}): {e}", target.replace("-unknown", ""))
    })?;
    let out = Path::new(OUT).join("rust");
    let mut cargo = cargo();
    cargo.args(["rustc", "--quiet", "--release", "--lib", "--crate-type", "staticlib"]);
    cargo.args(["--package", "heapwood-c", "--target", target, "--target-dir"]).arg(&out);
    output(&mut cargo).unwrap_or_else(|e| panic!("{e}"));
    let library = out.join(target).join("release/libheapwood.a");
    output(Command::new(objdump).args(["-d", "-C", "--no-show-raw-insn"]).arg(library))
}

/// The C functions for a machine: by `CC` or cc for this one, by gcc's cross compiler for others.
pub(crate) fn c(machine: &str) -> Result<Compiled, String> {
    let variable = format!("CC_{machine}");
    let cc = match std::env::var(&variable) {
        Ok(cc) => cc,
        Err(_) if machine == std::env::consts::ARCH => std::env::var("CC").unwrap_or_else(|_| "cc".into()),
        Err(_) => format!("{machine}-linux-gnu-gcc"),
    };
    let macros = output(Command::new(&cc).args(["-dM", "-E", "-x", "c", "/dev/null"])).map_err(|e| {
        format!("no C compiler for {machine} (package gcc-{machine}-linux-gnu, or set {variable}): {e}")
    })?;
    let value = |name: &str| {
        let line =
            macros.lines().find_map(|l| l.strip_prefix("#define ")?.strip_prefix(name)?.strip_prefix(' '));
        line.map(str::trim)
    };
    let compiler = match (value("__clang_major__"), value("__GNUC__")) {
        (Some(major), _) => format!("clang {major}"),
        (None, Some(major)) => format!("gcc {major}"),
        (None, None) => return Err(format!("{cc} is neither gcc nor clang")),
    };
    let assembly = PathBuf::from(OUT).join(format!("{machine}.s"));
    let mut compile = Command::new(&cc);
    compile.args(["-std=c11", "-O2", "-fPIC", "-fno-stack-protector", "-fno-asynchronous-unwind-tables"]);
    // Distributions have different defaults.
    compile.arg(if machine == "x86_64" { "-fcf-protection=none" } else { "-mbranch-protection=none" });
    compile.args(["-S", "-I"]).arg(Path::new(CRATE).join("../crates/heapwood-c/include"));
    compile.arg(Path::new(CRATE).join("src/fast_path.c")).arg("-o").arg(&assembly);
    output(&mut compile).unwrap_or_else(|e| panic!("{e}"));
    Ok(Compiled { compiler, assembly: read(&assembly) })
}
