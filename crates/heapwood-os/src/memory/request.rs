//! The kinds of things that the kernel is asked for and may refuse.

/// What was asked of the kernel when it refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Address space without access.
    Reserve,
    /// Access to a part of a reservation.
    Commit,
    /// Giving back the memory behind a part of a reservation.
    Decommit,
    /// A thread, with a stack of N bytes.
    Thread,
    /// A handler of a signal, by its number.
    Signal,
}
