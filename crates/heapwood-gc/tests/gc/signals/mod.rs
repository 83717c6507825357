//! Threads that signals stop, and the program's own signals.

mod late_threads;
mod own_thread;
mod stops;
