//! Functions that run when the process forks.

/// Registers `prepare` to run before each fork, `parent` to run after it in the parent, and `child` in the child;
/// false if there is no memory. The registration that came last runs first in `prepare`, and last in the others.
/// Nothing runs for vfork and posix_spawn, whose children share the memory and call exec.
///
/// # Safety
/// 1. The functions may be called on any thread that forks, as long as the process lives.
pub unsafe fn at_fork(
    prepare: unsafe extern "C" fn(),
    parent: unsafe extern "C" fn(),
    child: unsafe extern "C" fn(),
) -> bool {
    // SAFETY: contract 1.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) == 0 }
}
