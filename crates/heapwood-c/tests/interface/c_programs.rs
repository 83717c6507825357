//! C and C++ programs against the built libraries: each is compiled with every warning an error, linked with the
//! archive and with the shared library, and run. If cargo runs these tests by an emulator (.ci/aarch64), the library is
//! built for the same target and the emulator runs the programs, too. CC and CXX name the compilers. HEAPWOOD_PREFIX
//! names an installation (.ci/install) to test instead of a build of this profile.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) const CRATE: &str = env!("CARGO_MANIFEST_DIR");
/// The directory for compiled programs, in the target directory.
pub(crate) const OUT: &str = env!("CARGO_TARGET_TMPDIR");

/// The shared library's name for programs.
const SONAME: &str = concat!("libheapwood.so.0.", env!("CARGO_PKG_VERSION_MINOR"));

/// The target of these tests, if an emulator runs them.
const OTHER: &str = "aarch64-unknown-linux-gnu";
const RUNNER: &str = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER";

/// The emulator for programs of that target.
fn runner() -> Option<String> {
    if cfg!(target_arch = "aarch64") { std::env::var(RUNNER).ok() } else { None }
}

/// A compiled program, to be run.
pub(crate) fn program(at: &Path) -> Command {
    let runner = runner().unwrap_or_default();
    let mut words = runner.split_whitespace();
    let mut command = match words.next() {
        None => Command::new(at),
        Some(first) => {
            let mut command = Command::new(first);
            command.args(words).arg(at);
            command
        }
    };
    // Cargo's directories there have another library, which would be loaded first.
    command.env_remove("LD_LIBRARY_PATH");
    command
}

/// The installation to test, if the variable names one.
fn installed() -> Option<PathBuf> {
    let prefix = PathBuf::from(std::env::var_os("HEAPWOOD_PREFIX")?);
    // If one is missing the linker takes the other.
    for library in ["lib/libheapwood.a", "lib/libheapwood.so"].map(|name| prefix.join(name)) {
        assert!(
            library.exists(),
            "HEAPWOOD_PREFIX names no installation: there is no {library:?}; run install.sh {prefix:?}, or unset it"
        );
    }
    Some(prefix)
}

/// The way to link a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Link {
    Static,
    Shared,
}

/// The directory of libheapwood.a and libheapwood.so: the installation's, if one is named. Cargo does not build a library
/// without an rlib for the tests of its package, so it is built here, with the profile of this test.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        if let Some(prefix) = installed() {
            return prefix.join("lib");
        }
        let (profile, directory) =
            if cfg!(debug_assertions) { ("dev", "debug") } else { ("release", "release") };
        let built =
            Path::new(OUT).parent().expect("the directory for temporary files lies in the target directory");
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "heapwood-c", "--lib", "--profile", profile]);
        // With --target cargo's directory is one level higher.
        let is_other = runner().is_some() && built.ends_with(OTHER);
        let target = if is_other { built.parent().expect("it has a parent") } else { built };
        if is_other {
            build.args(["--target", OTHER]);
        }
        run(build.arg("--target-dir").arg(target).current_dir(CRATE));
        let directory = built.join(directory);
        // As an installation does: programs load the library by this name.
        match std::os::unix::fs::symlink("libheapwood.so", directory.join(SONAME)) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => panic!("a link called {SONAME}: {e}"),
            _ => directory,
        }
    })
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("running {command:?}: {e}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?} ended with {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}

/// A compiler: the variable's if it is set.
fn compiler(variable: &str, usual: &str) -> Command {
    let name = std::env::var(variable).unwrap_or_else(|_| usual.into());
    if let Err(e) = Command::new(&name).arg("--version").output() {
        panic!(
            "these tests need a C and a C++ compiler: running {name:?} failed ({e}); install one or set {variable}"
        );
    }
    let mut command = Command::new(name);
    let header = installed().unwrap_or_else(|| CRATE.into()).join("include");
    command.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]).arg(header);
    command
}

