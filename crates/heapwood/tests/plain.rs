//! The accidents that do not depend on an allocator, in a program with the system's.

mod accidents;
