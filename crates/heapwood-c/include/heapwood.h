/* heapwood.h - a garbage-collected heap for language implementers. C11 or C++11, Linux, 64 bits.
 *
 * Conventions
 *
 *   A heap is a value: there can be several, and pointers from one into another keep nothing alive. A thread joins a
 *   heap with hw_attach and passes the hw_mutator it gets to everything it does there. Only that thread uses that
 *   mutator. Objects never move, and none need be freed by hand, though one can be (hw_free): an object lives while a root
 *   leads to it.
 *
 *   Functions that can be refused return an hw_status, HW_OK being 0, or NULL, and then have changed nothing. The
 *   reason in words is kept by the mutator (hw_last_error); functions that have no mutator put it into *why, too, which may
 *   be NULL; after success *why holds HW_OK and an empty text. No function prints, exits or unwinds, except that verify
 *   mode, hw_options_env and the option trace report to standard error, and a heap that is found to be corrupt says
 *   there what is wrong and aborts.
 *
 *   Structs begin with their size, so that programs and libraries of different versions understand each other.
 *   A parameter called slot or slots is the address of variables that hold pointers: pass &node->left, no cast.
 *   Pointer parameters must not be NULL unless it says so; a NULL heap, mutator, callback or output is HW_EINVAL
 *   wherever a status is returned.
 *
 *   What allocates, collects, detaches or begins a blocking region is refused with HW_ESTATE, and hw_last_error says why,
 *   inside a trace function, on another thread than the mutator's, and after hw_detach (where that can be told; with
 *   verify it always can); inside hw_call_blocking, of whichever of the thread's heaps, what allocates or collects is; and what
 *   collects or begins a blocking region is on a stack that the heap does not know (promise 5). Allocation looks where a run of
 *   cells is used up: the inline functions go on until then, but with verify a blocking region leaves them no run.
 *
 * What a program promises
 *
 *   1. Roots. "May collect" below means: when the function returns, an object that no root led to may be gone. Roots
 *      are registered slots and ranges, handles, linked frames, and, unless conservative_stacks is 0, whatever in the
 *      stacks and registers of attached threads looks like the address of an object or of a byte inside one.
 *      A pointer kept only in malloc'd memory, thread-local variables or unattached threads is not seen. (A thread-local
 *      variable of some threads may happen to lie next to their stack, and be seen there: do not rely on it.) Compilers
 *      with AddressSanitizer may move variables off the stack (fake stacks, detect_stack_use_after_return=1, the default
 *      of newer clangs), where they are not seen either: set it to 0, or use frames.
 *   2. Pointer slots. Root slots, frame slots and the words a type's mask names hold NULL, an address outside the heap, or
 *      the address an allocation returned, and handles NULL or such an address: never one into the middle of an object, or of
 *      an object that is gone. Pointers into the middle count in stacks, in ranges and in conservative types; one past an object's
 *      end is not in it.
 *   3. Stores. A pointer is stored into an object with hw_write, hw_copy or hw_cas, and into a handle with
 *      hw_handle_set. A new object may be filled with plain stores until the next poll, blocking region or allocation of
 *      its thread: one that is filled beside allocations is filled with hw_write. This goes for every word that keeps
 *      something alive: those a mask names, all of conservative types, and what a trace function reads in whatever form,
 *      such as a pointer with a tag. A store that goes around this loses objects: verify finds it. (With generational off no
 *      collection of today relies on it, but it is promised all the same, and verify asks for it, unless stop is HW_STOP_SIGNALS.)
 *      Plain stores to root slots, ranges, frame slots and local variables are always right; so each collection, young ones
 *      included, looks at all of them. Of handles young ones look at those made or set since the last.
 *   4. Polls. Unless the heap stops threads by signals (below), a collection waits until every attached thread calls
 *      hw_safepoint, uses up a run of cells, or is inside hw_call_blocking. So a loop that can go on for long with few
 *      allocations polls, and whatever waits (system calls, locks that another attached thread may hold, sleep, pthread_join)
 *      happens inside hw_call_blocking.
 *   5. Stacks. A thread uses the heap on the stack that it was attached with, and on stacks that are registered
 *      (hw_stack_range_add) and to which it switches by announcement (hw_stack_switch): those of fibers and coroutines. A
 *      registered stack is scanned, whether or not a thread is on it. On a stack that the heap does not know hw_write and
 *      allocation may be used, but what would collect, and hw_call_blocking, is refused with HW_ESTATE; no thread is
 *      stopped there, so a collection that another thread began waits until this one is back; and what only such a stack refers to
 *      is gone at the next collection, unless the words are a registered range or linked frames. After longjmp, or an
 *      exception, frames of functions that were left must not be linked any more: save m->frames at setjmp, and store it
 *      back after the jump. Nothing can jump out of hw_call_blocking or a trace function.
 *   6. Threads. An object made by one thread is passed to another through something that orders memory: hw_write, hw_copy or
 *      hw_cas into another object, a handle, a lock, or a store with release order. No function may be called from a signal handler. A thread that ends attached is detached
 *      as it ends: what it kept only in its stack or frames is kept no more. A process may fork, whatever
 *      its threads and heaps are doing: fork waits until no thread is between two steps of the library, not for collections. The child
 *      has the thread that forked, attached as it was; the other threads are detached there, and what only they kept is kept no more.
 *      It can use its heaps, attach threads, and end them. (A trace function that forks has its child call exec.)
 *
 * Stops by signals: the option stop = HW_STOP_SIGNALS
 *
 *   A collection sends each attached thread that is not inside hw_call_blocking a signal, SIGURG unless the option
 *   stop_signal names another, whose handler waits until the collection is over. So it waits for no loop and no system call, and
 *   no code needs to know of it: foreign code that never polls, or code of a compiler without barriers. In exchange:
 *
 *   - Between any two instructions of an attached thread a collection may happen; "may collect" can be read into every line. What
 *     registers and stack hold keeps objects alive, as always; what is kept elsewhere must be in a root before the last copy in
 *     a register is gone. Slots hold what promise 2 says at every moment, not only at polls.
 *   - Promise 3 falls away: objects may be filled and changed by plain stores at any time, and hw_write, hw_copy and hw_cas are
 *     not needed, though right. (Handles are still changed with hw_handle_set.) There are no young collections: generational
 *     is off or auto, which then means off; always is refused with HW_EINVAL.
 *   - Promise 4 falls away: hw_safepoint is not needed, and costs its load and branch. Blocking regions are still good: no
 *     signal is sent into them, so system calls there are not interrupted; what the thread has set aside goes back while it waits;
 *     and a heap is collected when idle only if all threads are in one.
 *   - Stacks are scanned: conservative_stacks = 0 is refused with HW_EINVAL.
 *   - Trace functions see objects at every point of their initialisation: each word is zero or what was written there, in
 *     whatever order the compiler has left. They must not allocate, take locks or print with stdio: a thread that was stopped may
 *     hold the lock of malloc, or of stdout, and they would wait for it for good.
 *   - System calls that the kernel cannot restart return EINTR, as for any handler; the others go on (SA_RESTART). signal(7) lists
 *     those that are never restarted: accept, connect, recv, send and theirs on sockets with a timeout (SO_RCVTIMEO, SO_SNDTIMEO);
 *     pause, sigsuspend, sigtimedwait, sigwaitinfo; epoll_wait, epoll_pwait, poll, ppoll, select, pselect; msgrcv, msgsnd,
 *     semop, semtimedop; clock_nanosleep, nanosleep, usleep; io_getevents; and sleep, which returns the seconds that are left.
 *     Call them inside hw_call_blocking, or again.
 *   - The signal is not blocked for long by attached threads, nor taken by sigwait or signalfd, and its handler is not replaced;
 *     what the program had wanted of the signal before the heap was made still happens when others send it. When a thread has not
 *     answered for a second, standard error says so by its name, that of the signal, and whether that has another handler now:
 *     "heapwood: a collection waits for ...: for 1 s it has not answered SIGURG (23)"; again after 2, 4, 8.. seconds, and the
 *     collection goes on waiting.
 *   - Every stack has room for one signal frame (sysconf(_SC_MINSIGSTKSZ), up to 12 KiB on processors with large registers)
 *     and 4 KiB: the thread's own, fibers', and alternate ones. A handler of the program's on an alternate stack (SA_ONSTACK)
 *     may be interrupted, and what it had interrupted is scanned; not so with SS_AUTODISARM, where it is waited for. So is every
 *     handler that interrupted the library itself: it must not wait for another attached thread.
 *   - A stack that is not the thread's own is attached with both bounds, by hw_attach_bounds: hw_attach refuses one of which only
 *     the end is given.
 */
