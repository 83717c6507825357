/* heapwood.h - a garbage-collected heap for language implementers. C11 or C++11, Linux, 64 bits.
 *
 * docs/guide/promises.md explains the rules below: exceptions, what happens if one is broken, how verify mode finds it.
 *
 * Conventions
 *
 *   - A program can have several heaps. A pointer from one into another keeps nothing alive.
 *   - A thread joins a heap with hw_attach. It alone uses the mutator that it gets.
 *   - Objects never move. An object lives while a root leads to it; hw_free frees one earlier.
 *   - A function that fails returns NULL, 0 or a status other than HW_OK, and has changed nothing. hw_last_error has the
 *     reason. Functions without a mutator store it in *why, too; after success *why is HW_OK with an empty text.
 *   - Pointer parameters must not be NULL unless their function says so. A NULL heap, mutator, callback or output is
 *     HW_EINVAL where a status is returned. why may always be NULL.
 *   - A parameter slot or slots is the address of variables that hold pointers: pass &node->left, no cast.
 *   - Structs begin with their size, so that programs and libraries of different versions work together.
 *   - No function exits or unwinds, but hw_check in verify mode. Standard error gets only reports of verify mode,
 *     hw_options_env and the option trace, of threads that keep a collection waiting (option report_wait), and of a corrupt
 *     heap, which then aborts.
 *   - "May collect": when the function returns, an object that no root led to may be gone.
 *   - HW_ESTATE: the heap cannot be used here: in a trace function, inside hw_call_blocking, on another thread than the
 *     mutator's, after hw_detach; collections also not on a stack that the heap does not know.
 *
 * What a program promises (the numbers are those in messages and documents)
 *
 *   1. Roots. A root leads to every object in use. Roots are registered slots and ranges, handles, linked frames and, unless
 *      conservative_stacks is 0, the stacks and registers of attached threads. No collection looks into malloc'd memory,
 *      thread-local variables or the stacks of unattached threads.
 *   2. Pointer slots. Root slots, frame slots and the words that a type's mask names hold NULL, an address that an
 *      allocation returned, or one outside the heap. Handles hold NULL or an object's address.
 *   3. Stores. Pointers are stored into objects with hw_write, hw_copy or hw_cas, into handles with hw_handle_set. A new
 *      object may be filled with plain stores until its thread's next poll, blocking region or allocation. This holds for
 *      conservative types, too, and for what trace functions read.
 *   4. Polls. A loop that can go on for long with few allocations calls hw_safepoint. What waits (system calls, locks,
 *      sleep, pthread_join) is called inside hw_call_blocking.
 *   5. Stacks. A thread collects only on the stack that it was attached with, or on registered stacks that it announces
 *      (hw_stack_range_add, hw_stack_switch). After longjmp, frames of functions that were left are unlinked. Nothing
 *      jumps out of hw_call_blocking or a trace function.
 *   6. Threads. An object is passed to another thread through something that orders memory: hw_write, a handle, a lock, a
 *      release store. No function is called from a signal handler.
 *
 * With the option stop = HW_STOP_SIGNALS a collection stops threads between any two instructions. Promise 3 then holds only
 * for handles, and promise 4 not at all. In exchange promises 1 and 2 hold at every instruction, trace functions take no
 * lock, every stack has room for a signal frame, and some system calls return EINTR: the chapter has the list.
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
typedef struct hw_ticket { uint64_t words[2]; } hw_ticket; /* a collection that was asked for */

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

/* The last refusal of this mutator, or of its thread by a function without a mutator (hw_root_slots, hw_type_mask, ..);
 * HW_OK and an empty text if there was none. The mutator owns it, and the next refusal changes it. On another thread, or
 * after hw_detach, it says that. */
const hw_error *hw_last_error(const hw_mutator *m);

/* ------------------------------------------------------------------------------------------------------- heaps -- */

/* A heap has a range of addresses and takes memory there as objects need it. ulimit -v counts what is used. Where the system gives
 * no addresses that it does not count, a heap leaves an eighth of ulimit -v (12 to 256 MiB) to the program.
 *
 * Unless background_release is 0 a heap starts a thread. Of the program's code it runs only trace functions, when it
 * collects an idle heap. It blocks all signals but SIGPROF and those of its own errors (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
 * SIGTRAP, SIGSYS). If the system starts no thread, the heap works without it.
 *
 * Full collections look at everything. Young ones look only at what was allocated since the last collection, and leave
 * what is older (option generational).
 *
 * A heap without a limit of its own stays within the memory control groups of the process: objects take up at most seven
 * eighths of what they allow, then allocation fails with HW_ELIMIT. The heap aims to keep the process a tenth below, and
 * collects more often for that.
 *
 * An allocation fails for lack of room only after a full collection that has made none for it. So close to a limit, or
 * with nothing dead, a program can spend most of its time collecting: leave some of the limit free. */

/* Switches are 1 (on) or 0 (off), sizes bytes. docs/guide/options.md says more of each option: both are generated from
 * the library's one list. */
/* The option trace: a line after each collection, or none whatever the variable HEAPWOOD says. */
#define HW_TRACE_ON 1u
#define HW_TRACE_OFF 2u
/* The option generational: whether there are young collections. */
#define HW_GENERATIONAL_OFF 0u
#define HW_GENERATIONAL_AUTO 1u
#define HW_GENERATIONAL_ALWAYS 2u
/* The option concurrent: whether full markings go on beside the program. */
#define HW_CONCURRENT_OFF 0u
#define HW_CONCURRENT_AUTO 1u
#define HW_CONCURRENT_ON 2u
/* An option that is a time, off: max_pause, where throughput alone counts; report_wait. */
#define HW_TIME_OFF UINT64_MAX
/* The option stop: how collections stop threads. */
#define HW_STOP_POLLS 0u
#define HW_STOP_SIGNALS 1u

