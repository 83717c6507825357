//! Structs that begin with their size. A program may be older or newer than the library: what it does not know
//! keeps its default, what the library does not know must be zero going in and is zero coming out.

use crate::refusal::Refusal;
use heapwood_gc::Config;

/// The header's `hw_options`.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the header describes the fields")]
pub struct Options {
    pub size: usize,
    pub min_heap: u64,
    pub limit: u64,
    pub reserve: u64,
    pub percent: u32,
    pub huge_pages: u32,
    pub conservative_stacks: u32,
    pub verify: u32,
    pub stress: u32,
    pub background_release: u32,
    pub mask_words: u32,
    /// Zero, and in the header for the same layout everywhere.
    pub reserved: u32,
}

/// The size of the struct in the first version: none is smaller.
const FIRST: usize = 56;
const _: () = assert!(size_of::<Options>() == FIRST + 8);

impl Options {
    /// The defaults.
    pub const DEFAULT: Options = Options {
        size: size_of::<Options>(),
        min_heap: Config::DEFAULT.min_heap as u64,
        limit: 0,
        reserve: 0,
        percent: Config::DEFAULT.percent,
        huge_pages: Config::DEFAULT.huge_pages as u32,
        conservative_stacks: Config::DEFAULT.conservative_stacks as u32,
        verify: Config::DEFAULT.verify as u32,
        stress: Config::DEFAULT.stress as u32,
        background_release: Config::DEFAULT.background_release as u32,
        mask_words: Config::DEFAULT.mask_words as u32,
        reserved: 0,
    };

    /// The options at `from`, whatever the caller's version of the struct.
    ///
    /// # Safety
    /// 1. `from` is readable for as many bytes as its first field says.
    pub unsafe fn read(from: *const Options) -> Result<Options, Refusal> {
        // SAFETY: contract 1, of which the first field is part.
        let size = unsafe { from.cast::<usize>().read() };
        if !(FIRST..=1 << 16).contains(&size) {
            return Err(Refusal::OptionsSize(size));
        }
        let mut options = Options::DEFAULT;
        let known = size.min(size_of::<Options>());
        // SAFETY: contract 1, and a struct of numbers may be written bytewise.
        let unknown = unsafe {
            from.cast::<u8>().copy_to_nonoverlapping((&raw mut options).cast(), known);
            core::slice::from_raw_parts(from.cast::<u8>().add(known), size - known)
        };
        if unknown.iter().any(|&byte| byte != 0) {
            return Err(Refusal::UnknownOption);
        }
        Ok(options)
    }

    /// The settings of the heap they ask for.
    pub fn config(&self) -> Result<Config, Refusal> {
        let switch = |name, value: u32| match value {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Refusal::Option(name, value)),
        };
        if self.reserved != 0 {
            return Err(Refusal::Option("reserved", self.reserved));
        }
        Ok(Config {
            percent: self.percent,
            min_heap: self.min_heap as usize,
            limit: (self.limit != 0).then_some(self.limit as usize),
            reserve: (self.reserve != 0).then_some(self.reserve as usize),
            huge_pages: switch("huge_pages", self.huge_pages)?,
            conservative_stacks: switch("conservative_stacks", self.conservative_stacks)?,
            verify: switch("verify", self.verify)?,
            stress: switch("stress", self.stress)?,
            background_release: switch("background_release", self.background_release)?,
            mask_words: self.mask_words as usize,
            ..Config::DEFAULT
        })
    }
}

/// Copies `value`, a struct of numbers, to the `size` bytes at `to`: cut if that is shorter, followed by zeros if
/// it is longer.
///
/// # Safety
/// 1. `to` may be written for `size` bytes.
pub unsafe fn copy_out<T: Copy>(value: &T, to: *mut T, size: usize) {
    let known = size.min(size_of::<T>());
    // SAFETY: contract 1.
    unsafe {
        (&raw const *value).cast::<u8>().copy_to_nonoverlapping(to.cast(), known);
        to.cast::<u8>().add(known).write_bytes(0, size - known);
    }
}

/// Sets the `size` bytes of options at `options` to the defaults.
///
/// # Safety
/// 1. `options` may be written for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_options_defaults(options: *mut Options, size: usize) {
    if !options.is_null() {
        // SAFETY: contract 1.
        unsafe { copy_out(&Options { size, ..Options::DEFAULT }, options, size) };
    }
}
