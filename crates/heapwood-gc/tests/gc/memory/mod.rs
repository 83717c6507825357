//! Memory that goes back to the kernel, and where memory is.

mod account;
mod footprint;
mod release;