/// Compiles `source` (a path in the crate's directory) at this optimisation level, and returns the program.
pub(crate) fn compile(source: &str, link: Link, level: &str) -> PathBuf {
    compile_with(source, link, level, &[])
}

/// The same with more arguments of the compiler.
pub(crate) fn compile_with(source: &str, link: Link, level: &str, more: &[&str]) -> PathBuf {
    let source = Path::new(CRATE).join(source);
    let cpp = source.extension().is_some_and(|e| e == "cpp");
    let mut cc = if cpp { compiler("CXX", "c++") } else { compiler("CC", "cc") };
    let name = source.file_stem().expect("a source has a name").to_string_lossy();
    // Several tests compile a source in the same way at once: one would find the other's program being written.
    static COMPILED: AtomicUsize = AtomicUsize::new(0);
    let number = COMPILED.fetch_add(1, Ordering::Relaxed);
    let program = Path::new(OUT).join(format!("{name}-{link:?}{level}-{}-{number}", std::process::id()));
    cc.arg(if cpp { "-std=c++11" } else { "-std=c11" })
        .arg(level)
        .args(more)
        .arg(&source)
        .arg("-o")
        .arg(&program);
    let library = library();
    match link {
        Link::Static => cc.arg(library.join("libheapwood.a")),
        Link::Shared => {
            cc.arg("-L").arg(library).arg("-lheapwood").arg(format!("-Wl,-rpath,{}", library.display()))
        }
    };
    run(cc.args(["-lpthread", "-ldl", "-lm"]));
    program
}

/// Whether HEAPWOOD_THOROUGH=1 asks for what .ci/long does.
fn is_thorough() -> bool {
    std::env::var_os("HEAPWOOD_THOROUGH").is_some_and(|value| value == "1")
}

/// Compiles a program in each way, or in the one that most programs are, runs it with each of the argument lists, and returns the last
/// output.
fn passes(source: &str, arguments: &[&[&str]]) -> String {
    let mut text = String::new();
    let all = [(Link::Shared, "-O2"), (Link::Static, "-O0"), (Link::Static, "-O2")];
    for (link, level) in all.into_iter().take(if is_thorough() { 3 } else { 1 }) {
        let program = compile(source, link, level);
        for arguments in arguments {
            let output = run(self::program(&program).args(*arguments));
            text = String::from_utf8(output.stdout).expect("programs print text");
        }
        std::fs::remove_file(program).expect("the program was just run");
    }
    text
}

/// The same for a program that checks itself: each of the arguments is a line of words, and it prints this text first.
fn checks(source: &str, arguments: &[&str], expected: &str) {
    let lines: Vec<Vec<&str>> = arguments.iter().map(|line| line.split_whitespace().collect()).collect();
    let text = passes(source, &lines.iter().map(Vec::as_slice).collect::<Vec<_>>());
    assert!(text.starts_with(expected), "{source}: {text}");
}

macro_rules! programs {
    ($($name:ident: $source:literal $arguments:expr, $text:literal;)*) => {
        $(
            #[test]
            fn $name() {
                checks(concat!("tests/c/", $source), &$arguments, $text);
            }
        )*
    };
}