/* generated: options */
typedef struct hw_options {
    /* Of this struct: set by hw_options_init. */
    size_t size;
    /* No full collection is due while the heap is smaller than this. Default: 4 MiB. */
    uint64_t min_heap;
    /* The bytes that objects may occupy, in whole pages. Range: at least 4 MiB. Default: 0, no limit of its own. */
    uint64_t limit;
    /* The address space for objects, rounded up to a power of two. Range: 16 MiB to 16 TiB. Default: 0, twice the
       memory there is (at least 4 GiB), or twice the limit and 64 MiB if that is less; ulimit -v at most, and less
       if the kernel refuses. */
    uint64_t address_space;
    /* The most that may be allocated between full collections, in percent of the live bytes at the last one.
       Range: 1 to 100000. Default: 150. */
    uint32_t percent;
    /* Ask the kernel for huge pages behind objects, once the heap is larger than 8 MiB and while their first touch
       is fast. Default: on. */
    uint32_t huge_pages;
    /* Scan the stacks and registers of attached threads, and treat every word that looks like a pointer as one.
       Default: on. */
    uint32_t conservative_stacks;
    /* Check the whole heap at collections, fill freed memory and keep it (quarantine), and report stores that
       bypassed the barrier. Default: off. */
    uint32_t verify;
    /* Collect at every allocation. Default: off. It is for tests and measurements of this library. */
    uint32_t stress;
    /* Return unused memory to the kernel, in a thread of the heap that takes at most a hundredth of one CPU for
       it. Default: on. */
    uint32_t background_release;
    /* The most words of a type, given as a program or as text, that the heap stores as a mask, which is faster
       (docs/design/layout.md). Range: 0 to 256. Default: 256. It is for tests and measurements of this library. */
    uint32_t mask_words;
    /* The edges that the mark stack holds before it overflows to a slower method. Range: 1 to 268435456. Default:
       0, by the size of the address space. It is for tests and measurements of this library. */
    uint32_t mark_stack;
    /* The memory that the process may have, which bounds a heap without a limit. Range: at least 16 MiB. Default:
       0, what memory control groups (version 2) allow, if that is less than the machine has. */
    uint64_t process_memory;
    /* Report collections on standard error: 1, a line after each, in the format of Go's gctrace; off, nothing. In
       C they are HW_TRACE_ON (1) and HW_TRACE_OFF (off). Default: 0, what the variable HEAPWOOD says of it, and
       otherwise nothing. */
    uint32_t trace;
    /* The threads that mark: the collecting one, and helpers that sleep between collections. Range: 1 to 128.
       Default: 0, as many as the processor cores that the process may use, where marking takes long enough. */
    uint64_t mark_threads;
    /* Collect an idle heap, to return its garbage to the kernel: after ten seconds without a collection, and with
       less than a MiB allocated, while all its threads are in blocking regions. Default: on. */
    uint32_t idle_collection;
    /* Young collections, which look only at objects allocated since the last one: auto, while they are profitable;
       off, never (then promotions, which keep all that is young, come beside the program's markings); always, for
       tests. Range: auto (1), off (0) or always (2). Default: auto. */
    uint32_t generational;
    /* How collections stop threads: polls, where they allocate, poll or are in blocking regions; signals, by a
       signal, anywhere. Range: polls (0) or signals (1). Default: polls. */
    uint32_t stop;
    /* The signal that stops threads, by its number or name. Range: 1 to 64, or a name such as SIGUSR1. Default: 0,
       SIGURG, at which nothing happens by default. */
    uint32_t stop_signal;
    /* Treat every word in the writable data of the program and of all loaded libraries, but not thread-local
       variables, as a pointer if it looks like one. Default: off. */
    uint32_t library_roots;
    /* Raise SIGSEGV in a thread that accesses an arena after it was freed, until a full collection has found no
       pointer to it. Default: off. */
    uint32_t arena_faults;
    /* Full markings beside the program, so that stops do not grow with the heap: auto, where threads poll, there
       are two cores, a stop would be longer than max_pause, and no type has a trace function; on, with trace
       functions, too, which run beside the program then; off, never. Range: auto (1), on (2) or off (0). Default:
       auto. */
    uint32_t concurrent;
    /* The longest pause that is wanted: a full collection that would stop the program for longer marks beside it
       (concurrent), and a young one ends earlier, and keeps what it has not looked at. In nanoseconds, or
       HW_TIME_OFF. Default: 5 ms. */
    uint64_t max_pause;
    /* In verify mode: how many bytes of freed objects are kept, so that a stale pointer leads to no new object.
       Default: 256 MiB. */
    uint64_t quarantine;
    /* Say on standard error which thread keeps a collection waiting, when it has waited so long, and again at each
       minute. In nanoseconds, or HW_TIME_OFF. Default: 10 s. */
    uint64_t report_wait;
    /* In verify mode: abort after the first report of a mistake, also of one that does the heap no harm by itself.
       Default: off. */
    uint32_t verify_stop;
} hw_options;
/* end: options */

/* Sets every option to its default. */
void hw_options_defaults(hw_options *options, size_t size);
static inline void hw_options_init(hw_options *options) { hw_options_defaults(options, sizeof *options); }

/* Changes options by the environment variable HEAPWOOD, such as HEAPWOOD=percent=100,limit=2GiB. A key is the name of a
 * field, a value a number, a size, or on or off. A setting that cannot be used is reported on standard error, by name,
 * and ignored. Call it between hw_options_init and hw_heap_create, and set afterwards what users must not change. No
 * other function reads the variable, but hw_heap_create for the option trace, if that is 0. HW_EINVAL if an option was
 * out of range before. */
hw_status hw_options_env(hw_options *options, hw_error *why);

/* Makes a heap; NULL options are the defaults. The options are copied. HW_EINVAL names the wrong option. HW_ENOMEM: no
 * addresses or memory for its tables, or no limit and memory control groups that allow less than 16 MiB. HW_ENOSYS: the
 * kernel's pages are larger than 64 KiB. */
hw_status hw_heap_create(const hw_options *options, hw_heap **out, hw_error *why);

/* Ends a heap and frees all its memory. HW_ESTATE while threads are attached, or finalisers are left (hw_finalize_all): *why
 * says how many, and the heap goes on. NULL is HW_OK. */
hw_status hw_heap_destroy(hw_heap *heap, hw_error *why);

/* ----------------------------------------------------------------------------------------------------- threads -- */

/* Attaches the calling thread, which may wait for a collection. stack_hi is one past the highest word of its stack that
 * may hold pointers; NULL asks the system, and HW_ENOSYS means that it does not say. HW_ESTATE: the thread is attached
 * to this heap already. HW_ENOMEM: also if the process has no key for a thread-specific value left. If stack_hi lies on
 * another stack than the thread's own, the heap recognises a switch to a third only above stack_hi. With stops by signals the
 * thread takes that signal from now on, also if it had blocked it.
 *
 * A thread may be attached to several heaps. While it waits in one it counts as stopped in all that it attached to on
 * this stack, and its allocations in one answer the collections of all. A thread that uses one of them for long without
 * allocating polls the others, too. */
hw_status hw_attach(hw_heap *heap, void *stack_hi, hw_mutator **out, hw_error *why);

/* The same on a stack from stack_lo (its lowest byte) to stack_hi, which the system need not know: a fiber's, or one
 * that another runtime has allocated. HW_EINVAL if the calling function is not on it. */
hw_status hw_attach_bounds(hw_heap *heap, void *stack_lo, void *stack_hi, hw_mutator **out, hw_error *why);

/* The mutator of the calling thread, which is attached (on the stack that the system gave it) if it was not: for
 * callbacks on threads that the program did not start. The thread is detached as it ends. Until then collections with
 * stops by polls wait for it: if it may be elsewhere for long, it detaches itself before it returns, or waits in
 * hw_call_blocking. HW_ESTATE inside hw_call_blocking and trace functions; otherwise as hw_attach. */
hw_status hw_attach_if_needed(hw_heap *heap, hw_mutator **out, hw_error *why);

/* The mutator of the calling thread; NULL if it is not attached to this heap. It is quick, but a thread keeps its
 * mutator where it can. Code of fibers asks again after each switch. */
hw_mutator *hw_self(hw_heap *heap);

/* Detaches the calling thread. This is the last use of the mutator: another thread may get it next. Its frames are
 * dropped; objects live on as other roots demand. A thread that ends without it is detached then. HW_ESTATE on another
 * thread, and inside a trace function. */
hw_status hw_detach(hw_mutator *m);

/* The heap a mutator belongs to. */
hw_heap *hw_mutator_heap(const hw_mutator *m);

/* Calls fn(arg); collections go on meanwhile without this thread, in all heaps that it is attached to. fn returns in the
 * ordinary way (no longjmp, no exception). It does not touch objects of those heaps, their roots, or the thread's
 * mutators. But it may call this again, and it may attach to another heap and use that. With HW_ESTATE fn was not
 * called. May collect. */
hw_status hw_call_blocking(hw_mutator *m, void (*fn)(void *arg), void *arg);

/* ------------------------------------------------------------------------------------------- stacks of fibers -- */

/* Register a fiber's stack when it has been allocated, and remove it before its memory is freed. Announce each switch,
 * with the thread's registers on the stack that it leaves: so the heap knows the words in use there, and scans them
 * conservatively (with conservative_stacks = 0, too). With ucontext:
 *
 *     struct swap { ucontext_t *from, *to; };
 *     static void jump(void *arg) { struct swap *s = arg; swapcontext(s->from, s->to); }
 *
 *     hw_stack_range_add(heap, memory, memory + size, &fiber->stack, &why);
 *     ...
 *     hw_stack_switch(m, fiber->stack, jump, &(struct swap){&here, &fiber->context});    // to the fiber
 *     hw_stack_switch(m, NULL, jump, &(struct swap){&fiber->context, &here});            // on it: back to the thread's own
 *
 * - One thread may leave a fiber, and another, attached one resume it: its code goes on with that thread's mutator
 *   (hw_self). A fiber is not resumed before the other thread has left it: put it on a list for others after the switch,
 *   from another stack.
 * - Nothing of a fiber's stack is in use until the fiber runs. What makecontext passes to it needs another root until
 *   then.
 * - A collection takes at most 32 KiB of the allocating thread's stack, beside what trace functions take.
 * - When a stack is used again for another fiber, the words that the last one had in use are scanned until the next
 *   leaves it.
 * - Frames (hw_frame_push) are linked through the mutator: each switch saves m->frames and stores that of the stack that
 *   it goes to. Frames of a waiting fiber are not seen as frames; its stack is scanned.
 * - A thread that uses objects of several heaps on a fiber announces each switch to each: hw_stack_switch to one, and in
 *   jump hw_stack_announce to the others, with an address of jump's frame.
 * - Exceptions and longjmp do not leave a stack. A thread does not detach or end on a registered one. */

