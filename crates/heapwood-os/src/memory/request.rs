//! The kinds of requests that the kernel may refuse.

/// The kind of a refused request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Address space without access.
    Reserve,
    /// Access to a part of a reservation.
    Commit,
    /// Releasing the memory behind a part of a reservation.
    Decommit,
    /// A thread, with a stack of `bytes` bytes.
    Thread,
    /// A signal handler; `bytes` is the signal's number.
    Signal,
    /// A moment in which nobody loads or unloads libraries.
    LoaderLock,
}
