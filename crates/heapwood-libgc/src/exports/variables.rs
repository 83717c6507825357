//! The variables that the library exports, made from the list: live settings of the program, which it may store to at any time.
//! Invariant: a variable of the program's that the linker has put in place of one of these is the one that is read.

use crate::exports::defaults;
use crate::exports::types::Pointer;
use core::ffi::c_void;
use core::sync::atomic::{AtomicI32, AtomicUsize};

macro_rules! variables {
    (functions { $($group:literal {
        $(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $does:path, $state:ident, $note:literal;)*
    })* }
    variables { $(static $variable:ident: $of:ty = $value:expr, $its:ident, $text:literal;)* }) => {
        $(
            #[doc = concat!(stringify!($its), ". ", $text)]
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals, reason = "the names are libgc's")]
            pub(crate) static $variable: $of = $value;
        )*
    };
}

symbol_list!(variables);
