//! Linker options of the shared library. Its SONAME has the part of the version that must be equal for a program and a
//! library to be compatible: the major version, and while that is 0 the minor, too. So the loader rejects an incompatible
//! library. The library stays loaded after dlclose, since exit hooks of attached threads may still run.

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