/* Registers the stack from low to high, which stays readable until it is removed. Nothing of it is in use yet. HW_EINVAL
 * if high is not above low; HW_EFULL if there are too many (1048576 where addresses are plenty); HW_ENOMEM. Any thread
 * may call this. */
hw_status hw_stack_range_add(hw_heap *heap, void *low, void *high, hw_stack **out, hw_error *why);

/* Removes a stack: nothing of it is scanned any more. HW_ESTATE while a thread is on it or has announced that it goes
 * there; HW_EINVAL if it was removed before and its name is not yet another stack's. Any thread may call this. */
hw_status hw_stack_range_remove(hw_heap *heap, hw_stack *stack, hw_error *why);

/* Pushes the registers onto the stack, announces the switch to another (NULL: the one that the thread was attached
 * with), and calls jump(arg), which only goes there and holds no objects of its own. It returns when somebody has
 * switched back to this stack, perhaps on another thread: do not use m afterwards unless the fiber stays on its thread.
 * With another status than HW_OK jump was not called. HW_ESTATE: another thread is on that stack, or this one is not on
 * the stack that it announced. HW_EINVAL: the stack was removed. It does not collect. */
hw_status hw_stack_switch(hw_mutator *m, hw_stack *to, void (*jump)(void *arg), void *arg);

/* The same for runtimes that push the registers and switch themselves: announces that the thread is about to go to
 * another stack, and that on its present one the words from sp on are in use, with all registers that it wants back. The
 * switch follows, and no other use of the heap before it. */
hw_status hw_stack_announce(hw_mutator *m, hw_stack *to, void *sp);

/* ------------------------------------------------------------------------------------------------------- types -- */

/* A type is registered for one heap, from any thread, and lasts as long as that heap. Types with the same description
 * get the same number. Sizes are at least 1, and multiples of 8 where there may be pointers. Registering is quick
 * however many there are. HW_EDESC says what is wrong with a description, HW_EFULL which table is full:
 *
 * - 262143 types;
 * - 4096 programs, which together have at most 1 MiB, and 131072 loops and parts of arrays;
 * - 16073 layouts. Types of one size class (hw_base returns its cells' length) with the same pointers have one layout;
 *   arrays of elements with the same pointers have one for each size class. Types without pointers, conservative ones,
 *   and masks of types of up to four words need none. */

/* Objects without pointers. The memory of new ones is not zeroed. */
hw_status hw_type_no_pointers(hw_heap *heap, size_t size, hw_type *out, hw_error *why);

/* Word i of an object (8 bytes) is a pointer slot if bit i % 64 of mask[i / 64] is set. Only the first 256 words can be.
 * mask is copied, and may be shorter than the type. A longer one is HW_EDESC, even if its last words are 0: it was made
 * for another type. */
hw_status hw_type_mask(hw_heap *heap, size_t size, const uint64_t *mask, size_t mask_words, hw_type *out,
                       hw_error *why);

/* The mask of one field among the first 64 words: HW_POINTER(struct node, left) | HW_POINTER(struct node, right). */
#define HW_POINTER(type, field) (UINT64_C(1) << (offsetof(type, field) / 8))

/* A program says in a few bytes where the pointers of a large type are, one bit a word: emit some bits, repeat the last
 * n bits c more times (docs/design/layout.md has the encoding). It is copied. HW_EDESC names the wrong byte. Allocation
 * touches nothing of an object of 1 GiB or more, and collections do not read pages of it that were never written. */
hw_status hw_type_program(hw_heap *heap, size_t size, const void *program, size_t length, hw_type *out,
                          hw_error *why);

/* The same from a text: "ptr" is a pointer, "word" any other word, "[n]" before a type an array of n, "{ ... }" a
 * struct: "{ word ptr [100]{ptr word word} [1<<28]ptr }". Stores the size in bytes unless size is NULL. At most 128
 * items ("ptr", "word", brackets), nested at most 16 deep. HW_EDESC names the wrong byte of the text, or what is wrong
 * with the type. */
hw_status hw_type_describe(hw_heap *heap, const char *text, size_t *size, hw_type *out, hw_error *why);

/* Gives a type a name for the reports of verify mode; the text is copied. Types of one layout are told apart only by
 * names: of those the first two are kept. HW_EINVAL: no type, or no UTF-8. */
hw_status hw_type_name(hw_heap *heap, hw_type type, const char *name, hw_error *why);

/* Any aligned word of an object may be a pointer, to or into an object. */
hw_status hw_type_conservative(hw_heap *heap, size_t size, hw_type *out, hw_error *why);

/* A function finds an object's pointers. size is that of the object's memory, at least the type's. The collector calls
 * it on any thread, any number of times or not at all, and on several threads at once, with 256 KiB of stack (option
 * mark_threads). So:
 *
 * - It accepts an object of zeros.
 * - It calls only the two functions below, and returns in the ordinary way. With stops by signals it takes no lock and
 *   calls neither malloc nor stdio.
 * - It reads the object, memory outside the heap that is the object's, and constants. It reads nothing of other objects:
 *   each is traced by its own type.
 * - It guards what it changes beside its variables. Thread-local variables of the program's threads are not there.
 * - It may run while the program changes the object, and is right for each mixture of old and new words: raise a count
 *   after storing the slot; read an end once, then test it.
 * - It reads what the program does not free or move meanwhile. In a stop that is all it can reach. With concurrent =
 * HW_CONCURRENT_ON it runs beside the program: a table from malloc, say, then stays allocated as long as the object exists,
 * and is changed by stores of whole words. (With HW_CONCURRENT_AUTO a heap with a trace function marks in stops.)
 * - It reads each pointer once, in one piece, as hw_visit does with the slot's address. To clear a tag, read the word
 *   into a variable, clear the tag there, and pass that variable's address. */
typedef void (*hw_trace_fn)(void *object, size_t size, hw_tracer *tracer);
hw_status hw_type_trace(hw_heap *heap, size_t size, hw_trace_fn trace, hw_type *out, hw_error *why);

/* For trace functions: what the pointer slot holds is alive. */
void hw_visit(hw_tracer *tracer, const void *slot);

/* For trace functions: whatever the aligned words from lo up to hi point to, or into, is alive. */
void hw_visit_range(hw_tracer *tracer, const void *lo, const void *hi);

/* ------------------------------------------------------------------------------------------------------- roots -- */

/* Registering returns 0, with the reason in *why, if an argument is wrong (HW_EINVAL), 65536 roots are registered
 * (HW_EFULL), or there is no memory for more (HW_ENOMEM). The memory stays readable until the root is removed. Any
 * thread may call these; they are quick however many roots there are.
 *
 * Every collection reads all words of slots, ranges and handles while threads are stopped: 1 ns for a word without an
 * object, 8 to 20 ns for one with. Put many pointers that seldom change into an array of the heap, with one root. */

/* n pointer slots, one after another. */
hw_root hw_root_slots(hw_heap *heap, const void *slots, size_t n, hw_error *why);

/* The aligned words from lo up to hi, whatever they hold. */
hw_root hw_root_range(hw_heap *heap, const void *lo, const void *hi, hw_error *why);

/* The writable data of the shared library that holds address (of a function or variable of its own), or of the program:
 * every aligned word, whatever it holds. They are roots until hw_root_remove, or until dlclose has unloaded the library:
 * then the next collection removes the root, and hw_root_remove is HW_EINVAL. Each call makes a root of its own. Not
 * included: thread-local variables, malloc'd memory, libraries opened by dlmopen. libheapwood.so's own data refer to no
 * objects. HW_EINVAL: address is in no loaded library. HW_ENOMEM: also if no thread can be started; a heap with such
 * roots has one more, which asks the dynamic loader what is loaded. A callback of dl_iterate_phdr holds the loader's
 * lock: it must not allocate in such a heap or collect it. */
