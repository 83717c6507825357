//! References for the decoder and for the descriptions of types: slow code that shares nothing with them. The fuzz
//! targets include this file by its path.
#![allow(dead_code, reason = "each test file and fuzz target uses a part")]

pub(crate) mod describe;
pub(crate) mod program;
