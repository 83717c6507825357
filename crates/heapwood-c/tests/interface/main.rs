//! The tests of the C interface: programs in C and C++ that use it, the Lisp of the examples, mistakes, and the machine code of its inline functions.

mod c_programs;
mod inline_code;
mod lisp;
mod mistakes;
mod mutations;
mod stale;
