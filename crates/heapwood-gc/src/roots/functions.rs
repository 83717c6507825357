//! Functions of the program that name roots in each collection: of a table of its own, a chain through the C stack, handles in a form
//! of its own. By the rules of trace functions: on any thread, and any number of times. Whippet and libgc let embedders name roots so.
//! Invariant: a function is called in stops only, with the table of roots locked.

use super::table::{RootKind, RootTable, RootToken};
use crate::error::RootError;
use core::ffi::c_void;
use heapwood_layout::TraceContext;

type Function = unsafe extern "C" fn(argument: *mut c_void, context: *mut TraceContext);

/// A function that names roots, and its argument.
#[derive(Clone, Copy, Debug)]
pub struct RootFunction {
    /// The function.
    pub function: unsafe extern "C" fn(argument: *mut c_void, context: *mut TraceContext),
    /// Its first argument.
    pub argument: *mut c_void,
}

impl RootTable {
    /// Registers a function.
    pub(crate) fn add_function(&mut self, function: RootFunction) -> Result<RootToken, RootError> {
        let (code, argument) = (function.function as usize, function.argument as usize);
        self.add(RootKind::Function, code, argument)
    }

    /// Calls `f` with each function.
    pub(super) fn for_each_function(&self, mut f: impl FnMut(RootFunction)) {
        self.for_each_entry(|kind, code, argument| {
            if kind == RootKind::Function as u32 {
                // SAFETY: `add_function` made the number of such a function.
                let function = unsafe { core::mem::transmute::<usize, Function>(code) };
                f(RootFunction { function, argument: argument as *mut c_void });
            }
        });
    }
}
