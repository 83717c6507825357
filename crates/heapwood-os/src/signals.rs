//! What the process does about signals.

/// Lets the process end quietly when nobody reads its output any more (`| head -1`), as other commands do. Rust's
/// start-up code ignores SIGPIPE, so that writing fails instead, and `println!` panics. Call it first in `main`.
pub fn restore_broken_pipe() {
    // SAFETY: the default action needs no handler; no other thread runs yet that could care.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}
