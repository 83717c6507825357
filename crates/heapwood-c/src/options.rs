//! Structs that begin with their size. A program may be older or newer than the library. A field that the program does
//! not know keeps its default. A field that the library does not know must be zero on input and is zero on output. The
//! options are those of the collector's list, in its order; 0 means that the heap chooses.

use crate::error::Error;
use crate::error_report::ErrorReport;
use crate::status::Status;
use heapwood_gc::settings::options::{Concurrent, GcTrace, Generational, Stop};
use heapwood_gc::{Config, OPTIONS};

/// An option's type as a field of `hw_options`.
pub(crate) trait Field: Copy {
    /// That type.
    type C: Copy + Into<u64>;
    /// Its name in C.
    #[cfg(test)]
    const NAME: &'static str;
    /// Its value there.
    fn to_c(self) -> Self::C;
}

macro_rules! fields {
    ($($rust:ty => $c:ty, $name:literal, |$value:ident| $to_c:expr;)*) => {
        $(impl Field for $rust {
            type C = $c;
            #[cfg(test)]
            const NAME: &'static str = $name;
            fn to_c(self) -> $c {
                let $value = self;
                $to_c
            }
        })*
    };
}

fields! {
    bool => u32, "uint32_t", |on| on.into();
    u32 => u32, "uint32_t", |n| n;
    u64 => u64, "uint64_t", |n| n;
    usize => u64, "uint64_t", |n| n as u64;
    Option<u32> => u32, "uint32_t", |n| n.unwrap_or(0);
    Option<usize> => u64, "uint64_t", |n| n.unwrap_or(0) as u64;
    Concurrent => u32, "uint32_t", |concurrent| concurrent as u32;
    Generational => u32, "uint32_t", |generations| generations as u32;
    Stop => u32, "uint32_t", |how| how as u32;
    Option<GcTrace> => u32, "uint32_t", |trace| trace.map_or(0, |trace| trace as u32);
}

/// The header's names of the trace words.
#[cfg(test)]
pub(crate) const TRACE_WORDS: [(&str, GcTrace); 2] =
    [("HW_TRACE_ON", GcTrace::On), ("HW_TRACE_OFF", GcTrace::Off)];

macro_rules! hw_options {
    ($($(#[doc = $help:literal])+ $name:ident: $type:tt $(<$inner:ty>)? = $default:expr, $unit:ident $range:expr,
       $audience:ident $(, $unset:literal)?;)*) => {
        /// The header's `hw_options`.
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub struct Options {
            size: usize,
            $($name: <$type $(<$inner>)? as Field>::C,)*
        }

        impl Options {
            /// The options of `config`, in a struct of this size.
            fn of(config: &Config, size: usize) -> Options {
                Options { size, $($name: config.$name.to_c(),)* }
            }

            /// The options' values, in the order of the list.
            fn values(&self) -> [u64; OPTIONS.len()] {
                [$(self.$name.into()),*]
            }

            /// The offset and the C type of each field.
            #[cfg(test)]
            pub(crate) const FIELDS: [(&'static str, usize); OPTIONS.len()] =
                [$((<$type $(<$inner>)? as Field>::NAME, core::mem::offset_of!(Options, $name))),*];
        }
    };
}

heapwood_gc::options_list!(hw_options);

/// The size of the struct in the first version. No valid size is smaller.
const FIRST: usize = 56;
const _: () = assert!(size_of::<Options>() == FIRST + 96);

impl Options {
    /// The defaults, in a struct of this size.
    pub fn defaults(size: usize) -> Options {
        Options::of(&Config::DEFAULT, size)
    }

    /// The options at `from`, for any version of the struct.
    ///
    /// # Safety
    /// 1. `from` is readable for as many bytes as its first field says.
    pub unsafe fn read(from: *const Options) -> Result<Options, Error> {
        // SAFETY: contract 1, which includes the first field.
        let size = unsafe { from.cast::<usize>().read() };
        if !(FIRST..=1 << 16).contains(&size) {
            return Err(Error::OptionsSize(size));
        }
        let mut options = Options::defaults(size);
        let known = size.min(size_of::<Options>());
        // SAFETY: contract 1, and a struct of numbers may be written bytewise.
        let unknown = unsafe {
            from.cast::<u8>().copy_to_nonoverlapping((&raw mut options).cast(), known);
            core::slice::from_raw_parts(from.cast::<u8>().add(known), size - known)
        };
        if unknown.iter().any(|&byte| byte != 0) {
            return Err(Error::UnknownOption);
        }
        Ok(options)
    }

    /// The heap settings for these options.
    pub fn config(&self) -> Result<Config, Error> {
        let mut config = Config::DEFAULT;
        for (option, value) in OPTIONS.iter().zip(self.values()) {
            if value != 0 || option.default.is_some() {
                config.set(option, value)?;
            }
        }
        Ok(config)
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
        unsafe { copy_out(&Options::defaults(size), options, size) };
    }
}

/// Changes options by the variable HEAPWOOD. Parts that cannot be used are reported on standard error.
///
/// # Safety
/// 1. `options` is NULL, or readable and writable for as many bytes as its first field says; `why` is NULL or may be
///    written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_options_env(options: *mut Options, why: *mut ErrorReport) -> Status {
    let change = || {
        if options.is_null() {
            return Err(Error::Null("options"));
        }
        // SAFETY: contract 1.
        let before = unsafe { Options::read(options)? };
        let config = before.config()?.with_env();
        // SAFETY: contract 1.
        unsafe { copy_out(&Options::of(&config, before.size), options, before.size) };
        Ok(())
    };
    // SAFETY: contract 1.
    unsafe { ErrorReport::tell(change(), why) }
}