hw_root hw_roots_add_dso(hw_heap *heap, const void *address, hw_error *why);

/* HW_EINVAL if the root was removed before. */
hw_status hw_root_remove(hw_heap *heap, hw_root root, hw_error *why);

/* A handle: a pointer slot that the heap owns, holding object (or NULL). It outlives the mutator. Until it is freed any
 * attached thread may read *handle, and change it with hw_handle_set, not with a plain store. NULL, with the reason in
 * hw_last_error, if the heap has all the handles that it can (HW_EFULL: one for each 256 bytes of its address range, at
 * most 16777216) or no memory. */
void **hw_handle_new(hw_mutator *m, void *object);

/* *handle = object (or NULL), a release. HW_EINVAL if the handle is not a held one of this heap, or object is neither
 * NULL nor the address of an object or of something in an arena. It does not collect. */
hw_status hw_handle_set(hw_mutator *m, void **handle, void *object);

/* Frees a handle, on any attached thread. HW_EINVAL if it is not held; NULL is HW_OK. */
hw_status hw_handle_free(hw_mutator *m, void **handle);

/* A frame of the shadow stack: count pointer slots, usually local variables. Link it with hw_frame_push, and unlink it
 * with hw_frame_pop before its function returns, last in, first out. A frame that is linked twice ends the process, with
 * a message, at the next collection.
 *
 *     struct node *local[2] = { NULL, NULL };
 *     hw_frame frame;
 *     hw_frame_push(m, &frame, local, 2);
 *     ...
 *     hw_frame_pop(m, &frame);
 *
 * The slots and the count of a linked frame may change at any time: an interpreter's value stack is one frame for the
 * life of the thread. Store a slot's value before the count that includes it.
 *
 * Every collection looks at all frames, unless they are fixed (hw_frame_push_fixed). The slots of a fixed frame change only
 * while it is the topmost (m->frames), except to NULL, and its count only then. So it suits the variables of a function:
 * while the function waits for one that it has called, and that has a frame, nobody stores into its variables. A young
 * collection then looks only at the frames that were linked since the last one, and at one more; of a recursion of a
 * million calls, at a few. Only frames with none but fixed ones below them gain by it. Of a linked fixed frame the program
 * does not read or write slots, in which the collector keeps notes. */
typedef struct hw_frame {
    struct hw_frame *prev;
    size_t count;
    const void *slots;
} hw_frame;

/* ----------------------------------------------- the part of a mutator that machine code may use: it is frozen -- */

/* Where a mutator allocates cells of one layout and size class. cursor to limit is a run of free cells, each cell bytes
 * long. Storing cursor + cell takes the first. That one store commits: from then on the object exists, and the collector
 * may scan it, so machine code neither delays nor splits it. Cells that may hold pointers are zero before they are
 * taken. Without a run cursor equals limit and cell may be 0: test cursor < limit, not whether a cell fits. */
typedef struct hw_bump {
    volatile uintptr_t cursor;
    uintptr_t limit;
    uint32_t cell;
    uint32_t reserved[3];
} hw_bump;

#define HW_BUMPS 16384

/* A mutator begins like this; more follows. A type's bump is bumps[type % HW_BUMPS]; that of a type too large for cells
 * never has a run. */
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

/* The bit of a fixed frame's slots that says that it is fixed. */
#define HW_FRAME_FIXED 1

/* The same for a fixed frame, whose slots are aligned like pointers. */
static inline void hw_frame_push_fixed(hw_mutator *m, hw_frame *frame, const void *slots, size_t count) {
    hw_frame_push(m, frame, (const char *)slots + HW_FRAME_FIXED, count);
}

static inline void hw_frame_pop(hw_mutator *m, hw_frame *frame) {
    m->frames = frame->prev;
    /* Nothing that is stored later, where the frame was, is stored before. */
    __atomic_signal_fence(__ATOMIC_RELEASE);
}

/* Lets a collection that waits for this thread go on; otherwise a load and a branch. May collect. Where the thread
 * cannot stop (HW_ESTATE above) it does nothing. With stops by signals it is not needed. */
static inline void hw_safepoint(hw_mutator *m) {
    if (HW_UNLIKELY(m->poll)) hw_safepoint_slow(m);
}

/* -------------------------------------------------------------------------------------------------- allocation -- */

/* All of these may collect, and return NULL if there is no memory or an argument is wrong (hw_last_error). The result is
 * aligned to 16 bytes. It is safe until this thread's next poll or allocation (with stops by signals: while a register or
 * the stack holds it); after that only if a root leads to it. */

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

/* A C array of n elements, the first at its first byte; n may be 0. A pointer in it is a slot of the array: hw_write(m,
 * array, &array[i].next, value). Its memory is zero if it may hold pointers. Room for further elements behind the last
 * (hw_base returns the size) holds only what elements hold. HW_EDESC for elements with a trace function, which know
 * single objects only. */
void *hw_alloc_array(hw_mutator *m, hw_type element, size_t n);

/* The same, and zero in any case. */
void *hw_alloc_zeroed(hw_mutator *m, hw_type type);
void *hw_alloc_bytes_zeroed(hw_mutator *m, size_t n);
void *hw_alloc_array_zeroed(hw_mutator *m, hw_type element, size_t n);

/* Frees an object now, whichever attached thread made it. Its memory may be another object's at once; that of a large
 * one goes back. Calling it is never necessary, but saves collections. The program does not use the object afterwards,
 * and whenever a collection may run no root slot, handle, frame or live object refers to it; stacks and ranges may.
 * Words in those may also keep a dead object alive that refers to it: clear the slots that refer to a large object
 * before you free it. Nor may it be the key of a weak reference, an ephemeron or a weak table, unless it was removed from
 * the table, or a collection has found those dead; or have a link, or be the place of one. Verify mode refuses such an
 * object; otherwise what is weak shows whatever has the memory next, until a collection clears it.
 * HW_EINVAL: no object of this heap begins there, it was freed before (unless its memory is another object's by now, which
 * is then freed, or another thread is about to make one there), it is in an arena, it has a finaliser, or it is weak itself.
 * Nothing is freed then: leave it to the collector. NULL is HW_OK. It does not collect. */
hw_status hw_free(hw_mutator *m, void *object);

/* The object that address points to or into; in *size (which may be NULL) the bytes that it may use. NULL if there is
 * none, or in an arena. It finds each object that the calling thread can know of, whichever thread has made it, and none
 * that was freed or that a collection has found dead. */
void *hw_base(hw_mutator *m, const void *address, size_t *size);

/* -------------------------------------------------------------------------------------------- stale pointers -- */

/* Returns object. If that is the first byte of an object that was freed, by a collection that found nothing leading to it
 * or by hw_free, and its memory is not in use again, the process ends with a sentence that says so. Any heap in verify
 * mode knows, for as long as the option quarantine says; without one this costs a call and a load. Any thread. */
void *hw_check(const void *object);

/* Has fn called with the text of each report of the process, after it was written to standard error, in place of the function that was
 * set before; fn NULL: none. Reports are what heaps in verify mode find, and what is said of a corrupt heap before the process
 * ends. fn is called on any thread, in the middle of collections, too, and from the handler of a fault: it is brief, waits for no
 * other thread, returns in the ordinary way, uses no heap, and does only what a signal handler may. */
typedef void (*hw_report_fn)(const char *text);
void hw_on_report(hw_report_fn fn);

/* Tells a heap in verify mode where object, which was just made, was made: reports say so. place is a literal. Returns object; of NULL
 * it tells nothing. */
void *hw_made(hw_mutator *m, void *object, const char *place);

/* HW_AT(node)->left checks node so where the program is compiled with HW_CHECKED defined, and costs nothing elsewhere. Where it
 * is defined reports name the lines that made the objects, too. */
