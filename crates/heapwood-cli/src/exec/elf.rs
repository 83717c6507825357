//! What an ELF file of 64 bits and this byte order says of itself: sections, what it needs, what it imports. Invariant: a malformed
//! file gives `None`, and no panic.

use std::ffi::CStr;

const DYNAMIC: u32 = 6;
const DYNAMIC_SYMBOLS: u32 = 11;
const INTERPRETER: u32 = 3;
const NEEDED: u64 = 1;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;

/// A file.
pub(super) struct Elf<'b> {
    bytes: &'b [u8],
}

/// A section.
#[derive(Clone, Copy)]
struct Section {
    name: u32,
    kind: u32,
    offset: u64,
    size: u64,
    link: u32,
}

/// What a file says of the libraries that it wants.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wants {
    /// It has a dynamic section at all.
    pub(super) is_dynamic: bool,
    pub(super) needed: Vec<String>,
    pub(super) rpath: Option<String>,
    pub(super) runpath: Option<String>,
}

impl<'b> Elf<'b> {
    /// The file with these bytes, if it is one.
    pub(super) fn new(bytes: &'b [u8]) -> Option<Self> {
        let is_here = bytes.starts_with(b"\x7fELF\x02\x01") && cfg!(target_endian = "little");
        is_here.then_some(Elf { bytes })
    }

    fn number<const N: usize>(&self, at: u64) -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let bytes = self.bytes.get(at..at.checked_add(N)?)?;
        let mut number = [0; 8];
        number[..N].copy_from_slice(bytes);
        Some(u64::from_le_bytes(number))
    }

    fn text(&self, table: Section, at: u64) -> Option<&'b str> {
        let bytes = self.content(table)?.get(usize::try_from(at).ok()?..)?;
        CStr::from_bytes_until_nul(bytes).ok()?.to_str().ok()
    }

    fn content(&self, section: Section) -> Option<&'b [u8]> {
        let start = usize::try_from(section.offset).ok()?;
        self.bytes.get(start..start.checked_add(usize::try_from(section.size).ok()?)?)
    }

    fn sections(&self) -> Option<Vec<Section>> {
        let (offset, size, count) = (self.number::<8>(40)?, self.number::<2>(58)?, self.number::<2>(60)?);
        (0..count)
            .map(|n| {
                let at = offset.checked_add(n * size)?;
                Some(Section {
                    name: self.number::<4>(at)? as u32,
                    kind: self.number::<4>(at + 4)? as u32,
                    offset: self.number::<8>(at + 24)?,
                    size: self.number::<8>(at + 32)?,
                    link: self.number::<4>(at + 40)? as u32,
                })
            })
            .collect()
    }

    /// The content of the section of this name.
    pub(super) fn section(&self, name: &str) -> Option<&'b [u8]> {
        let sections = self.sections()?;
        let names = *sections.get(self.number::<2>(62)? as usize)?;
        let found = sections.iter().find(|section| self.text(names, section.name.into()) == Some(name))?;
        self.content(*found)
    }

    /// Whether the kernel starts it by way of a loader.
    pub(super) fn has_interpreter(&self) -> Option<bool> {
        let (offset, size, count) = (self.number::<8>(32)?, self.number::<2>(54)?, self.number::<2>(56)?);
        for n in 0..count {
            if self.number::<4>(offset.checked_add(n * size)?)? as u32 == INTERPRETER {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The libraries that it wants.
    pub(super) fn wants(&self) -> Option<Wants> {
        let (sections, mut wants) = (self.sections()?, Wants::default());
        let Some(dynamic) = sections.iter().find(|section| section.kind == DYNAMIC) else {
            return Some(wants);
        };
        wants.is_dynamic = true;
        let texts = *sections.get(dynamic.link as usize)?;
        for at in (0..dynamic.size / 16).map(|n| dynamic.offset + n * 16) {
            let (tag, value) = (self.number::<8>(at)?, self.number::<8>(at + 8)?);
            let text = || self.text(texts, value).map(str::to_owned);
            match tag {
                0 => break,
                NEEDED => wants.needed.push(text()?),
                RPATH => wants.rpath = text(),
                RUNPATH => wants.runpath = text(),
                _ => {}
            }
        }
        Some(wants)
    }

    /// The names of the symbols that others have to supply.
    pub(super) fn imports(&self) -> Option<Vec<&'b str>> {
        let sections = self.sections()?;
        let Some(symbols) = sections.iter().find(|section| section.kind == DYNAMIC_SYMBOLS) else {
            return Some(Vec::new());
        };
        let texts = *sections.get(symbols.link as usize)?;
        let mut names = Vec::new();
        for at in (1..symbols.size / 24).map(|n| symbols.offset + n * 24) {
            if self.number::<2>(at + 6)? == 0 {
                names.push(self.text(texts, self.number::<4>(at)?)?);
            }
        }
        Some(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_read() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let elf = Elf::new(&bytes).unwrap();
        let wants = elf.wants().unwrap();
        assert!(wants.is_dynamic && wants.needed.iter().any(|name| name.starts_with("libc.so")));
        assert_eq!((wants.rpath, elf.has_interpreter()), (None, Some(true)));
        assert!(elf.imports().unwrap().contains(&"write"));
        assert!(elf.section(".text").is_some_and(|text| !text.is_empty()) && elf.section(".none").is_none());
    }

    #[test]
    fn a_file_that_is_cut_or_changed_gives_nothing_and_no_panic() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let head = &bytes[..bytes.len().min(20_000)];
        let all = |bytes: &[u8]| {
            let Some(elf) = Elf::new(bytes) else { return };
            let _ = (
                elf.wants(),
                elf.imports().map(|names| names.len()),
                elf.has_interpreter(),
                elf.section(".x"),
            );
        };
        (0..200).for_each(|len| all(&bytes[..len]));
        for at in 0..64 {
            for value in [0, 0x7f, 0xff] {
                let mut changed = head.to_vec();
                changed[at] = value;
                all(&changed);
            }
        }
        assert!(Elf::new(b"#!/bin/sh").is_none());
    }
}