#ifndef HEAPWOOD_H
#define HEAPWOOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
#define HW_STATIC_ASSERT(what, text) static_assert(what, text)
extern "C" {
#else
#define HW_STATIC_ASSERT(what, text) _Static_assert(what, text)
#endif

#define HW_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HW_COLD __attribute__((cold))

/* The version this header belongs to: major << 16 | minor << 8 | patch. hw_version tells the library's. Equal majors
 * fit together, and while the major is 0, equal majors and minors. */
#define HW_VERSION 0x000200
uint32_t hw_version(void);

typedef struct hw_heap hw_heap;       /* a heap */
typedef struct hw_mutator hw_mutator; /* a thread's part in a heap; its beginning is given below */
typedef struct hw_arena hw_arena;     /* an arena; its beginning is given below */
typedef struct hw_stack hw_stack;     /* a registered stack */
typedef struct hw_tracer hw_tracer;   /* the collector, as a trace function sees it */
typedef uint32_t hw_type;             /* a registered type, never 0; it fits an immediate in machine code */
typedef uint64_t hw_root;             /* a registered root, never 0 */

/* ---------------------------------------------------------------------------------------------------- outcomes -- */

typedef enum hw_status {
    HW_OK = 0,
    HW_ENOMEM = -1, /* the system gave no memory */
    HW_ELIMIT = -2, /* no room left: the heap's limit, its address range, or the process's control group */
    HW_EINVAL = -3, /* an argument is wrong */
    HW_EDESC = -4,  /* a type's description is wrong */
    HW_ESTATE = -5, /* not now, or not here: see above; threads are attached; the thread is attached already */
    HW_ENOSYS = -7, /* the system does not tell where the thread's stack ends, or its pages have more than 64 KiB */
    HW_EFULL = -10  /* a table of the heap is full: types, layouts, programs, roots, stacks, handles */
} hw_status;

/* Why something was refused. The text is a sentence without its full stop; one that is too long ends in "..". */
typedef struct hw_error {
    hw_status status;
    char text[252];
} hw_error;

/* The name and meaning of a status; never NULL. */
const char *hw_strstatus(hw_status status);

/* Why a function last refused this mutator, or its thread, where a function of its heap has no mutator (hw_root_slots, hw_type_mask,
 * ..); HW_OK and an empty text if none has. Owned by the mutator, and changed by the next refusal. On another thread, or after hw_detach, it says that. */
const hw_error *hw_last_error(const hw_mutator *m);

/* ------------------------------------------------------------------------------------------------------- heaps -- */

/* A heap reserves addresses (ulimit -v counts them: without address_space it takes a quarter of that at most for objects, rounded
 * up to a power of two, and while it is made leaves an eighth, 12 to 256 MiB, to the program) and takes memory as objects
 * need it. Unless background_release is 0 it starts a thread, on which none of the program's code runs but trace functions,
 * when it collects a heap that is idle: it blocks all
 * signals but those that an error of its own raises (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS) and SIGPROF. If the
 * system starts none, the heap goes on without. min_heap is what small programs pay: no collection of everything is due
 * before that much was allocated, so a program whose live objects take 20 KB has 7.5 MiB resident with the default of 4 MiB,
 * 2 of them before it makes a heap.
 *
 * Collections are of everything, or young: those look only at what was made since the last, and leave what is older. A heap
 * has young ones while they pay (option generational).
 *
 * A heap without a limit of its own stays within the memory control groups of the process, which the kernel ends for
 * exceeding them: its objects take up at most seven eighths of what they allow, and then allocation is refused with
 * HW_ELIMIT. It aims to stay a tenth below, with all else that is resident, and collects more often for that.
 *
 * When more than 15/16 of the limit (or of those seven eighths) were alive at the last collection, another would find
 * little. Then those that allocations need take at most half of the time: one that is due too soon is put off, until
 * nothing fits, and then allocation returns NULL without collecting, although a collection might have freed some. Whoever
 * drops something and tries again may get a collection all the same. hw_collect always collects, and does not count. */

/* Switches are 1 (on) or 0 (off). Sizes are bytes. What stands between the marks is made of the library's one list of
 * options; docs/guide/options.md has it, too. */
/* The option trace: what a heap tells. */
#define HW_TRACE_COLLECTIONS 1u
#define HW_TRACE_PHASES 2u
#define HW_TRACE_OFF 4u
/* The option generational: whether there are young collections. */
#define HW_GENERATIONAL_OFF 0u
#define HW_GENERATIONAL_AUTO 1u
#define HW_GENERATIONAL_ALWAYS 2u
/* The option stop: how collections stop threads. */
#define HW_STOP_POLLS 0u
#define HW_STOP_SIGNALS 1u

/* generated: options */
typedef struct hw_options {
    /* Of this struct: set by hw_options_init. */
    size_t size;
    /* No full collection is due while the heap is smaller than this. If memory is bounded, it is at most an eighth
       of the bound. Default: 4 MiB. */
    uint64_t min_heap;
    /* The bytes that objects may occupy, in whole pages. Allocation fails above it. If more than 15/16 of it is
       live, collections take at most half of the time; in between, allocation fails even if another collection
       might have made room. Range: at least 4 MiB. Default: 0, no limit of its own. */
    uint64_t limit;
    /* The address space to reserve for objects, rounded up to a power of two. It costs no memory, but ulimit -v
       counts it. Range: 16 MiB to 16 TiB. Default: 0, twice the memory there is (at least 4 GiB), or twice the
       limit and 64 MiB if that is less; a quarter of ulimit -v at most, and less if the kernel refuses. */
    uint64_t address_space;
    /* The most that may be allocated between full collections, in percent of the live bytes at the last one. It is
       less, down to 30, while collections take less than 7 % of CPU time, and from 256 MiB on by the heap's size;
       a small heap may grow to 32 MiB. More costs memory, less costs time. Range: 1 to 100000. Default: 150. */
    uint32_t percent;
    /* Ask the kernel for huge pages behind objects, once the heap is larger than 8 MiB and while their first touch
       is fast. Without this the heap gets none, whatever the system's setting. Default: on. */
    uint32_t huge_pages;
    /* Scan the stacks and registers of attached threads, and treat every word that looks like a pointer as one.
       Without this only frames, handles and other precise roots keep objects alive. The Rust interface always
       scans them. Default: on. */
    uint32_t conservative_stacks;
    /* Check the whole heap at every collection, fill freed memory, and report stores that bypassed the barrier. It
       also reports, on standard error, threads that keep a collection waiting for a second, and aborts the program
       if the heap is corrupt. Slow. Default: off. */
    uint32_t verify;
    /* Collect at every allocation. Very slow. Default: off. It is for tests and measurements of this library. */
    uint32_t stress;
    /* Return unused memory to the kernel, in a thread of the heap's own that takes at most a hundredth of one CPU
       for it. The thread also sweeps after collections, for at most a quarter. Default: on. */
    uint32_t background_release;
    /* The most words of a type, given as a program or as text, that the heap stores as a mask, which is faster
       (docs/design/layout.md). Range: 0 to 256. Default: 256. It is for tests and measurements of this library. */
    uint32_t mask_words;
    /* The edges that the mark stack holds before it overflows to a slower method. Range: 1 to 268435456. Default:
       0, by the size of the address space. It is for tests and measurements of this library. */
    uint32_t mark_stack;
    /* The memory that the process may have, which bounds a heap without a limit of its own. The heap tries to keep
       the process a tenth below it; its objects take up at most seven eighths. Range: at least 16 MiB. Default: 0,
       what the memory control groups of the process allow, if that is less than the machine has. */
    uint64_t process_memory;
    /* Report collections on standard error: 1, a line after each, in the format of Go's gctrace; phases, the total
       times of their phases, when the heap or the process ends; 1+phases, both; off, nothing. In C they are
       HW_TRACE_COLLECTIONS (1), HW_TRACE_PHASES (phases), their sum, and HW_TRACE_OFF (off). Default: 0, what the
       variable HEAPWOOD says of it, and otherwise nothing. */
    uint32_t trace;
    /* The threads that mark: the collecting one, and helpers that sleep between collections. 1 means no helper. If
       this is set, all of them mark in every full collection, however small the heap. Range: 1 to 128. Default: 0,
       as many as the processor cores that the process may use, where marking takes long enough. */
    uint64_t mark_threads;
    /* Collect an idle heap, so that the memory of unreachable objects goes back to the kernel: ten seconds after
       the last collection, and only while all its threads are in blocking regions. It needs background_release.
       Default: on. */
    uint32_t idle_collection;
    /* Young collections, which look only at objects allocated since the last one: auto, while they are profitable;
       off, never; always, for tests. While there are any, each store of a pointer into an object takes the slow
       path of the write barrier. Range: auto (1), off (0) or always (2). Default: auto. */
    uint32_t generational;
    /* How collections stop threads: polls, where they allocate, poll or are in blocking regions; signals, by a
       signal, anywhere. With signals there are no young collections, stores need no write barrier, and stacks are
       scanned. Range: polls (0) or signals (1). Default: polls. */
    uint32_t stop;
    /* The signal that stops threads, by its number or name. Signals that the heap did not send still have the
       effect that the program had set before it made the heap. Range: 1 to 64, or a name such as SIGUSR1. Default:
       0, SIGURG, at which nothing happens by default. */
    uint32_t stop_signal;
    /* Treat every word in the writable data of the program and of all loaded libraries as a pointer if it looks
       like one, as libraries come and go. Thread-local variables are not included. Each collection reads all of
       it, while threads are stopped. Default: off. */
    uint32_t library_roots;
    /* Raise SIGSEGV in a thread that reads or writes an arena after it was freed, until a full collection has
       found no pointer to it. The next arena never gets a freed arena's memory at once, whatever was promised, so
       arenas need far more system calls and page faults (docs/design/arenas.md). The option verify does this, too,
       and reports the arena. Default: off. */
    uint32_t arena_faults;
} hw_options;
/* end: options */

/* Sets every option to its default. */
void hw_options_defaults(hw_options *options, size_t size);
static inline void hw_options_init(hw_options *options) { hw_options_defaults(options, sizeof *options); }

/* Changes options by the environment variable HEAPWOOD=key=value,key=value, such as HEAPWOOD=percent=100,limit=2GiB: a key is
 * the name of a field, a value a number, a size, or on or off. What of it cannot be used is told on standard error, by name,
 * and changes nothing. Without the variable nothing is changed. A program that wants its users to tune its heap calls this
 * between hw_options_init and hw_heap_create, and sets afterwards what they shall not. No other function reads the variable,
 * but hw_heap_create for the option trace, if that is 0. HW_EINVAL if an option was out of range before. */
hw_status hw_options_env(hw_options *options, hw_error *why);

/* Makes a heap; NULL options are the defaults. HW_EINVAL names the option that is wrong. HW_ENOMEM: no addresses or memory
 * for its tables, or no limit of its own and memory control groups that allow less than 16 MiB; HW_ENOSYS: the kernel's
 * pages have more than 64 KiB. The options are copied. */
hw_status hw_heap_create(const hw_options *options, hw_heap **out, hw_error *why);

/* Ends a heap and frees all its memory, whatever still points to it. HW_ESTATE while threads are attached, and *why says
 * how many: the heap then goes on as before. NULL is HW_OK. */
hw_status hw_heap_destroy(hw_heap *heap, hw_error *why);

/* ----------------------------------------------------------------------------------------------------- threads -- */

/* Attaches the calling thread, which may wait for a collection. stack_hi is one past the highest word of its stack
 * that may hold pointers; NULL asks the system, and HW_ENOSYS means that it does not say. HW_ESTATE if the thread is
 * attached to this heap already; HW_ENOMEM also if the process has no key for a thread-specific value left. With a
 * stack_hi of another stack than the system gave the thread, that another is in use is only known above stack_hi. A
 * thread may be attached to several heaps: while it waits in one (to collect, or to be stopped) it counts as stopped in
 * all that it was attached to on this stack, and where it allocates in one it answers the collections of all. A thread
 * that uses one of them for long without allocating polls the others, too. */
hw_status hw_attach(hw_heap *heap, void *stack_hi, hw_mutator **out, hw_error *why);

/* The same on a stack from stack_lo (its lowest byte) to stack_hi (one past the highest word that may hold pointers), which need
 * not be one that the system knows: a fiber's, one that another library's runtime has allocated. HW_EINVAL if the calling
 * function is not on it. */
hw_status hw_attach_bounds(hw_heap *heap, void *stack_lo, void *stack_hi, hw_mutator **out, hw_error *why);

/* The mutator of the calling thread, which is attached (on the stack that the system gave it) if it was not: for callbacks on
 * threads that the program did not start. Nobody needs to detach it: that happens as the thread ends. In between it is an
 * attached thread like all, which with stops by polls is waited for: one that may go on for long elsewhere detaches itself
 * before it returns, or waits in hw_call_blocking. HW_ESTATE inside hw_call_blocking and trace functions, where a mutator cannot
 * be used; otherwise as hw_attach. */
hw_status hw_attach_if_needed(hw_heap *heap, hw_mutator **out, hw_error *why);

/* The mutator of the calling thread; NULL if it is not attached to this heap. A few steps: a thread keeps its mutator where it
 * can, but code that fibers run asks again after each switch. */
hw_mutator *hw_self(hw_heap *heap);

/* Detaches the calling thread, and ends the mutator: it must be the last use of it, for another thread may get it next.
 * Its frames are dropped; objects live on as other roots demand. A thread that ends without it is detached then. HW_ESTATE
 * on any other thread, and inside a trace function. */
hw_status hw_detach(hw_mutator *m);

/* The heap a mutator belongs to. */
hw_heap *hw_mutator_heap(const hw_mutator *m);

/* Calls fn(arg), during which collections go on without this thread, in all heaps that it is attached to. fn returns in
 * the ordinary way (no longjmp, no exception), and touches neither objects of those heaps, nor their roots, nor the
 * thread's mutators, except that it may call this again, and attach to another heap, which it may use. With HW_ESTATE fn
 * was not called. May collect. */
hw_status hw_call_blocking(hw_mutator *m, void (*fn)(void *arg), void *arg);

/* ------------------------------------------------------------------------------------------- stacks of fibers -- */

/* A fiber's stack is registered when it has been allocated, and removed before its memory is freed. Each switch is announced, with
 * the thread's registers on the stack that it leaves; so the words in use of a stack that was left are known, and are
 * scanned like those of the stacks that threads are on, conservatively (with conservative_stacks = 0, too). With ucontext:
 *
 *     struct swap { ucontext_t *from, *to; };
 *     static void jump(void *arg) { struct swap *s = arg; swapcontext(s->from, s->to); }
 *
 *     hw_stack_range_add(heap, memory, memory + size, &fiber->stack, &why);
 *     ...
 *     hw_stack_switch(m, fiber->stack, jump, &(struct swap){&here, &fiber->context});    // to the fiber
 *     hw_stack_switch(m, NULL, jump, &(struct swap){&fiber->context, &here});            // on it: back to the thread's own
 *
 * - A fiber may be left by one thread and resumed by another, which is attached, too: then its code goes on with the other's
 *   mutator (hw_self). Nobody resumes a fiber before the thread that leaves it has left it: so who puts it on a list for others
 *   does that on another stack, after the switch.
 * - Until a fiber has begun nothing of its stack is in use. What makecontext passes to it is seen by no collection: let a root
 *   lead to it, or the stack of whoever starts it, until the fiber runs.
 * - A collection runs on the stack of the thread that allocates, in at most 32 KiB beside what trace functions take.
 * - Of a stack that is used again for another fiber the words that its last one had in use are scanned until the next leaves it.
 * - Frames (hw_frame_push) are linked through the mutator, so with frames each switch saves m->frames and stores that of the
 *   stack that is gone to. Those of a fiber that waits are not seen as frames: its stack is scanned.
 * - A thread that is attached to several heaps announces each switch to each whose objects it uses there: hw_stack_switch to one,
 *   and in jump hw_stack_announce to the others, with an address of jump's frame.
 * - Exceptions and longjmp do not leave a stack; and a thread does not detach or end on a registered one. */

/* Registers the stack from low to high, which stays readable until it is removed. Nothing of it is in use yet. HW_EINVAL if high
 * is not above low, HW_EFULL if there are too many (1048576 where addresses are plenty), HW_ENOMEM. Any thread may call this. */
hw_status hw_stack_range_add(hw_heap *heap, void *low, void *high, hw_stack **out, hw_error *why);

/* Removes a stack: nothing of it is scanned any more. HW_ESTATE while a thread is on it or has announced that it goes there;
 * HW_EINVAL if it was removed before. (Once its name is another stack's, that is what is removed.) Any thread may call this. */
hw_status hw_stack_range_remove(hw_heap *heap, hw_stack *stack, hw_error *why);

/* Pushes the registers onto the stack, announces that the thread goes to another (NULL: the one that it was attached with), and
 * calls jump(arg), which does nothing but go there: it holds no objects of its own. Returns when somebody has switched back to
 * this stack, perhaps on another thread: so m is not used afterwards unless the fiber stays on its thread. With another status
 * than HW_OK jump was not called. HW_ESTATE: another thread is on that stack, or this one is not on the stack that it was said to be
 * on; HW_EINVAL: it was removed. It does not collect. */
hw_status hw_stack_switch(hw_mutator *m, hw_stack *to, void (*jump)(void *arg), void *arg);

/* The same for runtimes that push the registers and switch themselves (compilers, assembly): announces that the thread is about
 * to go to another stack, and that of the one it is on the words from sp on are in use, among them all registers that it wants
 * back. What follows is the switch, and no other use of the heap. */
hw_status hw_stack_announce(hw_mutator *m, hw_stack *to, void *sp);

/* ------------------------------------------------------------------------------------------------------- types -- */

/* A type is registered for one heap, from any thread, and lasts as long as that heap; its number means nothing to
 * another. Types that are described alike get the same number. Sizes are at least 1, and multiples of 8 where there
 * may be pointers. HW_EDESC tells what is wrong with a description; HW_EFULL, which table is full: 262143 types, 4096
 * programs (fewer if they are long: 1 MiB of them, or if they are of many different arrays: 131072 loops and parts of
 * arrays in all), or 16074 layouts. Types of one size class (hw_base tells how long its cells are) with the same
 * pointers have one layout, and arrays of elements with the same pointers one for each size class; types without
 * pointers, conservative ones, and masks of types of up to four words count for none. Registering a type takes a few
 * steps however many there are, and so does asking for a known one. */

/* Objects without pointers. The memory of new ones is not zeroed. */
hw_status hw_type_no_pointers(hw_heap *heap, size_t size, hw_type *out, hw_error *why);

/* Word i of an object (8 bytes) is a pointer slot if bit i % 64 of mask[i / 64] is set; only the first 256 words can
 * be. mask may be shorter than the type, and is copied. One with more words than the type has words for is refused (HW_EDESC), even
 * if they are 0: it was made for another type. */
hw_status hw_type_mask(hw_heap *heap, size_t size, const uint64_t *mask, size_t mask_words, hw_type *out,
                       hw_error *why);

/* The mask of one field among the first 64 words: HW_POINTER(struct node, left) | HW_POINTER(struct node, right). */
#define HW_POINTER(type, field) (UINT64_C(1) << (offsetof(type, field) / 8))

/* A program says where the pointers of a large type are, one bit a word, in a few bytes: emit some bits, repeat the last
 * n bits c more times (docs/design/layout.md has the encoding, byte by byte). It is copied. HW_EDESC names the byte at fault. Of an
 * object of 1 GiB and more nothing is touched when it is allocated, and pages that were never written are not read by
 * collections. */
hw_status hw_type_program(hw_heap *heap, size_t size, const void *program, size_t length, hw_type *out,
                          hw_error *why);

/* The same, made of a text: "ptr" is a pointer, "word" any other word, "[n]" before a type an array of n of it, and
 * "{ ... }" a struct of the types in it: "{ word ptr [100]{ptr word word} [1<<28]ptr }". Stores the size in bytes unless
 * size is NULL. A text has at most 128 items ("ptr", "word", brackets with what is in them), at most 16 in each other.
 * HW_EDESC names the byte of the text, or what is wrong with the type. */
hw_status hw_type_describe(hw_heap *heap, const char *text, size_t *size, hw_type *out, hw_error *why);

/* Any aligned word of an object may be a pointer, to or into an object. */
hw_status hw_type_conservative(hw_heap *heap, size_t size, hw_type *out, hw_error *why);

/* A function finds an object's pointers. size is that of the object's memory, at least the type's. It is called during
 * collections, on any thread and more than once, and must accept an object of zeros. Several threads of the library's own,
 * with 256 KiB of stack, may run it at once, for different objects or for the same (option mark_threads): what it changes
 * beside its variables, it must guard, and no other thread's thread-local variables are there. It may run while the program's
 * threads change the object: what it reads of it may be old or new, word by word, in any order. So it must be right for
 * each mixture (a count that is raised after the slot was written, or an end that is read once and tested), and read
 * each pointer once, in one piece: hw_visit does, given the address of the slot; a tagged pointer may be read into a
 * variable, cleared of its tag there, and that variable's address given. It reads the object, memory outside the heap that is the
 * object's, and what does not change; of other objects it reads nothing, though they are there: each is looked at by its own type.
 * Nothing says how often, or whether, it is called for an object that is alive. It calls only the two functions below, and
 * returns in the ordinary way. With stops by signals it takes no lock and calls neither malloc nor stdio. */
typedef void (*hw_trace_fn)(void *object, size_t size, hw_tracer *tracer);
hw_status hw_type_trace(hw_heap *heap, size_t size, hw_trace_fn trace, hw_type *out, hw_error *why);

/* For trace functions: what the pointer slot holds is alive. */
void hw_visit(hw_tracer *tracer, const void *slot);

/* For trace functions: whatever the aligned words from lo up to hi point to, or into, is alive. */
void hw_visit_range(hw_tracer *tracer, const void *lo, const void *hi);

/* ------------------------------------------------------------------------------------------------------- roots -- */

/* Registering returns 0, and *why says why, if an argument is wrong (HW_EINVAL), if 65536 roots are registered
 * (HW_EFULL), or if there is no memory for more (HW_ENOMEM). The memory stays readable until the root is removed. Any
 * thread may call these; they take a few steps however many roots there are.
 *
 * All words of slots and ranges are read at every collection while all threads are stopped, as are handles that are held,
 * whether or not they have changed: 1 ns for a word without an object, 8 to 20 ns for one that leads to an object, so a
 * million of them make each stop 8 to 20 ms longer. Many pointers that seldom change belong in an array of the heap that
 * one slot leads to. */

/* n pointer slots, one after another. */
hw_root hw_root_slots(hw_heap *heap, const void *slots, size_t n, hw_error *why);

/* The aligned words from lo up to hi, whatever they hold. */
hw_root hw_root_range(hw_heap *heap, const void *lo, const void *hi, hw_error *why);

/* The writable data of the shared library that holds address (of a function or a variable of its own, not of one that it
 * took from another), or of the program if it is in that: every aligned word of them, whatever it holds. They are roots
 * until hw_root_remove, or until the library is closed: once dlclose has unloaded it, the next collection removes the root,
 * which need not be removed then, and is not (HW_EINVAL). Each call makes a root of its own. What the library keeps
 * elsewhere is not among them: thread-local variables, what it has from malloc. libheapwood.so's own data refer to no
 * objects. HW_EINVAL if address is in no library that is loaded, HW_ENOMEM if there is no thread for it either: a heap
 * with such roots has one more thread, which asks the dynamic loader what is loaded. A callback of dl_iterate_phdr must not
 * allocate in such a heap or collect it: it has the loader's lock. Libraries opened by dlmopen are not seen. */
hw_root hw_roots_add_dso(hw_heap *heap, const void *address, hw_error *why);

/* HW_EINVAL if the root was removed before. */
hw_status hw_root_remove(hw_heap *heap, hw_root root, hw_error *why);

/* A handle: a pointer slot that the heap owns, holding object (or NULL). It outlives the mutator, and any attached
 * thread may read *handle until it is freed, and change it with hw_handle_set; plain stores to *handle are forbidden.
 * NULL, with the reason in hw_last_error, if as many are held as the heap can have (HW_EFULL: one for each 256 bytes of
 * its address range, at most 16777216) or there is no memory for more. */
void **hw_handle_new(hw_mutator *m, void *object);

/* *handle = object (or NULL), with release order. HW_EINVAL if the handle is not one of this heap that is held, or object is
 * neither NULL nor the address of an object or of something in an arena. It does not collect. */
hw_status hw_handle_set(hw_mutator *m, void **handle, void *object);

/* Frees a handle, whoever made it. HW_EINVAL if it is not held; NULL is HW_OK. */
hw_status hw_handle_free(hw_mutator *m, void **handle);

/* A frame of the shadow stack: count pointer slots, usually local variables. It is linked with hw_frame_push and
 * unlinked with hw_frame_pop before the function that holds it returns, last in, first out. One that is linked is not linked
 * again: the next collection would find it below itself, and ends the process, saying so.
 *
 *     struct node *local[2] = { NULL, NULL };
 *     hw_frame frame;
 *     hw_frame_push(m, &frame, local, 2);
 *     ...
 *     hw_frame_pop(m, &frame);
 *
 * While a frame is linked, its slots and its count may change at any time: an interpreter's value stack is one frame for
 * the life of the thread. Store a slot's value before the count that includes it. */
typedef struct hw_frame {
    struct hw_frame *prev;
    size_t count;
    const void *slots;
} hw_frame;

/* ----------------------------------------------- the part of a mutator that machine code may use: it is frozen -- */

/* Where a mutator allocates cells of one layout and size class. cursor to limit is a run of free cells, a multiple of
 * cell bytes long; storing cursor + cell takes the first of them. That one store commits: from then on the
 * object exists, and the collector may scan it. It is one store, at its place in the program: machine code neither delays
 * it nor makes one of two. Cells that may hold pointers are zero before they are taken. Without a
 * run, cursor equals limit, and cell may be 0: so test cursor < limit, not whether a cell fits. */
typedef struct hw_bump {
    volatile uintptr_t cursor;
    uintptr_t limit;
    uint32_t cell;
    uint32_t reserved[3];
} hw_bump;

#define HW_BUMPS 16384

/* A mutator begins like this; more follows. A type's bump is bumps[type % HW_BUMPS]; that of a type too large for
 * cells never has a run. */
struct hw_mutator {
    volatile uint32_t poll;    /* not 0: call hw_safepoint_slow */
    volatile uint32_t barrier; /* not 0: stores of pointers go through hw_write_slow */
    hw_frame *volatile frames; /* the topmost frame */
    uintptr_t reserved[6];
    hw_bump bumps[HW_BUMPS];
};

HW_STATIC_ASSERT(sizeof(void *) == 8, "Heapwood needs 64-bit pointers");
HW_STATIC_ASSERT(offsetof(hw_mutator, poll) == 0 && offsetof(hw_mutator, barrier) == 4, "frozen");
HW_STATIC_ASSERT(offsetof(hw_mutator, frames) == 8 && offsetof(hw_mutator, bumps) == 64, "frozen");
HW_STATIC_ASSERT(offsetof(hw_bump, cursor) == 0 && offsetof(hw_bump, limit) == 8, "frozen");
HW_STATIC_ASSERT(offsetof(hw_bump, cell) == 16 && sizeof(hw_bump) == 32, "frozen");
HW_STATIC_ASSERT(offsetof(hw_frame, prev) == 0 && offsetof(hw_frame, count) == 8, "frozen");
HW_STATIC_ASSERT(offsetof(hw_frame, slots) == 16 && sizeof(hw_frame) == 24, "frozen");

/* A pointer variable of any type, as the inline functions store it. */
typedef void *__attribute__((__may_alias__)) hw_any_pointer;

/* The slow halves of the inline functions below; they take what those take. */
void *hw_alloc_slow(hw_mutator *m, hw_type type) HW_COLD;
void *hw_alloc_bytes_slow(hw_mutator *m, size_t n) HW_COLD;
void hw_safepoint_slow(hw_mutator *m) HW_COLD;
void hw_write_slow(hw_mutator *m, void *object, void *slot, const void *value) HW_COLD;

static inline void hw_frame_push(hw_mutator *m, hw_frame *frame, const void *slots, size_t count) {
    frame->prev = m->frames;
    frame->count = count;
    frame->slots = slots;
    /* A thread can be stopped between any two instructions: a frame is published when its fields, and the slots that were
     * stored before, are there. */
    __atomic_signal_fence(__ATOMIC_RELEASE);
    m->frames = frame;
}

static inline void hw_frame_pop(hw_mutator *m, hw_frame *frame) {
    m->frames = frame->prev;
    /* Nothing that is stored later, where the frame was, is stored before. */
    __atomic_signal_fence(__ATOMIC_RELEASE);
}

/* Lets a collection that waits for this thread go on: a load and a branch if there is none. May collect. Where the thread
 * cannot stop (HW_ESTATE above) it does nothing. With stops by signals nobody waits for it. */
static inline void hw_safepoint(hw_mutator *m) {
    if (HW_UNLIKELY(m->poll)) hw_safepoint_slow(m);
}

/* -------------------------------------------------------------------------------------------------- allocation -- */

/* All of these may collect, and return NULL if there is no memory or an argument is wrong (hw_last_error tells). The
 * object they return is the collector's to free: it is safe until this thread's next poll or allocation (with stops by signals:
 * as long as a register or its stack holds it), and after that only if a root leads to it. It is aligned to 16 bytes. */

/* Takes a cell: one store, which the compiler neither moves over what was stored before nor merges with the next. */
static inline void hw_bump_commit(hw_bump *bump, uintptr_t cell) {
    __atomic_signal_fence(__ATOMIC_RELEASE);
    bump->cursor = cell + bump->cell;
}

/* An object. Its memory is zero if it may hold pointers, and holds anything if not. */
static inline void *hw_alloc(hw_mutator *m, hw_type type) {
    hw_bump *bump = &m->bumps[type % HW_BUMPS];
    uintptr_t cell = bump->cursor;
    if (HW_UNLIKELY(cell >= bump->limit)) return hw_alloc_slow(m, type);
#ifdef __aarch64__
    __builtin_prefetch((const void *)cell, 1); /* golang/go#69224; docs/design/publication.md */
#endif
    hw_bump_commit(bump, cell);
    return (void *)cell;
}

/* n bytes without pointers, not zeroed. n may be 0. */
static inline void *hw_alloc_bytes(hw_mutator *m, size_t n) {
    /* Bumps 1 to 16 are those of pointer-free cells of 16, 32, ... 256 bytes. */
    if (HW_UNLIKELY(n - 1 >= 256)) return hw_alloc_bytes_slow(m, n);
    hw_bump *bump = &m->bumps[(n + 15) / 16];
    uintptr_t cell = bump->cursor;
    if (HW_UNLIKELY(cell >= bump->limit)) return hw_alloc_bytes_slow(m, n);
    hw_bump_commit(bump, cell);
    return (void *)cell;
}

/* A C array of n elements, the first at its first byte. A pointer in it is a slot of the array: hw_write(m, array,
 * &array[i].next, value). n may be 0. Its memory is zero if it may hold pointers. If there is room for another element
 * behind the last (hw_base tells), it is one: nothing but what elements hold may be written there. HW_EDESC for elements
 * with a trace function: they know single objects only. */
void *hw_alloc_array(hw_mutator *m, hw_type element, size_t n);

/* The same, and zero in any case. */
void *hw_alloc_zeroed(hw_mutator *m, hw_type type);
void *hw_alloc_bytes_zeroed(hw_mutator *m, size_t n);
void *hw_alloc_array_zeroed(hw_mutator *m, hw_type element, size_t n);

/* Frees an object now, whoever made it and on any attached thread: its memory may be another's at once, and that of a large
 * one goes back. It need not be called at all; a program that knows that an object is dead saves collections by it. The
 * object is not used afterwards, and whenever a collection may run no root slot, handle or frame and no object that is alive
 * refers to it (stacks and other ranges of words may). Where such words keep objects, one that is dead may count as alive:
 * there, clear the slots that refer to a large object before it is freed. HW_EINVAL if no object of this heap begins there or it was freed
 * before, or in an arena, which frees what it holds; but once its memory is another object's, that is what is freed. NULL is HW_OK.
 * It does not collect. */
hw_status hw_free(hw_mutator *m, void *object);

/* The object that address points to or into, and in *size (which may be NULL) the bytes it may use, at least those
 * asked for; NULL if there is none, or in an arena, whose values are not known one by one. Of objects made since the last collection it finds this thread's, but perhaps not
 * those of other threads; and what that collection found dead may still be answered. */
void *hw_base(hw_mutator *m, const void *address, size_t *size);

/* ------------------------------------------------------------------------------------------ stores of pointers -- */

/* object is the start of the object, slot the address of an aligned word in it. The first argument tells the collector
 * whose slot changes. None of these collects. */

/* *slot = value, in one piece for threads that read it meanwhile, and a release: a thread that loads the pointer (as an acquire, or
 * plainly and then follows it) finds the object that it leads to as this thread has filled it. */
static inline void hw_write(hw_mutator *m, void *object, void *slot, const void *value) {
    if (HW_UNLIKELY(m->barrier)) {
        hw_write_slow(m, object, slot, value);
    } else {
        __atomic_store_n((hw_any_pointer *)slot, (void *)value, __ATOMIC_RELEASE);
    }
}

/* Copies n pointers to the slots from slots on, in either direction if they overlap, each in one piece. */
void hw_copy(hw_mutator *m, void *object, void *slots, const void *source, size_t n);

/* Stores value if the slot holds expected, and tells whether it did. Acquire and release. */
bool hw_cas(hw_mutator *m, void *object, void *slot, const void *expected, const void *value);

/* ------------------------------------------------------------------------------------------------------ arenas -- */

/* An arena is memory for values that die together: what a parser makes of one file, a request, a frame of a game. A value costs an
 * add, a compare and a store, and all of them go at once, untraced and unswept, when the arena is freed or reset. Use one where a unit of
 * work has an end that the program knows, and makes much that is not needed after it. What may outlive the unit is an
 * ordinary object, allocated with hw_alloc, and values of the arena may point to it.
 *
 *   Pointers lead both ways. What values of an open arena point to is alive, found precisely by their types, as if the arena were a root.
 *   A slot of an object, of a root or of another arena may hold a value's address. Into a value that has just been made pointers are
 *   stored plainly until the thread's next poll, blocking region or allocation, in an arena, too; after that with hw_write, hw_copy or
 *   hw_cas, whose object is the value.
 *
 *   The end. Until hw_arena_free, hw_arena_reset or hw_arena_leave all values live, whether or not anything points to them. After the
 *   first two none is used. A pointer that was left somewhere is stale: the heap comes to no harm by it, in any mode, as long as
 *   nobody follows it. Without HW_ARENA_RECYCLE the memory goes back to the system, and the addresses are nobody's until a collection
 *   of everything has found no pointer into them: who reads there finds zeros. With it the program promises that no pointer into the arena
 *   is left, but in stacks and other ranges of words: then the next arena gets the memory at once, which costs no system call; and where
 *   the promise is broken a stale pointer leads to a value of another arena, and may keep that alive.
 *   In verify mode no memory is used again as long as a stale pointer is left: reading or writing through one faults, after standard
 *   error was told which arena it was, and where that was opened and freed; and a slot that breaks the promise aborts at the
 *   next collection, with a sentence.
 *   hw_arena_leave gives the arena to the collector: it takes no more values, and lives as a whole as long as anything points into it.
 *   So do the open arenas of a thread that detaches or ends, and in the child of a process that has forked those of its other threads;
 *   verify mode reports them as leaked.
 *
 *   Threads. The thread that opened an arena alone allocates from it, resets, frees and leaves it. Other threads may use its values, as
 *   they may use objects (promise 6), while it is open or has been left. Each function below that is no inline one looks at the
 *   handle first: HW_EINVAL if it is of no arena of the heaps that there are, or of one that was freed or left (once its memory is
 *   another arena's handle, that is what is meant); HW_ESTATE if it is another thread's. Verify mode says so on standard error, too, and
 *   there the inline functions look as well.
 *
 *   Memory. An arena has none before its first value, then 8 KiB; each piece more is four times as long, up to 2 MiB, and one of more
 *   than 168 KiB has huge pages behind it where there are such. Values of one type in a row are the fast case: with every change of
 *   type, and for an array, a function is called, which takes some 60 ns. Values without pointers lie apart, in any order. What is
 *   longer than 512 KiB, or of a type without a mask (hw_type_trace, hw_type_conservative, programs that are longer), lives in the
 *   heap, as if hw_alloc or hw_alloc_array had made it: the arena keeps it alive as long as it has it, and then the collector frees it.
 *   Without HW_ARENA_RECYCLE it becomes zeros when the arena is freed or reset, if it may hold pointers, so a stale pointer to it keeps
 *   nothing that it referred to; that takes longer the more of it was written.
 *   Arenas count to the heap's limit. Collections are not due for what an open one holds, but for what is left to the collector, and
 *   for the addresses that rest, of which a fortieth counts: hw_arena_new collects then. */

/* For hw_arena_new: no pointer into the arena will be left when it is reset or freed, so its memory is the next arena's at once. */
#define HW_ARENA_RECYCLE 1u

/* An arena begins like this; more follows. Values of the run's type, step bytes each, go from cursor up, as long as they end at limit
 * or below, and are zero before they are taken; bytes without pointers go from data, a multiple of 16, up to data_limit. run is 0 if
 * there is no type. The store to cursor commits, as it does for a bump. */
struct hw_arena {
    volatile uintptr_t cursor;
    uintptr_t limit;
    uintptr_t run;
    uintptr_t step;
    uintptr_t data;
    uintptr_t data_limit;
};

HW_STATIC_ASSERT(offsetof(hw_arena, cursor) == 0 && offsetof(hw_arena, limit) == 8, "frozen");
HW_STATIC_ASSERT(offsetof(hw_arena, run) == 16 && offsetof(hw_arena, step) == 24, "frozen");
HW_STATIC_ASSERT(offsetof(hw_arena, data) == 32 && offsetof(hw_arena, data_limit) == 40, "frozen");

/* Opens an arena for the calling thread. It has no values, and flags are 0 or HW_ARENA_RECYCLE. May collect. */
hw_status hw_arena_new(hw_mutator *m, uint32_t flags, hw_arena **out);

/* The slow halves of the two below; they take what those take. */
void *hw_arena_alloc_slow(hw_arena *arena, hw_type type, size_t n) HW_COLD;
void *hw_arena_alloc_bytes_slow(hw_arena *arena, size_t n) HW_COLD;

/* n values of a type of the arena's heap, one behind the other as in a C array, the first at a multiple of 16 bytes. Their memory is
 * zero if it may hold pointers, and holds anything if not. With n = 1, and a type that is that of the last values, nothing is called; n
 * may be 0. NULL if there is no memory, or the arena or an argument is wrong: hw_last_error of the thread's mutator tells. HW_EDESC
 * for several values of a type with a trace function. May collect. */
static inline void *hw_arena_alloc(hw_arena *arena, hw_type type, size_t n) {
    uintptr_t value = arena->cursor, end = value + arena->step;
    if (HW_UNLIKELY(n != 1 || arena->run != type || end > arena->limit)) return hw_arena_alloc_slow(arena, type, n);
    __atomic_signal_fence(__ATOMIC_RELEASE);
    arena->cursor = end;
    return (void *)value;
}

/* n bytes without pointers, not zeroed, at a multiple of 16 bytes. n may be 0. NULL as above. May collect. */
static inline void *hw_arena_alloc_bytes(hw_arena *arena, size_t n) {
    uintptr_t data = arena->data;
    if (HW_UNLIKELY(n - 1 >= arena->data_limit - data)) return hw_arena_alloc_bytes_slow(arena, n);
    arena->data = (data + n + 15) & ~(uintptr_t)15;
    return (void *)data;
}

/* Takes all values away; the arena stays open, for others. It does not collect. */
hw_status hw_arena_reset(hw_arena *arena);

/* Takes all values away, and the arena, whose handle is refused from now on. NULL is HW_OK. It does not collect. */
hw_status hw_arena_free(hw_arena *arena);

/* Leaves the arena to the collector: it takes no more values, its handle is refused from now on, and it is freed when nothing points
 * into it any more. It does not collect. */
hw_status hw_arena_leave(hw_arena *arena);

/* The bytes of pages that an arena has; its number, which reports name it by, counted from 1 in each heap. Both are 0 for what is
 * no arena of a heap that the calling thread is attached to. */
size_t hw_arena_bytes(const hw_arena *arena);
uint64_t hw_arena_number(const hw_arena *arena);

/* The number of the arena that address lies in, while that is open or something points into it; 0 if it lies in none. What lives in the
 * heap (see above) does not lie in the arena. Any thread may call it. */
uint64_t hw_arena_of(hw_heap *heap, const void *address);

/* ----------------------------------------------------------------------------------------- control and figures -- */

/* Collects now: what no root led to when it was called is gone when it returns. HW_ESTATE: it was refused, see above. */
hw_status hw_collect(hw_mutator *m);

/* Collects what was made since the last collection, if the heap has young collections now; otherwise everything. What is
 * older stays, so this is quick. HW_ESTATE: it was refused, see above. */
hw_status hw_collect_young(hw_mutator *m);

/* Gives the memory of all free pages back to the system now; *released, unless NULL, is how many bytes that may have
 * been. Only what a collection has found dead is free: collect first. Other threads go on meanwhile. */
hw_status hw_release_free_memory(hw_heap *heap, size_t *released);

/* Times are nanoseconds, sizes bytes. docs/guide/statistics.md says how to read them. */
/* generated: statistics */
typedef struct hw_stats {
    /* Of this struct: set by hw_stats_get's caller. */
    size_t size;
    /* Collections so far. */
    uint64_t collections;
    /* Live bytes at the last collection, in cells and pages. */
    uint64_t live_bytes;
    /* Live objects at the last collection. */
    uint64_t live_objects;
    /* The heap size at which the next collection is due. */
    uint64_t goal_bytes;
    /* Bytes handed out to mutators. */
    uint64_t allocated_bytes;
    /* Bytes of pages that objects occupy now, or that running mutators have cached. */
    uint64_t in_use_bytes;
    /* Bytes committed for objects: the most that the heap ever had. */
    uint64_t committed_bytes;
    /* CPU time of collecting threads. */
    uint64_t collect_cpu_ns;
    /* The median pause: from the first request to stop until the last thread may go on. */
    uint64_t pause_p50_ns;
    /* The pause that 99 % do not exceed. */
    uint64_t pause_p99_ns;
    /* The longest pause. */
    uint64_t pause_max_ns;
    /* The sum of all pauses. */
    uint64_t pause_total_ns;
    /* Overflows of the mark stack, after which objects had to be found a second time. */
    uint64_t mark_overflows;
    /* Stores that bypassed the write barrier (verify mode). */
    uint64_t barrier_violations;
    /* Collections followed by the full set of checks (verify mode). */
    uint64_t verified;
    /* Threads attached now. */
    uint64_t threads;
    /* Time to stop, a part of each pause: from the first request until every other thread had stopped. 99 % of
       stops took no longer. */
    uint64_t stop_p99_ns;
    /* The longest time to stop. */
    uint64_t stop_max_ns;
    /* The sum of all times to stop. */
    uint64_t stop_total_ns;
    /* The time of marking, another part of each pause. 99 % of markings took no longer. */
    uint64_t mark_p99_ns;
    /* The longest marking. */
    uint64_t mark_max_ns;
    /* The sum of all markings. */
    uint64_t mark_total_ns;
    /* Time in which the collecting thread swept the rest of the last cycle, before it asked the others to stop:
       not part of a pause, but the thread itself waits. 99 % took no longer. */
    uint64_t sweep_p99_ns;
    /* The longest of these sweeps. */
    uint64_t sweep_max_ns;
    /* The sum of these sweeps. */
    uint64_t sweep_total_ns;
    /* The longest that a thread held the lock of the span lists, for which others may have waited. */
    uint64_t hold_spans_max_ns;
    /* The same for the page allocator's lock. */
    uint64_t hold_pages_max_ns;
    /* The same for the lock for registering layouts. */
    uint64_t hold_types_max_ns;
    /* The same for the lock of the list of threads, which a collection holds during its pause. */
    uint64_t hold_threads_max_ns;
    /* The same for the lock of the table of roots. */
    uint64_t hold_roots_max_ns;
    /* The same for the lock of the handles. */
    uint64_t hold_handles_max_ns;
    /* Bytes of pages that may have memory behind them (resident): the committed ones, without those that were
       never used or were released. */
    uint64_t backed_bytes;
    /* Bytes given back to the kernel, in the background or on request. */
    uint64_t released_bytes;
    /* Spans of small objects handed out to mutators, as far as threads have reported them. */
    uint64_t spans;
    /* Acquisitions of the lock of the span lists for these spans. */
    uint64_t span_lock_acquisitions;
    /* Acquisitions of the page allocator's lock, by any thread. */
    uint64_t page_lock_acquisitions;
    /* Stops of the threads, including those that found all stopped. */
    uint64_t stops;
    /* The median time to stop. */
    uint64_t stop_p50_ns;
    /* The phases of collections, which add up to phase_total_ns. Prep: the time before marking, without sweeping,
       in which the collector asks the kernel, stops the threads and takes their runs. */
    uint64_t phase_prep_ns;
    /* CPU time of the collecting thread in it. */
    uint64_t phase_prep_cpu_ns;
    /* The part of prep from the first request until every other thread had stopped. */
    uint64_t phase_stop_ns;
    /* CPU time of the collecting thread in it. */
    uint64_t phase_stop_cpu_ns;
    /* Mark: until the threads go on. */
    uint64_t phase_mark_ns;
    /* CPU time in it, of all marking threads. */
    uint64_t phase_mark_cpu_ns;
    /* Sweeping by any thread: the sum over all threads, so it may exceed the time that passed. Threads report it
       when they next take the lock of the span lists. */
    uint64_t phase_sweep_ns;
    /* CPU time in it: the same, because it comes in batches of microseconds, which are seldom interrupted. */
    uint64_t phase_sweep_cpu_ns;
    /* Page recovery: returning spans without objects to the page allocator, by any thread. */
    uint64_t phase_recovery_ns;
    /* CPU time in it: the same. */
    uint64_t phase_recovery_cpu_ns;
    /* The total of prep, mark, sweep and recovery. */
    uint64_t phase_total_ns;
    /* CPU time in them. */
    uint64_t phase_total_cpu_ns;
    /* The part of the sweeping done by allocating threads. */
    uint64_t sweep_allocation_ns;
    /* The part done by the heap's own thread, in the background. */
    uint64_t sweep_background_ns;
    /* The part done by collecting threads, before they marked. */
    uint64_t sweep_collector_ns;
    /* Spans swept by allocating threads, as far as threads have reported them. */
    uint64_t swept_by_allocation;
    /* Spans swept by the heap's own thread. */
    uint64_t swept_by_background;
    /* Spans swept by collecting threads, before they marked. */
    uint64_t swept_by_collector;
    /* The part of allocated_bytes for small objects, up to 32 KiB, which share pages. */
    uint64_t small_bytes;
    /* Read-modify-writes on memory that several threads write, for small objects: two for each acquisition of
       these two locks, without the three acquisitions for a large object. */
    uint64_t shared_rmws;
    /* Refills: an allocating thread needed the cells of another span. */
    uint64_t refills;
    /* Spans that threads took from the central lists. */
    uint64_t spans_taken;
    /* Spans that threads returned to the central lists. */
    uint64_t spans_returned;
    /* Collections of an idle heap, by the heap's own thread. */
    uint64_t idle_collections;
    /* Idle collections that were withdrawn: a thread neither stopped within a millisecond nor was in a blocking
       region. */
    uint64_t idle_withdrawn;
    /* The system's number of the thread for which the last was withdrawn; 0 if none was. */
    uint64_t idle_withdrawn_thread;
    /* Young collections: those that looked only at objects allocated since the collection before. */
    uint64_t young_collections;
    /* The median pause of a young collection; these pauses count among all pauses, too. */
    uint64_t young_pause_p50_ns;
    /* The pause that 99 % of young collections do not exceed. */
    uint64_t young_pause_p99_ns;
    /* The longest pause of a young collection. */
    uint64_t young_pause_max_ns;
    /* The sum of the pauses of young collections. */
    uint64_t young_pause_total_ns;
    /* Bytes that young collections promoted: found alive, or kept without being marked. They count as old since. */
    uint64_t promoted_bytes;
    /* Young collections that took too long and ended early, with en-masse promotion: all objects not yet marked
       were kept. */
    uint64_t promoted_en_masse;
    /* Arenas that were opened. */
    uint64_t arenas;
    /* Bytes of pages of arenas that are open, or that something points into. Part of in_use_bytes, but not of
       live_bytes: an open arena makes no collection due. */
    uint64_t arena_bytes;
    /* Bytes of pages that arenas have released: for the next arenas, or until a collection has found no pointer to
       them. */
    uint64_t arena_free_bytes;
} hw_stats;
/* end: statistics */

/* Fills *stats up to stats->size bytes, which the caller has set to sizeof *stats; what this library does not know is
 * 0. Any thread may call it. */
hw_status hw_stats_get(hw_heap *heap, hw_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
