//! The symbols of libgc that a program and its libraries import, and what they do here. Libraries that the program opens as it runs
//! are not known. Invariant: a state is what the library says itself.

use super::elf::Elf;
use super::library::Library;
use super::refusal;
use heapwood_report::{CommandError, say};
use std::path::Path;

pub(super) fn run(library: &Library, program: &Path) -> Result<(), CommandError> {
    let mut imports: Vec<(String, String)> = Vec::new();
    let mut files = vec![program.to_owned()];
    files.extend(refusal::loaded(None, program));
    for file in &files {
        let bytes = std::fs::read(file).unwrap_or_default();
        let Some(names) = Elf::new(&bytes).and_then(|elf| elf.imports()) else { continue };
        let of = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        imports.extend(names.iter().filter(|n| n.starts_with("GC_")).map(|n| ((*n).to_owned(), of.clone())));
    }
    imports.sort();
    imports.dedup_by(|a, b| a.0 == b.0);
    if imports.is_empty() {
        say!(
            "{}: neither it nor a library that it is linked with imports a symbol of libgc; it may open libgc.so.1 as it runs",
            program.display()
        );
        return Ok(());
    }
    let (mut unknown, mut nearest) = (0, 0);
    for (name, of) in &imports {
        let state = match library.state(name) {
            Some("Complete") => "complete",
            Some("NoOp") => "no-op",
            Some(_) => {
                nearest += 1;
                "nearest safe thing"
            }
            None => {
                unknown += 1;
                "unknown: the program does not start"
            }
        };
        say!("  {name:40} {state} ({of})");
    }
    say!(
        "{} symbols of libgc; {nearest} do the nearest safe thing, {unknown} are unknown. What the program opens as it runs is \
         not known.",
        imports.len()
    );
    Ok(())
}
