//! Memory that goes back to the kernel.

mod footprint;
mod release;