// The source, the arguments of each run, and what the last prints.
programs! {
    every_function_does_what_the_header_says:
        "interface.c" ["", "cancelled"], "all is as the header says";
    threads_allocate_and_pass_objects: "threads.c" ["", "verify"], "";
    collections_are_asked_for_and_waited_for: "collect_start.c" ["", "beside"], "";
    buffers_outside_the_heap_are_counted:
        "external.c" ["", "young", "verify"], "the process does not grow";
    objects_come_back_in_order: "finalize_objects.c" [""], "each is flushed, then closed";
    what_is_weak_is_cleared_when_it_is_dead:
        "weak.c" ["", "young", "verify"], "what is dead is cleared";
    misuse_of_what_is_weak_is_an_error: "weak_misuse.c" ["", "verify"], "nothing has changed";
    hooks_are_called_in_each_pause: "hooks.c" ["", "beside", "verify"], "each pause is told";
    misuse_is_an_error: "misuse.c" ["", "verify"], "all is refused";
    arenas_hold_their_values:
        "arena.c"
        [
            "", "recycle", "precise", "signals", "verify", "verify precise recycle", "verify signals recycle",
            "verify stress"
        ],
        "arenas hold what they were given";
    misuse_of_arenas_is_found_and_harms_nothing:
        "arena_misuse.c" ["", "precise", "signals", "verify", "verify signals"],
        "each is found, and harms nothing";
    freed_arenas_clear_their_values_in_the_heap:
        "arena_heap_values.c" ["", "young", "signals", "verify", "verify young", "verify signals"],
        "a stale pointer keeps nothing behind it";
    signals_go_to_the_programs_threads: "signals.c" ["wait", "handler"], "";
    children_use_the_heaps_they_inherit: "fork.c" ["polls", "signals"], "";
    // The stack below such a handler is scanned.
    handlers_on_an_alternate_stack_are_interrupted: "alternate.c" [""], "";
    foreign_threads_attach_as_needed: "foreign.c" ["polls", "signals"], "300 callbacks";
    tables_fill_in_linear_time: "many.c" [""], "all tables are full";
    the_header_works_in_cpp: "cpp.cpp" [""], "";
}

#[test]
fn trees_through_the_inline_path_have_the_right_nodes() {
    let text = passes("tests/c/trees.c", &[&["12", "precise"], &["12", "conservative"]]);
    assert!(text.ends_with("16 trees of depth 12 nodes 131056\n"), "{text}");
}

/// Check values equal those of the workloads in Rust and of the peers.
#[test]
fn stores_through_the_inline_path_have_the_peers_values() {
    for program in ["graph", "map"] {
        let text = passes("tests/c/stores.c", &[&[program, "10000"], &[program, "10000", "verify"]]);
        let file = format!("{CRATE}/../../peers/expected/{program}-10000.txt");
        assert_eq!(text, std::fs::read_to_string(file).expect("the check values of all programs"));
    }
}

#[test]
fn what_dead_objects_own_is_queued() {
    // A million of them if there is time.
    let n = if std::env::var_os("HEAPWOOD_LONG").is_some() { "1000000" } else { "50000" };
    assert_eq!(passes("tests/c/finalize.c", &[&["full", n], &["young", n]]), "each is closed\n");
}

#[test]
fn ports_are_flushed_and_closed() {
    let directory = Path::new(OUT).join("ports");
    std::fs::create_dir_all(&directory).unwrap();
    let text = passes("examples/ports.c", &[&[directory.to_str().unwrap(), "300"]]);
    assert_eq!(text, "900 ports were flushed, 300 files closed\n");
    for number in 0..300 {
        let lines = std::fs::read_to_string(directory.join(number.to_string())).unwrap();
        assert_eq!(lines.lines().count(), 30, "of file {number}");
    }
}

#[test]
fn a_plugins_objects_live_until_it_is_closed() {
    let plugin = Path::new(OUT).join(format!("plugin-{}.so", std::process::id()));
    let source = Path::new(CRATE).join("tests/c/plugin.c");
    run(compiler("CC", "cc").args(["-std=c11", "-O2", "-shared", "-fPIC", "-o"]).arg(&plugin).arg(source));
    let path = plugin.to_str().expect("the target directory's path is text");
    let text = passes("tests/c/libraries.c", &[&[path], &[path, "verify"]]);
    assert_eq!(text, "kept while it was open\n");
    std::fs::remove_file(plugin).expect("the plugin was just used");
}

#[test]
fn trees_in_arenas_have_the_peers_values() {
    let text = passes("tests/c/arena_trees.c", &[&["10"], &["10", "verify"], &["10", "keep"]]);
    let file = format!("{CRATE}/../../peers/expected/trees-arena-10.txt");
    assert_eq!(text, std::fs::read_to_string(file).expect("the check values of all programs"));
}

