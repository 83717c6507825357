//! What is weak: ephemerons and weak references, tables of them, and links. docs/design/weak.md has the whole design.
//!
//! | file | contents |
//! |---|---|
//! | `references` | ephemerons and weak references, as a thread makes and reads them |
//! | `ephemerons` | what markings keep of them; the marking loop's part is `mark/ephemerons.rs` |
//! | `tables` | weak tables: objects with an array of ephemerons |
//! | `links` | words of the program's own memory that are set to 0 with an object |
//! | `clear` | the phase after marking: clears what refers to dead objects |
//! | `verify` | the rules of ephemerons, for verify mode |
//!
//! Invariant: nothing weak keeps an object alive, and whoever reads it finds a live object or none.

pub(crate) mod clear;
pub(crate) mod ephemerons;
pub(crate) mod links;
pub(crate) mod references;
pub(crate) mod tables;
pub(crate) mod verify;