#ifdef HW_CHECKED
#define HW_LINE_TEXT(line) #line
#define HW_LINE(line) HW_LINE_TEXT(line)
#define HW_MADE(m, object) hw_made(m, object, __FILE__ ":" HW_LINE(__LINE__))
#define hw_alloc(m, type) HW_MADE(m, hw_alloc(m, type))
#define hw_alloc_bytes(m, n) HW_MADE(m, hw_alloc_bytes(m, n))
#define hw_alloc_array(m, element, n) HW_MADE(m, hw_alloc_array(m, element, n))
#define hw_alloc_zeroed(m, type) HW_MADE(m, hw_alloc_zeroed(m, type))
#define hw_alloc_bytes_zeroed(m, n) HW_MADE(m, hw_alloc_bytes_zeroed(m, n))
#define hw_alloc_array_zeroed(m, element, n) HW_MADE(m, hw_alloc_array_zeroed(m, element, n))
#define HW_AT(object) ((__typeof__(object))hw_check(object))
#else
#define HW_AT(object) (object)
#endif

/* ------------------------------------------------------------------------------------------ stores of pointers -- */

/* object is the start of the object whose slot changes, slot the address of an aligned word in it. None of these
 * collects. */

/* *slot = value, in one piece, a release: a thread that loads the pointer (as an acquire, or plainly and then follows
 * it) finds the object as this thread has filled it. */
static inline void hw_write(hw_mutator *m, void *object, void *slot, const void *value) {
    if (HW_UNLIKELY(m->barrier)) {
        hw_write_slow(m, object, slot, value);
    } else {
        __atomic_store_n((hw_any_pointer *)slot, (void *)value, __ATOMIC_RELEASE);
    }
}

/* Copies n pointers to the slots from slots on, in either direction if they overlap, each in one piece. */
void hw_copy(hw_mutator *m, void *object, void *slots, const void *source, size_t n);

/* Stores value if the slot holds expected, and returns whether it did. Acquire and release. */
bool hw_cas(hw_mutator *m, void *object, void *slot, const void *expected, const void *value);

/* ------------------------------------------------------------------------------------------------------ arenas -- */

/* An arena is memory for values that die together: of a file that a parser reads, a request, a frame of a game. A value
 * costs an add, a compare and a store, and all go at once, untraced and unswept. What may outlive them is an ordinary
 * object. docs/guide/c.md has an example, and the sizes.
 *
 * - Pointers lead both ways. An open arena is a root: what its values point to, by their types, is alive. A slot of an
 *   object, a root or another arena may hold a value's address. Promise 3 holds for values as for objects: the object of
 *   hw_write, hw_copy and hw_cas is the value.
 * - Values live until hw_arena_free, hw_arena_reset or hw_arena_leave. After free and reset none is used. Stale pointers
 *   do no harm as long as nobody follows them: the memory goes back to the system, reads find zeros, and the addresses
 *   stay in quarantine until a full collection has found no pointer into them.
 * - HW_ARENA_RECYCLE promises that no pointer into the arena is left at free and reset, except in stacks and ranges of
 *   words. The next arena gets the memory at once, without system calls. If the promise is broken, a stale pointer leads
 *   to a value of another arena, and may keep that alive.
 * - Verify mode reuses no memory while a stale pointer is left. Access through one faults, after a report of the arena
 *   and of where it was opened and freed. A slot that breaks the promise aborts at the next collection.
 * - hw_arena_leave gives the arena to the collector: it takes no more values, and lives as a whole while anything points
 *   into it. The same happens to open arenas of a thread that detaches or ends, and in a forked child to those of its
 *   other threads; verify mode reports these as leaked.
 * - Only the thread that opened an arena allocates from it, resets, frees and leaves it. Other threads may use its
 *   values (promise 6).
 * - Functions that are not inline, and in verify mode all, check the handle. HW_EINVAL: it is no arena's, or the arena
 *   was freed or left (unless another arena has that handle by now). HW_ESTATE: it is another thread's. Verify mode
 *   reports it, too.
 * - Values above 512 KiB, and of types without a mask (hw_type_trace, hw_type_conservative, longer programs), live in
 *   the heap. The arena keeps them alive. Without HW_ARENA_RECYCLE they become zeros, if they may hold pointers, when
 *   the arena is freed or reset.
 * - Arenas count to the heap's limit. Open ones make no collection due; left ones do, and so does a fortieth of the
 *   quarantine: hw_arena_new collects then. */

/* For hw_arena_new: no pointer into the arena will be left when it is reset or freed. */
#define HW_ARENA_RECYCLE 1u

/* An arena begins like this; more follows. Values of the run's type, step bytes each, go from cursor up, must end at
 * limit or below, and are zero before they are taken. Bytes without pointers go from data, a multiple of 16, up to
 * data_limit. run is 0 if there is no type. The store to cursor commits, as it does for a bump. */
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

/* n values of a type of the arena's heap, as in a C array, the first at a multiple of 16 bytes; n may be 0. Their memory
 * is zero if it may hold pointers. It is inline for n = 1 and the type of the last values. NULL if there is no memory,
 * or the arena or an argument is wrong (hw_last_error). HW_EDESC for several values of a type with a trace function. May
 * collect. */
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

/* Frees all values; the arena stays open. It does not collect. */
hw_status hw_arena_reset(hw_arena *arena);

/* Frees all values and the arena, whose handle is refused from now on. NULL is HW_OK. It does not collect. */
hw_status hw_arena_free(hw_arena *arena);

/* Leaves the arena to the collector, which frees it when nothing points into it any more. Its handle is refused from now
 * on. It does not collect. */
hw_status hw_arena_leave(hw_arena *arena);

/* The bytes of pages that an arena has; its number in reports, counted from 1 in each heap. Both are 0 for what is no
 * arena of a heap that the calling thread is attached to. */
size_t hw_arena_bytes(const hw_arena *arena);
uint64_t hw_arena_number(const hw_arena *arena);

/* The number of the arena in which address lies, while that is open or something points into it; 0 if it lies in none,
 * as values that live in the heap do. Any thread may call it. */
uint64_t hw_arena_of(hw_heap *heap, const void *address);

/* -------------------------------------------------------------------------------------- memory outside the heap -- */

/* Counts bytes outside the heap that its objects own, such as buffers of malloc or mapped files: so many more, or fewer if
 * bytes is negative. They count toward the goal and the limit, so dead objects that own much are collected in time, whatever
 * their own size. An addition is like an allocation, without cells: call it before malloc, give back what you added when the
 * buffer was freed, on any attached thread. What comes and goes between two collections makes none due.
 * HW_ELIMIT: the limit leaves no room for so many, after a full collection. HW_EINVAL: more is given back than is counted,
 * or there would be more than memory can hold. HW_ESTATE: see above. On error nothing is counted. Adding may collect. */
hw_status hw_external(hw_mutator *m, ptrdiff_t bytes);

/* --------------------------------------------------------------------------------------------------- finalisers -- */

/* An object, or data that an object owns outside the heap, is on a queue when the object is dead; the program takes it where it
 * likes: the collector calls nothing. 0 names the heap's own queue, which is always there. */
typedef uint64_t hw_finalize_queue;

/* Names a registration. 0 is none. */
typedef uint64_t hw_finalizer;

/* Which of several objects that died are queued first. */
#define HW_FINALIZE_ORDERED 0u /* one that another ordered one leads to waits until that was taken, and has died for good */
#define HW_FINALIZE_AT_ONCE 1u /* all at once: of those that lead to each other the program may see any first */

/* Has the object queued when nothing leads to it but queues, and objects that died with it: hw_finalize_next gives it once, with
 * its tag, after the first collection that finds so. A young collection does, of young objects. Until then it counts as
 * used, with all that it refers to. It may be registered several times, and is queued once for each. Ordered objects that lead to each
 * other in a circle wait for good, and so does one that leads back to itself by way of others; hw_stats counts circles. Its own pointers
 * to itself do not count. *out, unless NULL, names the registration.
 * HW_EINVAL: no object of this heap begins there, it is in an arena, or there is no such queue or order. HW_EFULL, HW_ENOMEM,
 * HW_ESTATE: see above. */
hw_status hw_finalize(hw_mutator *m, void *object, hw_finalize_queue queue, uint32_t order, void *tag, hw_finalizer *out);

