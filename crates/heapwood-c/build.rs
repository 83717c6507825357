//! How the shared library is linked. Its name for programs carries the major version, so that an incompatible one is not
//! loaded in its place; and it stays loaded after dlclose, since exit hooks of threads that were attached may still run.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libheapwood.so.0");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
