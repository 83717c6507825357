//! Linker options of the shared library. It has libgc's soname, so that programs of libgc load it; and it stays loaded after
//! dlclose, since its signal handler, its threads and the destructors of its thread keys do.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libgc.so.1");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