/// The offsets at which instructions of a section begin, by objdump.
fn instructions(program: &Path, section: &str) -> Option<Vec<usize>> {
    let output = Command::new("objdump").args(["-d", "-j", section]).arg(program).output().ok()?;
    let listing = String::from_utf8(output.stdout).ok()?;
    let address = |line: &str| usize::from_str_radix(line.split_once(":\t")?.0.trim(), 16).ok();
    let all: Vec<_> =
        listing.lines().filter(|line| line.matches('\t').count() == 2).filter_map(address).collect();
    let first = *all.first()?;
    Some(all.iter().map(|at| at - first).collect())
}

/// A collection stops the thread before each instruction of the inline functions: allocation, also in arenas, stores,
/// frames and polls.
#[test]
fn a_signal_stops_at_every_instruction_of_the_inline_code() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("SKIPPED: threads are led from instruction to instruction on x86-64 only");
        return;
    }
    for level in ["-O2", "-O0"].into_iter().take(if is_thorough() { 2 } else { 1 }) {
        let program = compile("tests/c/step.c", Link::Static, level);
        for verified in ["verify", "fast"] {
            let text = run(self::program(&program).arg(verified)).stdout;
            let text = String::from_utf8(text).expect("programs print text");
            let (head, executed) = text.split_once('\n').expect("a line of figures");
            let missed: Vec<_> = executed.lines().filter(|line| line.starts_with("MISSED")).collect();
            assert!(missed.is_empty(), "{level}: {head}: {missed:?}");
            let offset = |line: &str| usize::from_str_radix(line.split_once(' ').unwrap().1, 16).unwrap();
            let (stopped, alone): (Vec<_>, Vec<_>) = executed.lines().partition(|l| l.starts_with("stopped"));
            match instructions(&program, "stepped") {
                Some(all) => {
                    let begins = |line| all.contains(&offset(line));
                    assert!(executed.lines().all(begins), "{level}: they begin elsewhere");
                    let (stopped, alone, all) = (stopped.len(), alone.len(), all.len());
                    println!(
                        "{level}: {head}, before {stopped} of {all} instructions; {alone} executed unattached only"
                    );
                }
                None => eprintln!("SKIPPED: where instructions begin: objdump (package binutils) is missing"),
            }
        }
        std::fs::remove_file(program).expect("the program was just run");
    }
}

/// Other threads resume the fibers, while a thread collects all the time.
#[test]
fn fibers_migrate() {
    let text = passes("tests/c/migrate.c", &[&["polls"], &["signals"]]);
    assert!(text.starts_with("12 fibers moved 2400 times, "), "{text}");
}

/// Under every `ulimit -v` a small program works or reports an error. None is aborted, killed or hangs, and above some
/// limit all work.
#[test]
fn a_scarce_address_space_is_an_error_or_works() {
    let program = compile("tests/c/scarce.c", Link::Static, "-O2");
    // In steps of half a MB if there is time.
    let step = match (std::env::var_os("HEAPWOOD_LONG").is_some(), is_thorough()) {
        (true, _) => 500,
        (false, true) => 4_000,
        (false, false) => 20_000,
    };
    let (mut refused, mut worked) = (Vec::new(), Vec::new());
    for kilobytes in (20_000..=600_000usize).step_by(step) {
        let script = format!("ulimit -v {kilobytes} && exec timeout 60 {}", program.display());
        let output = Command::new("sh").args(["-c", &script]).output().expect("sh");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.code() {
            Some(0) if text == "done\n" => worked.push(kilobytes),
            Some(3) if text.starts_with("refused: ") => refused.push(kilobytes),
            _ => panic!("ulimit -v {kilobytes}: {output:?}"),
        }
    }
    println!("{} refused, the last at {:?} kB; {} worked", refused.len(), refused.last(), worked.len());
    assert!(worked.iter().all(|works| refused.iter().all(|no| no < works)), "{refused:?}");
    // The text of an unoptimised library counts, too: 3.7 MB of it.
    assert!(worked[0] <= 76_000 || step > 4_000, "the first that works is {}", worked[0]);
    std::fs::remove_file(program).expect("the program was just run");
}

