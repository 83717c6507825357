//! The machine code of this test program: which function an address is in, and where instructions begin. What is known depends on
//! the tools that are installed (nm and objdump, of binutils).

use core::ffi::CStr;
use std::collections::BTreeMap;
use std::ops::Range;
use std::process::Command;
use std::sync::OnceLock;

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).arg(std::env::current_exe().unwrap()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A name that nm tells with the address at which it is in the file, and that has one here.
#[unsafe(no_mangle)]
extern "C" fn heapwood_step_here() {}

/// The functions of this program.
pub(crate) struct Symbols {
    functions: BTreeMap<usize, String>,
    /// What addresses are more here than in the file.
    shift: usize,
    end: usize,
}

impl Symbols {
    /// All that there are.
    pub(crate) fn all() -> &'static Self {
        static ALL: OnceLock<Symbols> = OnceLock::new();
        ALL.get_or_init(Self::read)
    }

    fn read() -> Self {
        let listing = output("nm", &["--defined-only", "-C"]).unwrap_or_default();
        let mut functions = BTreeMap::new();
        for line in listing.lines() {
            let mut parts = line.splitn(3, ' ');
            if let (Some(at), Some("t" | "T" | "w" | "W"), Some(name)) =
                (parts.next(), parts.next(), parts.next())
            {
                functions.insert(usize::from_str_radix(at, 16).unwrap(), name.to_owned());
            }
        }
        let here = functions.iter().find(|(_, name)| *name == "heapwood_step_here");
        let shift = here.map_or(0, |(at, _)| heapwood_step_here as *const () as usize - at);
        let end = functions.keys().next_back().copied().unwrap_or(0);
        Symbols { functions, shift, end }
    }

    /// The function that an address is in.
    pub(crate) fn name(&self, at: usize) -> String {
        let inside = at.wrapping_sub(self.shift);
        match self.functions.range(..=inside).next_back() {
            Some((start, name)) if inside < self.end => format!("{name}+{}", inside - start),
            _ => library(at).unwrap_or_else(|| format!("{at:#x}")),
        }
    }

    /// Where a function lies that is called so.
    pub(crate) fn range(&self, name: &str) -> Option<Range<usize>> {
        let start = *self.functions.iter().find(|(_, known)| *known == name)?.0;
        let end = *self.functions.range(start + 1..).next()?.0;
        Some(start + self.shift..end + self.shift)
    }
}

/// What the dynamic linker says of an address in a library.
fn library(at: usize) -> Option<String> {
    // SAFETY: the information is the call's to write; its names are terminated, and stay as long as the library.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(at as *const _, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        let file = CStr::from_ptr(info.dli_fname).to_string_lossy();
        let file = file.rsplit('/').next().unwrap_or_default();
        Some(format!("{file}+{:#x}", at - info.dli_fbase as usize))
    }
}

/// Where the instructions of a function begin, and what each is; `None` where objdump does not tell.
pub(crate) fn instructions(symbols: &Symbols, range: &Range<usize>) -> Option<BTreeMap<usize, String>> {
    let bound = |at: usize| format!("{:#x}", at - symbols.shift);
    let (start, stop) =
        (format!("--start-address={}", bound(range.start)), format!("--stop-address={}", bound(range.end)));
    let listing = output("objdump", &["-d", "--no-show-raw-insn", &start, &stop])?;
    let mut found = BTreeMap::new();
    for line in listing.lines() {
        if let Some((at, text)) = line.split_once(":\t")
            && let Ok(at) = usize::from_str_radix(at.trim(), 16)
        {
            found.insert(at + symbols.shift, text.trim().to_owned());
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Whether whatever comes after an instruction is not what lies behind it.
pub(crate) fn leads_away(instruction: &str) -> bool {
    ["jmp", "ret", "ud2", "notrack jmp"].iter().any(|away| instruction.starts_with(away))
}
