//! What Heapwood asks of the operating system.
//!
//! Who may use it: the crates of Heapwood alone; it changes with what they need.
//!
//! The lowest layer: the only crate that makes system calls. Memory sits behind the [`Kernel`] trait, so that
//! tests can refuse a request and models can stand in for it; the rest are thin, allocation-free wrappers.
//!
//! | room | module | contents |
//! |---|---|---|
//! | [`memory`] | [`kernel`](memory::kernel) | reserve, commit, decommit, release: the trait |
//! |  | [`linux`](memory::linux) | the trait over mmap, mprotect and madvise |
//! |  | [`request`](memory::request) | the kinds of requests |
//! |  | [`region`](memory::region) | owned reservations and lazily committed arrays |
//! |  | [`mapped_box`](memory::mapped_box) | one value in mapped memory of its own |
//! |  | [`mapped_index`](memory::mapped_index) | numbers found by hash, in mapped memory |
//! |  | [`page`](memory::page) | sizes of pages |
//! |  | [`pagemap`](memory::pagemap) | the pages of a range that were ever written to |
//! |  | [`safe_read`](memory::safe_read) | memory that may be unmapped at any moment |
//! |  | `limits` | the limit that a refusal met |
//! | [`threads`] | [`thread`](threads::thread) | threads of the library, which take no signals of the program |
//! |  | [`thread_value`](threads::thread_value) | a word for each thread, and a function that runs when the thread exits |
//! |  | [`stack`](threads::stack) | the bounds of a thread's stack, and its registers as words on it |
//! |  | [`signal`](threads::signal) | signals to single threads, and what a handler needs to know |
//! |  | [`membarrier`](threads::membarrier) | a fence for all threads at once |
//! |  | [`futex`](threads::futex) | threads that sleep until a word changes |
//! |  | [`lock`](threads::lock) | a mutex on a futex |
//! |  | [`timed_lock`](threads::timed_lock) | a mutex that knows how long it was held |
//! |  | [`cache_padded`](threads::cache_padded) | values on cache lines of their own |
//! |  | [`sync`](threads::sync) | atomics and futexes, or those of loom |
//! | [`process`] | [`fork`](process::fork) | functions that run when the process forks |
//! |  | [`exit`](process::exit) | functions that run when the process exits |
//! |  | [`loaded`](process::loaded) | the libraries that the dynamic loader has loaded |
//! |  | [`clock`](process::clock) | monotonic time and CPU time |
//! |  | [`usage`](process::usage) | what the process has used, and what the machine has |
//! |  | [`cgroup`](process::cgroup) | the memory that control groups allow |
//! |  | [`cores`](process::cores) | the processor cores that the process may use |
//! |  | `file` | small files read into fixed buffers |
//! | [`diagnose`] | [`message`](diagnose::message) | writing to standard error without allocating |
//! |  | [`backtrace`](diagnose::backtrace) | return addresses on the stack |
//! |  | [`task`](diagnose::task) | what a thread is doing, in words |
//! |  | [`slow_thread`](diagnose::slow_thread) | why a thread does not answer a signal |
//! | [`testing`] | [`faulty`](testing::faulty) | a kernel that refuses on command |
//! |  | [`large_page_kernel`](testing::large_page_kernel) | a kernel with larger pages |
//! | | [`error`] | why the system refused |

pub mod diagnose;
pub mod error;
pub mod memory;
pub mod process;
pub mod testing;
pub mod threads;

pub use error::{OsError, ThreadValueError};
pub use memory::kernel::{Kernel, KernelRef};
pub use memory::linux::{SYSTEM, System};
pub use memory::mapped_box::MappedBox;
pub use memory::mapped_index::MappedIndex;
pub use memory::page::{HUGE_PAGE, LEAST_KERNEL_PAGE, MOST_KERNEL_PAGE, round_up};
pub use memory::pagemap::Pagemap;
pub use memory::region::{MappedArray, Reservation};
pub use memory::request::Request;
pub use memory::safe_read::Peek;
pub use threads::cache_padded::CachePadded;
pub use threads::lock::{ForkLock, Lock, LockGuard};
pub use threads::thread::Thread;
pub use threads::thread_value::ThreadValue;
pub use threads::timed_lock::TimedLock;