/* Has data queued once the object is dead for good, and not before other finalisers have given it back: hw_finalize_next or
 * hw_finalize_next_data gives it, once. The object is not revived, read or written: data is what it owns outside the heap, or
 * leads there. It is kept alive by none of these registrations. Otherwise as hw_finalize. */
hw_status hw_finalize_data(hw_mutator *m, void *object, hw_finalize_queue queue, void *data, hw_finalizer *out);

/* Takes a registration back, on any thread; *tag, unless NULL, is what was registered. HW_ESTATE: the object is dead, and the
 * entry is on the queue or was taken. HW_EINVAL: it was taken back before, or is none. hw_free refuses an object that has one
 * (HW_EINVAL). */
hw_status hw_finalize_cancel(hw_heap *heap, hw_finalizer finalizer, void **tag, hw_error *why);

/* Makes a queue. HW_EFULL: the heap has 4096. HW_ENOMEM: see above. */
hw_status hw_finalize_queue_new(hw_heap *heap, hw_finalize_queue *out, hw_error *why);

/* Ends one. HW_ESTATE: something is on it or registered for it. HW_EINVAL: there is none, or it is the heap's own. */
hw_status hw_finalize_queue_end(hw_heap *heap, hw_finalize_queue queue, hw_error *why);

/* What was queued. */
typedef struct hw_finalized {
    void *object; /* ordinary again, and kept by the caller's roots alone; NULL: data was registered */
    void *tag;    /* what was registered with it, or the data */
} hw_finalized;

/* Takes what has waited longest on a queue, objects before data; false if nothing waits, or on misuse (hw_last_error says why). */
bool hw_finalize_next(hw_mutator *m, hw_finalize_queue queue, hw_finalized *entry);

/* The same of data alone, on any thread, attached or not, in any place: after an allocation, in a loop of events, in a thread of its
 * own. Where nothing waits it costs a load on the heap's own queue. */
bool hw_finalize_next_data(hw_heap *heap, hw_finalize_queue queue, void **data);

/* Waits until something is on a queue, at most so many nanoseconds, UINT64_MAX for ever; *waits, unless NULL, says whether. An attached
 * thread waits as in a blocking region (hw_call_blocking). Another thread may take it first. HW_EINVAL: there is no such queue, or it has
 * ended meanwhile. HW_ESTATE: see above. */
hw_status hw_finalize_wait(hw_heap *heap, hw_finalize_queue queue, uint64_t at_most, bool *waits, hw_error *why);

/* A queue's eventfd, for poll and its like: it can be read after each collection that has queued something. It does not block, and
 * is closed with its queue. Read it, and then empty the queue. HW_ENOMEM: the system gives no descriptor. */
hw_status hw_finalize_fd(hw_heap *heap, hw_finalize_queue queue, int *fd, hw_error *why);

/* Has fn called when something was queued, by the next thread that allocates on the slow path, before its object is made: once for all
 * that a collection has queued. Several threads may be inside it at a time, each once: one that waits there keeps no other from what is
 * queued. It may do what its thread may: allocate, collect, take what is queued; so it takes no lock that a thread may hold which
 * allocates. It returns, without a jump or an exception, and attaches or detaches nothing. NULL removes it. HW_ESTATE: it is being
 * called. */
typedef void (*hw_finalize_fn)(void *arg);
hw_status hw_finalize_call(hw_heap *heap, hw_finalize_queue queue, hw_finalize_fn fn, void *arg, hw_error *why);

/* Queues all that is registered, each once and in no order, though the objects may be alive: before a heap is destroyed, which is
 * refused (HW_ESTATE) while something is registered or on a queue. HW_ESTATE: see above. */
hw_status hw_finalize_all(hw_heap *heap, hw_error *why);

/* ---------------------------------------------------------------------------- weak references and ephemerons -- */

/* An object of the heap that refers to another without keeping it alive. May collect: object is reachable during the call, as
 * everything that is used later. Once nothing but weak references leads to the object, a collection clears them. NULL on
 * error, of which hw_last_error tells: no object of this heap begins there, or it is in an arena (HW_EINVAL); HW_ELIMIT,
 * HW_ENOMEM, HW_ESTATE: see above. */
void *hw_weak_new(hw_mutator *m, void *object);

/* The object that a weak reference refers to, NULL if it is dead. What it returns is as any pointer that was loaded from an
 * object: alive, and kept by whatever leads to it from now on. NULL also on error: weak is none (HW_EINVAL), HW_ESTATE. */
void *hw_weak_get(hw_mutator *m, void *weak);

/* An ephemeron: an object of the heap that keeps value alive as long as something else leads to key, and no longer. So
 * whatever is reached from value may lead to key. It is cleared when key is dead. value may be NULL. May collect; errors as
 * for hw_weak_new. hw_free refuses weak references and ephemerons (HW_EINVAL): drop what leads to them; and their keys are left
 * to the collector, too (hw_free). */
void *hw_ephemeron_new(hw_mutator *m, void *key, void *value);

/* Its key, and its value; NULL if it was cleared, as hw_weak_get. */
void *hw_ephemeron_key(hw_mutator *m, void *ephemeron);
void *hw_ephemeron_value(hw_mutator *m, void *ephemeron);

/* Changes its value, which is nobody's if the key is dead. HW_EINVAL, HW_ESTATE: as for hw_weak_get. */
hw_status hw_ephemeron_set(hw_mutator *m, void *ephemeron, void *value);

/* ------------------------------------------------------------------------------------------------- weak tables -- */

/* A table that keeps none of its keys alive, and the value of each as long as something else leads to the key: for properties
 * of objects, caches, sets (with values NULL), and objects that are to be one if they are equal. It is an object of the heap, and
 * dies as others do. Threads share it; each call holds a lock of the table for a moment, so a table of millions makes a
 * collection wait while its array is made larger. Table, key, value and object are reachable during a call that may collect.
 * Errors, of which hw_last_error tells: no table, or no object that could be a key (HW_EINVAL), HW_ELIMIT, HW_ENOMEM,
 * HW_ESTATE: see above. */

/* An empty table; NULL on error. May collect. */
void *hw_weak_table_new(hw_mutator *m);

/* Sets the value of a key, by the identity of the object. May collect. */
hw_status hw_weak_table_set(hw_mutator *m, void *table, void *key, void *value);

/* Whether the table has the key; *value, unless value is NULL, is what it was given. false also on error. */
bool hw_weak_table_get(hw_mutator *m, void *table, void *key, void **value);

/* Removes a key; false if the table does not have it, and on error. */
bool hw_weak_table_remove(hw_mutator *m, void *table, void *key);

/* The number of keys that no collection has found dead. It looks at all places. 0 on error. */
size_t hw_weak_table_count(hw_mutator *m, void *table);

/* The entry at *position, 0 at first, or behind it; false if there is none. *position moves behind it. Entries that come meanwhile
 * may be missed, and where many come others be seen twice. key and value may be NULL. */
bool hw_weak_table_next(hw_mutator *m, void *table, size_t *position, void **key, void **value);

/* The object of the table with this hash for which equal(object, arg) is true. If there is none: object, which is in the table
 * then, or NULL if object is. equal must not allocate, poll or block, in any heap. Tables by identity and by value are
 * different tables. NULL on error. May collect. */
void *hw_weak_table_intern(hw_mutator *m, void *table, uint64_t hash, bool (*equal)(void *object, void *arg), void *arg,
                           void *object);

/* ------------------------------------------------------------------------------------------------------- links -- */

/* A word of the program's own memory that refers to an object without keeping it alive, and is set to 0 in the pause of the
 * collection that finds the object dead. The program writes the word: the object's address, or, if roots are scanned
 * where it lies, the complement of that (~(uintptr_t)object), by which no scan keeps the object. A program that uses no memory of
 * its own for this has weak references, which cost a pause nothing while their objects live; a full pause looks at each link.
 *
 * A marking that goes on beside the program does not know of plain loads: where the option concurrent is not off, the word is only
 * compared with 0, and hw_link_get gives the object. */
enum { HW_LINK_LONG = 1 };