/// The program's line of options, and the library's output about the variable.
fn with_variable(program: &Path, variable: Option<&str>) -> (String, String) {
    let mut command = self::program(program);
    match variable {
        Some(text) => command.env("HEAPWOOD", text),
        None => command.env_remove("HEAPWOOD"),
    };
    let output = run(&mut command);
    let text = |bytes| String::from_utf8(bytes).expect("programs print text");
    (text(output.stdout), text(output.stderr))
}

#[test]
fn the_variable_changes_options_where_it_is_asked_for() {
    let program = compile("tests/c/environment.c", Link::Static, "-O2");
    let own = "min_heap 1048576 limit 0 percent 70 huge_pages 1 verify 0 mark_stack 0 memory 0\n";
    for variable in [None, Some("")] {
        assert_eq!(with_variable(&program, variable), (own.into(), String::new()));
    }
    let all = "limit=2GiB,percent=100,huge_pages=off,verify=on,mark_stack=9,process_memory=1.5GiB";
    let set = "min_heap 1048576 limit 2147483648 percent 100 huge_pages 0 verify 1 mark_stack 9 memory 1610612736\n";
    assert_eq!(with_variable(&program, Some(all)), (set.into(), String::new()));
    let (options, told) = with_variable(&program, Some("percnt=1,percent=0,limit=much,verify,percent=80"));
    assert_eq!(options, own.replace("percent 70", "percent 80"));
    let lines: Vec<&str> = told.lines().collect();
    let wanted = [
        "heapwood: ignored in HEAPWOOD: no option is called percnt: is percent meant?",
        "heapwood: ignored in HEAPWOOD: option percent is 0: it must be 1 to 100000",
        "heapwood: ignored in HEAPWOOD: option limit is much: a size is a number with KiB, MiB",
        "heapwood: ignored in HEAPWOOD: verify has no value: write key=value",
    ];
    assert!(lines.len() == 4 && lines.iter().zip(wanted).all(|(line, w)| line.starts_with(w)), "{told}");
    std::fs::remove_file(program).expect("the program was just run");
}

#[test]
fn the_variable_traces_every_heap() {
    for link in [Link::Static, Link::Shared] {
        let program = compile("tests/c/trace.c", link, "-O2");
        let told = |how: &str, variable: Option<&str>| {
            let mut command = self::program(&program);
            match variable {
                Some(text) => command.env("HEAPWOOD", text),
                None => command.env_remove("HEAPWOOD"),
            };
            let output = run(command.arg(how));
            assert_eq!(output.stdout, b"done\n");
            String::from_utf8(output.stderr).expect("programs print text")
        };
        let is_line = |line: &str| {
            line.starts_with("gc ") && line.contains(" ms clock, ") && line.contains(" P (forced) | ")
        };
        for how in ["", "destroy", "leave"] {
            assert_eq!(told(how, None), "", "{how}");
            let lines = told(how, Some("trace=1"));
            assert!(lines.lines().count() == 2 && lines.lines().all(is_line), "{how}: {lines}");
        }
        // The program's options override the variable.
        assert_eq!(told("quiet", Some("trace=1")), "");
        for how in ["", "asks"] {
            let wrong = told(how, Some("trce=1,trace=lines"));
            let wanted = [
                "heapwood: ignored in HEAPWOOD: no option is called trce: is trace meant? ",
                "heapwood: ignored in HEAPWOOD: option trace is lines: it must be 1 or off (2)",
            ];
            let lines: Vec<&str> = wrong.lines().collect();
            assert!(lines.len() == 2 && lines.iter().zip(wanted).all(|(l, w)| l.starts_with(w)), "{wrong}");
        }
        std::fs::remove_file(program).expect("the program was just run");
    }
}

