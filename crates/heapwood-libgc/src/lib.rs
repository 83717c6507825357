//! A drop-in for the Boehm collector's library: programs that were linked with libgc.so.1 run on Heapwood's collector. gc.h is the
//! reference; docs/guide/libgc.md says where this library differs, and has the state of each symbol.
//!
//! Invariants: the process has one heap, made when it is first of use (`process`); a thread's mutator is one word of thread-local
//! storage (`slot`); data symbols are live settings, read where they count (`settings`). Functions of the program are called by
//! "C-unwind", since they throw C++ exceptions, end their threads, or jump away.
//!
//! | module | contents |
//! |---|---|
//! | `list` | all that is exported, and the state of each |
//! | `symbols`, `variables`, `defaults` | the functions and variables made from it, and what the variables have at first |
//! | `types` | the types of gc.h |
//! | `slot` | a thread's mutator in thread-local storage |
//! | `process`, `start`, `registration` | the heap of the process, and the mutator of a thread; how both begin |
//! | `environment` | variables of the environment |
//! | `settings`, `live` | getters and setters; what the heap follows |
//! | `alloc` | allocation: the fast path and the slow one |
//! | `strings`, `aligned` | copies of strings; aligned objects |
//! | `kinds` | kinds of objects |
//! | `descriptors`, `procedures`, `bitmaps`, `typed` | what the words of an object are; mark procedures; typed objects |
//! | `chains` | many objects at once |
//! | `held` | objects that the collector does not free |
//! | `lookup`, `objects` | objects by their addresses, their end |
//! | `address_map` | a map from addresses, in mapped memory |
//! | `checks` | checks of pointers |
//! | `interior` | which pointers into objects keep them |
//! | `finalizers`, `links` | what is told of dead objects |
//! | `threads`, `pthreads`, `stacks`, `blocking`, `lock` | threads |
//! | `roots` | ranges of roots, data of libraries |
//! | `collections`, `phases` | asking for collections, what the program does in them |
//! | `sizes`, `stats` | the size of the heap, statistics |
//! | `log`, `report`, `printing` | texts, warnings, errors, lines about collections |
//! | `announce` | what `heapwood exec` is told |
//! | `stress` | collections at every n-th allocation |
//! | `debug`, `rest` | the nearest safe thing; nothing |

#[macro_use]
mod list;

mod address_map;
mod aligned;
mod alloc;
mod announce;
mod bitmaps;
mod blocking;
mod chains;
mod checks;
mod collections;
mod debug;
mod defaults;
mod descriptors;
mod environment;
mod finalizers;
mod held;
mod interior;
mod kinds;
mod links;
mod live;
mod lock;
mod log;
mod lookup;
mod objects;
mod phases;
mod printing;
mod procedures;
mod process;
mod pthreads;
mod registration;
mod report;
mod rest;
mod roots;
mod settings;
mod sizes;
mod slot;
mod stacks;
mod start;
mod stats;
mod stress;
mod strings;
mod symbols;
mod threads;
mod typed;
mod types;
mod variables;
