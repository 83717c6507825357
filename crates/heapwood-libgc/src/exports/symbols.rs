//! The functions that the library exports, made from the list, which call those of the other modules. (`variables` has the rest.) `heapwood exec
//! --check` reads the states from the library itself, in a section of its own (`STATES`). Invariant: the list alone says what is
//! exported.

use crate::collections;
use crate::collections::phases;
use crate::collections::stats;
use crate::descriptors;
use crate::descriptors::procedures;
use crate::descriptors::typed;
use crate::exports::debug;
use crate::exports::rest;
use crate::exports::types::*;
use crate::finalizers;
use crate::finalizers::links;
use crate::objects;
use crate::objects::aligned;
use crate::objects::alloc;
use crate::objects::chains;
use crate::objects::checks;
use crate::objects::held;
use crate::objects::interior;
use crate::objects::kinds;
use crate::objects::lookup;
use crate::objects::strings;
use crate::process;
use crate::process::registration;
use crate::process::start;
use crate::report;
use crate::report::log;
use crate::report::printing;
use crate::roots;
use crate::settings;
use crate::settings::live;
use crate::settings::sizes;
use crate::threads;
use crate::threads::blocking;
use crate::threads::lock;
use crate::threads::pthreads;
use crate::threads::stacks;
use crate::threads::suspend;
use core::ffi::{c_char, c_int, c_uint, c_ulong};

/// Warns of a function, once, if it does not do what gc.h says.
macro_rules! warn_of {
    (Nearest, $name:ident) => {
        static TOLD: core::sync::atomic::AtomicBool = core::sync::atomic::AtomicBool::new(false);
        report::tell_once(&TOLD, stringify!($name));
    };
    ($state:ident, $name:ident) => {};
}

macro_rules! exports {
    (functions { $($group:literal {
        $(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $does:path, $state:ident, $note:literal;)*
    })* }
    variables { $(static $variable:ident: $of:ty = $value:expr, $its:ident, $text:literal;)* }) => {
        $($(
            #[doc = concat!(stringify!($state), ". ", $note)]
            ///
            /// # Safety
            /// 1. The caller keeps what gc.h says of it.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, unused_unsafe, reason = "the names are libgc's; not all that is called is unsafe")]
            pub(crate) unsafe extern "C-unwind" fn $name($($argument: $type),*) $(-> $result)? {
                warn_of!($state, $name);
                // SAFETY: contract 1.
                unsafe { $does($($argument),*) }
            }
        )*)*
        const TEXT: &str = concat!(
            $($(stringify!($name), " ", stringify!($state), "\n",)*)*
            $(stringify!($variable), " ", stringify!($its), "\n",)*
        );

        /// Groups of symbols: name, state, note.
        #[cfg(test)]
        const GROUPS: &[(&str, &[[&str; 3]])] = &[
            $(($group, &[$([stringify!($name), stringify!($state), $note]),*]),)*
            ("Variables", &[$([stringify!($variable), stringify!($its), $text]),*]),
        ];
    };
}

symbol_list!(exports);

/// The symbols with their states, a line each, for `heapwood exec --check`.
#[used]
#[unsafe(link_section = ".heapwood_symbols")]
static STATES: [u8; TEXT.len()] = {
    let (mut bytes, mut at) = ([0; TEXT.len()], 0);
    while at < TEXT.len() {
        bytes[at] = TEXT.as_bytes()[at];
        at += 1;
    }
    bytes
};

/// The bytes of the section. `GC_get_version` looks at it, so that no linker drops it.
pub(crate) fn version() -> c_uint {
    rest::version(core::hint::black_box(&STATES).len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/libgc.md");
    const BEGIN: &str = "<!-- symbols: written by `HEAPWOOD_WRITE=1 cargo test -p heapwood-libgc` -->\n";

    fn tables() -> String {
        let mut text = String::new();
        for (group, symbols) in GROUPS {
            write!(text, "\n### {group}\n\n| symbol | state | |\n|---|---|---|\n").unwrap();
            for [name, state, note] in *symbols {
                let state = match *state {
                    "Complete" => "complete",
                    "Nearest" => "**nearest safe thing**",
                    _ => "no-op",
                };
                writeln!(text, "| `{name}` | {state} | {note} |").unwrap();
            }
        }
        text
    }

    #[test]
    fn the_guide_has_the_list() {
        let guide = std::fs::read_to_string(GUIDE).unwrap();
        let (before, had) = guide.split_once(BEGIN).expect("the guide has the line that begins the tables");
        if std::env::var_os("HEAPWOOD_WRITE").is_some() {
            std::fs::write(GUIDE, format!("{before}{BEGIN}{}", tables())).unwrap();
            return;
        }
        assert!(had == tables(), "the tables of docs/guide/libgc.md are not those of the list: {BEGIN}");
    }

    #[test]
    fn each_symbol_is_there_once_and_none_is_silent_without_a_reason() {
        let all: Vec<_> = GROUPS.iter().flat_map(|(_, symbols)| *symbols).collect();
        assert_eq!(all.len(), 291);
        assert_eq!(STATES.iter().filter(|&&byte| byte == b'\n').count(), 291);
        for (at, [name, state, note]) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|[other, ..]| other != name), "{name} is there twice");
            assert!(*state != "NoOp" || !note.is_empty(), "{name} does nothing, and nobody says why");
        }
    }
}
