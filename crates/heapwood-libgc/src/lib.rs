//! A drop-in for the Boehm collector's library: programs that were linked with libgc.so.1 run on Heapwood's collector. gc.h is the
//! reference; docs/guide/libgc.md says where this library differs, and has the state of each symbol.
//!
//! Invariants: the process has one heap, made when it is first of use (`process`); a thread's mutator is one word of thread-local
//! storage (`slot`); data symbols are live settings, read where they count (`settings`). Functions of the program are called by
//! "C-unwind", since they throw C++ exceptions, end their threads, or jump away.
//!
//! | folder | contents |
//! |---|---|
//! | `exports` | `list`: all that is exported, and the state of each; the functions and variables made from it; the types of gc.h; `debug` and `rest`: the nearest safe thing, and nothing |
//! | `process` | the heap of the process, and the mutator of a thread: how both begin (`start`, `registration`), and where a thread keeps its own (`slot`); variables of the environment; `stress`: collections at every n-th allocation; `announce`: what `heapwood exec` is told |
//! | `settings` | getters and setters; what the heap follows (`live`); the size of the heap |
//! | `objects` | allocation: the fast path and the slow one (`alloc`), kinds, many at once (`chains`), objects that the collector does not free (`held`); objects by their addresses (`lookup`) and which pointers into them keep them (`interior`); checks of pointers |
//! | `descriptors` | what the words of an object are; mark procedures; typed objects |
//! | `finalizers` | what is told of dead objects; links |
//! | `threads` | registration, `pthread_create` and its like, stacks, blocking, the allocation lock |
//! | `roots` | ranges of roots, data of libraries |
//! | `collections` | asking for collections, what the program does in them (`phases`), statistics |
//! | `report` | warnings, errors, texts, lines about collections |

mod collections;
mod descriptors;
mod exports;
mod finalizers;
mod objects;
mod process;
mod report;
mod roots;
mod settings;
mod threads;
