//! Threads that signals stop, and the program's own signals.

mod by_chance;
mod late_threads;
mod own_thread;
mod stops;
