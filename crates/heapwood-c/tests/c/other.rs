//! The second Rust archive of a program (two_archives.c): it allocates, formats, and panics, if it can catch that.

#[unsafe(no_mangle)]
pub extern "C" fn other_sum(n: u64) -> u64 {
    (0..n).map(|i| i.to_string().parse::<u64>().unwrap()).sum()
}

#[unsafe(no_mangle)]
pub extern "C" fn other_catches() -> bool {
    cfg!(panic = "abort") || std::panic::catch_unwind(|| panic!("caught where it was thrown")).is_err()
}
