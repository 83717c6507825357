//! What is to be done when the process forks.

/// Has `prepare` called before the process forks, and then one of the two others in each of the processes; false if there is no
/// memory for that. Of several the last is asked first before, and the first afterwards. Nothing is called for vfork and posix_spawn, whose
/// children share the memory and call exec.
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