/* Has *slot cleared when object is dead: before finalisers that revive it are queued, or, with HW_LINK_LONG, when it is gone. A slot
 * that has a link gets another object. slot may be written until hw_link_remove, or it is in an object of the heap, with which the
 * link ends. hw_link_remove comes before hw_free of the object, or of that in which slot lies. HW_EINVAL: no object of this heap begins there; it or the
 * slot is in an arena; slot is no multiple of 8; flags. HW_EFULL, HW_ENOMEM, HW_ESTATE: see above. */
hw_status hw_link_add(hw_mutator *m, void *slot, void *object, uint32_t flags);

/* The object that slot has a link to; NULL if it is dead, there is no link, or on error (HW_ESTATE). */
void *hw_link_get(hw_mutator *m, void *slot);

/* Moves a link, and the word, to another slot. HW_EINVAL: from has no link, or to cannot have one. HW_ENOMEM, HW_ESTATE. */
hw_status hw_link_move(hw_mutator *m, void *from, void *to);

/* Ends a link, on any thread; false if there is none. The word stays. */
bool hw_link_remove(hw_heap *heap, void *slot);

/* ----------------------------------------------------------------------------------------- control and figures -- */

/* A full collection: what no root led to when it was called is gone when it returns. HW_ESTATE: see above. */
hw_status hw_collect(hw_mutator *m);

/* A young collection if the heap has them now, which is quick; otherwise a full one. HW_ESTATE: see above. */
hw_status hw_collect_young(hw_mutator *m);

/* Asks for a full collection that goes on while the program does, and returns at once. What no root led to when it was
 * called is gone when that collection has ended. With the option concurrent it marks beside the program, however little is
 * alive. Otherwise, and where that cannot be, the next allocation of any thread collects that needs more memory than its
 * thread has at hand, or hw_collect_wait or hw_collect_done does. *out may be copied, and used by any thread of the heap.
 * HW_ESTATE: see above. */
hw_status hw_collect_start(hw_mutator *m, hw_ticket *out);

/* Waits until the collection has ended, and collects itself if nobody else would. Other collections go on meanwhile, as in
 * hw_call_blocking. In a forked child, too. HW_EINVAL: the ticket is not one of this heap. HW_ESTATE: see above. May
 * collect. */
hw_status hw_collect_wait(hw_mutator *m, hw_ticket ticket);

/* Whether it has ended; *done is not changed on error. Returns at once where a thread of the heap marks beside the program;
 * otherwise it collects, since a program that only asks would wait for good. The errors are those of hw_collect_wait. May
 * collect. */
hw_status hw_collect_done(hw_mutator *m, hw_ticket ticket, bool *done);

/* How many full collections have ended, in one load: an epoch for caches. NULL is 0. */
uint64_t hw_full_collections(const hw_heap *heap);

/* Calls fn(arg, moment, kind) twice in each pause of the heap, before anything is marked and before the threads go on, in
 * place of the function that was set before; fn NULL: none. moment is HW_COLLECTION_START or HW_COLLECTION_END; by then
 * hw_full_collections and hw_stats_get have counted the collection. kind is
 *   HW_COLLECTION_YOUNG          a young collection;
 *   HW_COLLECTION_FULL           a full one in one stop;
 *   HW_COLLECTION_MARKING_START  a young one that starts a full marking beside the program;
 *   HW_COLLECTION_MARKING_END    the end of that: it is a full collection.
 * fn runs with all threads stopped, on the thread that collects, which is attached, never on one of the heap's own. So while a
 * function is set a marking beside the program starts and ends when a thread allocates and needs more memory than it has at
 * hand, or waits for a collection; and an idle heap is not collected. fn is brief, waits for no other thread, does not fork,
 * longjmp or unwind, does with stops by signals only what a signal handler may, and uses no heap but for statistics and hw_full_collections: what it calls else of this one is refused
 * (HW_ESTATE, NULL), inline allocation, too. Set during a marking, it sees the end of that.
 * HW_ESTATE: called from it, from a trace function, or inside a blocking region. May collect. */
#define HW_COLLECTION_START 0u
#define HW_COLLECTION_END 1u
#define HW_COLLECTION_YOUNG 0u
#define HW_COLLECTION_FULL 1u
#define HW_COLLECTION_MARKING_START 2u
#define HW_COLLECTION_MARKING_END 3u
typedef void (*hw_collection_fn)(void *arg, uint32_t moment, uint32_t kind);
hw_status hw_on_collection(hw_heap *heap, hw_collection_fn fn, void *arg, hw_error *why);

/* Gives the memory of all free pages back to the system; *released, unless NULL, is how many bytes that may have been.
 * Only what a collection has found dead is free: collect first. Other threads go on meanwhile. */
hw_status hw_release_free_memory(hw_heap *heap, size_t *released);

/* Change the options percent and limit of a heap in use (a limit of 0: none), from any thread; HW_EINVAL, and the heap stays
 * as it is, if the value is out of range. The next collection honours them. A limit holds for requests for memory from now on;
 * what is in use may be more. The heap's addresses do not change: with a limit it was made for twice that. */
hw_status hw_percent_set(hw_heap *heap, uint32_t percent);
hw_status hw_limit_set(hw_heap *heap, size_t limit);

/* Times are nanoseconds, sizes bytes; p50 is the median, p99 the 99th percentile, max the longest, total the sum.
 * docs/guide/statistics.md says how to read them. */
