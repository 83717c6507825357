//! The operating system interface of Heapwood, for the crates of Heapwood alone; it changes with their needs.
//!
//! This is the lowest layer, and the only crate that makes system calls. Memory comes through the [`Kernel`] trait, so
//! tests can refuse requests and models can replace it; the other modules are thin wrappers that do not allocate.
//!
//! | room | module | contents |
//! |---|---|---|
//! | [`memory`] | [`kernel`](memory::kernel) | reserve, commit, decommit, release: the trait |
//! |  | [`linux`](memory::linux) | the trait over mmap, mprotect and madvise |
//! |  | [`request`](memory::request) | the kinds of requests |
//! |  | `address_slots`, `parts` | addresses for large reservations; which parts of these are mapped |
//! |  | [`region`](memory::region) | owned reservations and lazily committed arrays |
//! |  | [`mapped_box`](memory::mapped_box) | one value in mapped memory of its own |
//! |  | [`mapped_index`](memory::mapped_index) | a hash index in mapped memory |
//! |  | [`mapped`](memory::mapped) | the mappings of a value, for observers |
//! |  | [`page`](memory::page) | sizes of pages |
//! |  | [`pagemap`](memory::pagemap) | the pages of a range that were written to, or are in memory |
//! |  | [`safe_read`](memory::safe_read) | reads of memory that may be unmapped at any moment |
//! |  | `limits` | the limit that a refusal probably met |
//! | [`threads`] | [`thread`](threads::thread) | threads of the library, which take no signals of the program |
//! |  | [`thread_value`](threads::thread_value) | a thread-local word with a destructor |
//! |  | [`stack`](threads::stack) | the bounds of a thread's stack, and its registers as words on it |
//! |  | [`signal`](threads::signal) | signals to single threads |
//! |  | [`membarrier`](threads::membarrier) | an asymmetric fence |
//! |  | [`cancellation`](threads::cancellation) | calls in which the thread is not cancelled |
//! |  | [`futex`](threads::futex) | threads that sleep until a word changes |
//! |  | [`lock`](threads::lock) | a mutex on a futex |
//! |  | [`cache_padded`](threads::cache_padded) | values on cache lines of their own |
//! |  | [`sync`](threads::sync) | atomics and futexes, or those of loom |
//! |  | [`watched`](threads::watched) | atomics of mapped memory, which loom's models can watch |
//! | [`process`] | [`fork`](process::fork) | functions that run when the process forks |
//! |  | [`exit`](process::exit) | functions that run when the process exits |
//! |  | [`loaded`](process::loaded) | the libraries that the dynamic loader has loaded |
//! |  | [`clock`](process::clock) | monotonic time and CPU time |
//! |  | [`ticks`](process::ticks) | the processor's counter |
//! |  | [`usage`](process::usage) | resource usage and limits |
//! |  | `cgroup` | the memory limits of control groups |
//! |  | [`cores`](process::cores) | the processor cores that the process may use |
//! |  | [`file`](process::file) | small files read into fixed buffers; writing |
//! | [`diagnose`] | [`message`](diagnose::message) | writing to standard error without allocating |
//! |  | [`backtrace`](diagnose::backtrace) | return addresses on the stack, as text |
//! |  | [`task`](diagnose::task) | a thread's name and state, in words |
//! | | [`error`] | refusals of the system |

pub mod diagnose;
pub mod error;
pub mod memory;
pub mod process;
pub mod threads;

pub use error::{OsError, ThreadValueError};
pub use memory::kernel::{Kernel, KernelRef};
pub use memory::linux::{SYSTEM, System};
pub use memory::mapped::{Mapped, for_each_mapping_of};
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
