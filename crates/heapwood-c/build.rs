//! How the shared library is linked. Its name for programs (SONAME) carries the part of the version that must be equal for a
//! program and a library to fit together: the major, and while that is 0 the minor, too. So an incompatible library is not
//! loaded in its place. And it stays loaded after dlclose, since exit hooks of threads that were attached may still run.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    let abi = match major {
        "0" => concat!("0.", env!("CARGO_PKG_VERSION_MINOR")),
        major => major,
    };
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libheapwood.so.{abi}");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