/* generated: statistics */
typedef struct hw_stats {
    /* Of this struct: set by hw_stats_get's caller. */
    size_t size;
    /* Collections so far. */
    uint64_t collections;
    /* Young ones among them, with pauses that only promote. */
    uint64_t young_collections;
    /* Collections of an idle heap, which the heap's own thread made, or asked the marker for. */
    uint64_t idle_collections;
    /* Live bytes at the last collection. */
    uint64_t live_bytes;
    /* Live objects at the last collection. */
    uint64_t live_objects;
    /* The size at which the next collection is due. */
    uint64_t goal_bytes;
    /* Bytes handed out to mutators. */
    uint64_t allocated_bytes;
    /* The part of allocated_bytes for small objects, up to 32 KiB. */
    uint64_t small_bytes;
    /* Bytes of pages that objects occupy, or that mutators have cached. */
    uint64_t in_use_bytes;
    /* Bytes of pages that may be resident: committed, and neither unused so far nor released. */
    uint64_t backed_bytes;
    /* The most bytes that were ever committed for objects. */
    uint64_t committed_bytes;
    /* Bytes given back to the kernel. */
    uint64_t released_bytes;
    /* Bytes outside the heap that its objects own, as the program has told (hw_external). They count toward goal
       and limit, and are no part of the other sizes. */
    uint64_t external_bytes;
    /* CPU time of collecting threads. */
    uint64_t collect_cpu_ns;
    /* Pauses, from the first request to stop until the last thread may go on: the median. */
    uint64_t pause_p50_ns;
    uint64_t pause_p99_ns;
    uint64_t pause_max_ns;
    uint64_t pause_total_ns;
    /* The longest pause of a young collection. */
    uint64_t young_pause_max_ns;
    /* The longest time to stop: the first part of a pause, until every other thread has stopped. */
    uint64_t stop_max_ns;
    /* The longest time of marking, the second part. */
    uint64_t mark_max_ns;
    /* Prep: the time before marking, without sweeping. The collector asks the kernel, stops the threads and takes
       what they hand in. */
    uint64_t phase_prep_ns;
    /* The part of prep until every other thread had stopped. */
    uint64_t phase_stop_ns;
    /* Mark: until the threads go on. */
    uint64_t phase_mark_ns;
    /* Sweep: the sum over all threads, which report it when they next take the lock of the span lists. */
    uint64_t phase_sweep_ns;
    /* Page recovery: returning empty spans to the page allocator, by any thread. */
    uint64_t phase_recovery_ns;
    /* The sum of prep, mark, sweep and recovery. */
    uint64_t phase_total_ns;
    /* Acquisitions of the lock of the span lists, for small objects. */
    uint64_t span_lock_acquisitions;
    /* Acquisitions of the page allocator's lock, for small objects. */
    uint64_t page_lock_acquisitions;
    /* Read-modify-writes on memory that several threads write, for small objects: two for each acquisition of
       these two locks. */
    uint64_t shared_rmws;
    /* Bytes that young collections promoted to old: found alive, or kept unmarked. */
    uint64_t promoted_bytes;
    /* Young collections that took too long and ended early: all objects not yet marked were kept. */
    uint64_t promoted_en_masse;
    /* Full markings beside the program (option concurrent) that have ended. Their pauses count among all, too:
       that of the start as a young collection, that of the end as a full one. */
    uint64_t concurrent_markings;
    /* Those of them that ended in a stop which marked on, since the goal or the limit was met first. */
    uint64_t concurrent_degenerated;
    /* CPU time of the marker beside the program. */
    uint64_t concurrent_mark_ns;
    /* Bytes of objects that these markings found, without what was promoted meanwhile. */
    uint64_t concurrent_mark_bytes;
    /* How often allocations waited for the marker, since the heap filled faster than it was marked. */
    uint64_t mark_waits;
    /* The sum of these waits. */
    uint64_t mark_wait_ns;
    uint64_t mark_wait_max_ns;
    /* The longest pause that started one. */
    uint64_t mark_start_max_ns;
    /* The longest pause that ended one, without those that marked on. */
    uint64_t mark_end_max_ns;
    /* The most words that a pause which started one has looked at: of roots, of young objects that it marked, of
       spans and of tables. */
    uint64_t mark_start_max_words;
    /* The same of pauses that ended one, without those that marked on. */
    uint64_t mark_end_max_words;
    /* Overflows of the mark stack: objects had to be found a second time. */
    uint64_t mark_overflows;
    /* Collections with the full set of checks (verify mode). */
    uint64_t verified;
    /* Stores that bypassed the write barrier (verify mode). */
    uint64_t barrier_violations;
    /* Floating garbage: objects that the last marking beside the program has kept, though nothing led to them when
       it ended (verify mode). */
    uint64_t floating_objects;
    /* Arenas that were opened. */
    uint64_t arenas;
    /* Bytes of pages of arenas that are open or referred to: part of in_use_bytes, not of live_bytes. */
    uint64_t arena_bytes;
    /* Bytes of pages that arenas have released, for the next arenas or in quarantine. */
    uint64_t arena_free_bytes;
    /* Finalisers that are registered, of objects that no collection has found dead. */
    uint64_t finalizers;
    /* Finalisers of dead objects that wait on the queue for the program. */
    uint64_t finalizers_queued;
    /* Finalisers that were ever queued. */
    uint64_t finalized;
    /* Circles of ordered objects that the last full collection has found dead: they wait for each other, and are
       never queued. */
    uint64_t finalizer_circles;
    /* Ephemerons and weak references that were cleared since their keys were dead. */
    uint64_t weak_cleared;
    /* Threads attached now. */
    uint64_t threads;
    /* How often the program has switched collections off and not on again. */
    uint64_t collections_off;
    /* 1 if the heap's own thread is there, which sweeps and gives memory back. 0 if it is switched off or the
       system has refused it: threads that allocate sweep, and collections give memory back, a quarter at a time of
       what is too much. */
    uint64_t own_thread;
} hw_stats;
/* end: statistics */

/* Fills *stats up to stats->size bytes, which the caller has set to sizeof *stats; what this library does not know is
 * 0. Any thread may call it. */
hw_status hw_stats_get(hw_heap *heap, hw_stats *stats);

/* Where the memory of a heap is, in bytes: for those who ask why a process is much larger than what is alive.
 * docs/guide/memory.md says what adds up to what, and what to do about each part. */
/* generated: memory */
typedef struct hw_memory {
    /* Of this struct: set by hw_memory_get's caller. */
    size_t size;
    /* Pages that may be resident, as backed_bytes counts them: the sum of objects, cells, pages and arenas. */
    uint64_t backed;
    /* All tables. */
    uint64_t tables;
    /* Memory of the heap by the kernel's account: backed and tables, less untouched, with surplus. 0 if the kernel
       does not tell. */
    uint64_t resident;
    /* Memory of the whole process, by the kernel's account. The rest is the program's and its libraries', other
       heaps', and stacks. */
    uint64_t process;
    /* Objects that the last full collection found alive, and that the program has not freed. Some may be dead by
       now. */
    uint64_t survived;
    /* Objects that young collections have promoted since. Some may be dead. */
    uint64_t promoted;
    /* Objects made since the last collection. Some may be dead. */
    uint64_t young;
    /* Cells of objects that the program has freed itself, and that it has not used again. */
    uint64_t freed;
    /* Dead cells and large objects that no sweep has visited since the last collection. */
    uint64_t unswept;
    /* Free cells of partly used spans. */
    uint64_t partial;
    /* Free cells of spans that threads keep for later. */
    uint64_t cached;
    /* Free cells of the spans that threads allocate from: one span for each thread and layout. */
    uint64_t open;
    /* Ends of spans that no cell fits into, and of the last pages of large objects. */
    uint64_t tails;
    /* Pages of large objects that threads are zeroing. */
    uint64_t unfinished;
    /* Free pages that threads keep for later. */
    uint64_t cached_pages;
    /* Free pages whose memory was not given back. */
    uint64_t free_pages;
    /* Memory of arenas that are open or referred to. */
    uint64_t arenas;
    /* Memory of closed arenas for the next ones. */
    uint64_t free_arenas;
    /* Memory of arenas that were closed while pointers may be left, as far as the kernel has not taken it back. */
    uint64_t quarantined;
    /* The part of backed that was never touched, and takes no memory. */
    uint64_t untouched;
    /* Memory of pages that the heap does not use: parts of huge pages. */
    uint64_t surplus;
    /* The page allocator's bitmaps and summaries. */
    uint64_t page_bitmaps;
    /* The span of each page. */
    uint64_t page_table;
    /* Descriptors of spans. */
    uint64_t span_descriptors;
    /* Mark bits and allocation bits. */
    uint64_t mark_bits;
    /* Layouts of objects in shared spans and in arenas. */
    uint64_t pointer_bits;
    /* Bits of cells that the program has freed. */
    uint64_t freed_bits;
    /* Sets of pages: those of young objects, starts of large ones. */
    uint64_t page_sets;
    /* Shapes and programs of types, and the central lists of each shape. */
    uint64_t layouts;
    /* Stacks and helpers of markings. */
    uint64_t mark_stacks;
    /* Slots of old objects that refer to young ones. */
    uint64_t remembered;
    /* Messages of threads to a marking beside the program. */
    uint64_t marking_log;
    /* Handles, slots, ranges, stacks and libraries; and finalisers. */
    uint64_t roots;
    /* The threads' own parts: buffers, caches. */
    uint64_t mutators;
    /* The heap's own record. */
    uint64_t heap;
    /* Copies and logs of verify mode, and snapshots of pages. */
    uint64_t checks;
} hw_memory;
/* end: memory */

/* The memory of the spans of one size class, or of large objects. Programs read its fields; later versions may add
 * more behind them. */
typedef struct hw_memory_class {
    /* The size of its cells; 0 for large objects. */
    size_t cell;
    /* The number of spans, or of large objects. */
    size_t spans;
    /* Bytes of their pages, which the fields below add up to. */
    size_t bytes;
    /* Objects that a collection has found alive or promoted. */
    size_t old;
    /* Objects made since the last collection. */
    size_t young;
    /* These are the parts of hw_memory with the same names. */
    size_t freed;
    size_t unswept;
    size_t partial;
    size_t cached;
    size_t open;
    size_t tails;
} hw_memory_class;

/* Takes a class, by size, the large objects last; *row is gone when it returns. */
typedef void hw_memory_row(const hw_memory_class *row, void *argument);

/* Fills *memory up to memory->size bytes, which the caller has set to sizeof *memory; what this library does not know is
 * 0. Then it calls row, unless that is NULL, for each class that has spans. It waits for a collection that is under way,
 * and stops the threads for less than two milliseconds a hundred megabytes. Any thread may call it, but not from a trace
 * function, or inside a blocking region of this heap. HW_ESTATE: see above. */
hw_status hw_memory_get(hw_heap *heap, hw_memory *memory, hw_memory_row *row, void *argument);

#ifdef __cplusplus
}
#endif
#endif
