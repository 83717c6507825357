//! What Heapwood asks of the operating system.
//!
//! Who may use it: the crates of Heapwood alone; it changes with what they need.
//!
//! The lowest layer: the only crate that makes system calls. Memory sits behind the [`Kernel`] trait, so that
//! tests can refuse a request and models can stand in for it; the rest are thin, allocation-free wrappers.
//!
//! | module | what it holds |
//! |---|---|
//! | [`kernel`] | reserve, commit, decommit, release: the trait |
//! | [`error`] | why the system refused |
//! | [`request`] | what is asked for |
//! | [`linux`] | the trait over mmap, mprotect and madvise |
//! | [`faulty`] | a kernel that refuses on command, for tests |
//! | [`large_page_kernel`] | a kernel with larger pages, for tests |
//! | [`region`] | owned reservations and lazily committed arrays |
//! | [`mapped_box`] | one value in mapped memory of its own |
//! | [`mapped_index`] | numbers found by hash, in mapped memory |
//! | [`cache_padded`] | values on cache lines of their own |
//! | [`pagemap`] | which pages of a range were ever written to |
//! | [`page`] | sizes of pages |
//! | [`fork`] | what is to be done when the process forks |
//! | [`futex`] | threads that sleep until a word changes |
//! | [`sync`] | atomics and futexes, or loom's in their place |
//! | [`lock`] | a mutex on a futex |
//! | [`timed_lock`] | a mutex that knows how long it was held |
//! | [`task`] | what a thread is doing, in words |
//! | [`slow_thread`] | why a thread does not answer a signal |
//! | [`loaded`] | what the dynamic loader has loaded |
//! | [`safe_read`] | memory that may be unmapped at any moment |
//! | [`thread`] | threads of the library's own, which take no signals of the program |
//! | [`thread_value`] | a word a thread, and what happens to it when the thread exits |
//! | [`signal`] | signals to single threads, and what a handler needs to know |
//! | [`stack`] | where a thread's stack ends, and its registers as words on it |
//! | [`clock`] | monotonic time and CPU time |
//! | [`exit`] | what is to be done when the process exits |
//! | `limits` | which limit a refusal met |
//! | [`usage`] | what a process has used, and what the machine has |
//! | [`cgroup`] | what control groups allow |
//! | [`cores`] | how many processor cores a process may use |
//! | `file` | small files read into fixed buffers |
//! | [`membarrier`] | a fence for all threads at once |
//! | [`message`] | writing to standard error without allocating |

pub mod backtrace;
pub mod cache_padded;
pub mod cgroup;
pub mod clock;
pub mod cores;
pub mod error;
pub mod exit;
pub mod faulty;
mod file;
pub mod fork;
pub mod futex;
pub mod kernel;
pub mod large_page_kernel;
mod limits;
pub mod linux;
pub mod loaded;
pub mod lock;
pub mod mapped_box;
pub mod mapped_index;
pub mod membarrier;
pub mod message;
pub mod page;
pub mod pagemap;
pub mod region;
pub mod request;
pub mod safe_read;
pub mod signal;
pub mod slow_thread;
pub mod stack;
pub mod sync;
pub mod task;
pub mod thread;
pub mod thread_value;
pub mod timed_lock;
pub mod usage;

pub use cache_padded::CachePadded;
pub use error::{OsError, ThreadValueError};
pub use kernel::{Kernel, KernelRef};
pub use linux::{SYSTEM, System};
pub use lock::{ForkLock, Lock, LockGuard};
pub use mapped_box::MappedBox;
pub use mapped_index::MappedIndex;
pub use page::{HUGE_PAGE, LEAST_KERNEL_PAGE, MOST_KERNEL_PAGE, round_up};
pub use pagemap::Pagemap;
pub use region::{MappedArray, Reservation};
pub use request::Request;
pub use safe_read::Peek;
pub use thread::Thread;
pub use thread_value::ThreadValue;
pub use timed_lock::TimedLock;
