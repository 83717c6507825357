//! Programs of libgc on the built library: C programs that are compiled against gc.h and linked with it, and what it exports.
//! Without gc.h (Debian: libgc-dev) or a C compiler they are skipped, with a line that says so.
mod built;
mod c_programs;
mod symbols;