#[test]
fn the_tree_example_prints_its_text() {
    let text = passes("examples/tree.c", &[&[]]);
    assert!(text.starts_with("65535 nodes, "), "{text}");
}

/// The Lisp's output for its example, in a heap so small that it must collect. The text of a memory error depends on
/// the live bytes.
#[test]
fn the_lisp_example_prints_its_text() {
    let program = format!("{CRATE}/examples/queens.lisp");
    let small = ["--limit", "8388608", &program];
    let text = passes("examples/lisp.c", &[&small, &["--verify", "--limit", "8388608", &program]]);
    let lines: Vec<&str> =
        text.lines().map(|line| line.split(": the heap's limit").next().unwrap()).collect();
    let expected = "not attacks place queens 4 counter next 1 2 make-ring ring made turn";
    assert_eq!(lines[..13].join(" "), expected);
    assert_eq!(
        lines[13..],
        [
            "(3 3 3)",
            "(1 1 1)",
            "error: a list is too short, or no list",
            "error: nothing is not defined",
            "deep",
            "error: nested too deep",
            "hoard",
            "error: no room for 32 bytes",
            "error: a number is too large",
            "t",
        ]
    );
}

/// The calculator frees its lines, except those of the current definition of a function.
#[test]
fn the_calculator_example_prints_its_text() {
    let lines = Path::new(OUT).join("lines.txt");
    let text = "x = 3\nx*x + 1\nsquare(y) = y*y\nsquare(x+1)\nhyp(a, b) = square(a) + square(b)\nhyp(3, 4) / (2 - 1)\n(1\n\
                nothing(1)\nsquare(y) = y*y*y\nsquare(2)\nloop(x) = loop(x)\nloop(1) + 1\n1 + 2 = 3\nx\n";
    std::fs::write(&lines, text.to_string() + &"square(x)\n".repeat(1000)).unwrap();
    let lines = lines.to_str().expect("the target directory's path is text");
    let text = passes("examples/arenas.c", &[&[lines], &["--verify", lines]]);
    let found: Vec<&str> = text.lines().take(10).collect();
    let expected = [
        "10",
        "16",
        "25",
        "error: a parenthesis is open",
        "error: no function of so many arguments",
        "8",
        "error: called too deep",
        "error: only names have values",
        "3",
        "27",
    ];
    assert_eq!(found, expected);
    assert_eq!(text.lines().count(), 9 + 1000);
}

/// The output does not depend on the way threads are stopped or on the number of collections.
#[test]
fn the_fibers_example_prints_its_text() {
    let program = compile("examples/fibers.c", Link::Static, "-O2");
    let check = |variable: &str| {
        let output = run(self::program(&program).arg("300").env("HEAPWOOD", variable));
        assert!(output.stderr.is_empty(), "{variable}: {output:?}");
        let text = String::from_utf8(output.stdout).expect("programs print text");
        text.split(',').next().unwrap().to_string()
    };
    let expected = check("stop=polls");
    assert!(expected.starts_with("check ") && expected.ends_with(" of 384 switches"), "{expected}");
    for more in
        ["", "verify=on", "verify=on,stress=on", "generational=off", "conservative_stacks=on,stress=on"]
    {
        assert_eq!(check(&format!("stop=signals,{more}")), expected, "{more}");
        assert_eq!(check(&format!("stop=polls,{more}")), expected, "{more}");
    }
    std::fs::remove_file(program).expect("the program was just run");
    let text = passes("examples/fibers.c", &[&["20000"]]);
    assert!(text.contains(" of 20064 switches, "), "{text}");
}

#[test]
fn the_program_in_the_readme_works() {
    let readme = std::fs::read_to_string(Path::new(CRATE).join("README.md")).unwrap();
    let program = readme.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let source = Path::new(OUT).join("pairs.c");
    std::fs::write(&source, program).unwrap();
    passes(source.to_str().unwrap(), &[&[]]);
}
