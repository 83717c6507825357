/* Functions that the library calls throw C++ exceptions: that for the end of memory, finalizers, functions with a base of the stack.
   The exception arrives, and the library goes on, on other threads, too. (Nix, crystal#3996, crystal#17111) */
#include "check.h"
#include <new>
#include <stdexcept>
extern "C" void GC_finalize_all(void);
static void quiet(char *, GC_word) {}
static void *no_memory(size_t) { throw std::bad_alloc(); }
static long ran, thrown;
static void throws(void *, void *) {
    ran++;
    throw std::runtime_error("from a finalizer");
}
static void plain(void *, void *) { ran++; }
static void *based(struct GC_stack_base *, void *) { throw std::runtime_error("on a base"); }
static void *blocked(void *) { throw std::runtime_error("from a blocking call"); }
static void *active(void *) { return GC_call_with_gc_active(blocked, NULL); }
template <class F> static bool threw(F f) {
    try {
        f();
    } catch (std::exception &) {
        thrown++;
        return true;
    }
    return false;
}
static void *volatile got;
static void *rounds(void *argument) {
    const size_t big = (size_t)1 << 46;
    for (int i = 0; i < 100; i++) {
        CHECK(threw([&] { got = GC_MALLOC(big); }));
        CHECK(threw([&] { got = GC_MALLOC_ATOMIC(big); }));
        CHECK(threw([&] { got = GC_REALLOC(GC_MALLOC(10), big); }));
        CHECK(threw([&] { got = GC_MALLOC_UNCOLLECTABLE(big); }));
        CHECK(threw([&] { got = GC_MALLOC_IGNORE_OFF_PAGE(big); }));
        CHECK(threw([&] { got = GC_memalign(64, big); }));
        CHECK(threw([&] { got = GC_generic_malloc(big, 1); }));
        CHECK(threw([&] { GC_call_with_stack_base(based, NULL); }));
        CHECK(threw([&] { GC_call_with_alloc_lock(blocked, NULL); }));
        CHECK(threw([&] { GC_do_blocking(blocked, NULL); }));
        CHECK(threw([&] { GC_do_blocking(active, NULL); }));
        CHECK(*(char *)GC_STRDUP("x") == 'x');
        if (i % 20 == 0) GC_gcollect();
    }
    return argument;
}
static void make() {
    for (int i = 0; i < 1000; i++) GC_REGISTER_FINALIZER(GC_MALLOC(32), i % 2 ? throws : plain, NULL, NULL, NULL);
}
int main() {
    GC_INIT();
    GC_set_warn_proc(quiet);
    GC_set_oom_fn(no_memory);
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, rounds, NULL));
    rounds(NULL);
    CHECK(!pthread_join(thread, NULL));
    far_down(make);
    long before = thrown;
    for (int i = 0; i < 3000 && ran < 980; i++) threw([] { collect(); GC_invoke_finalizers(); });
    CHECK(ran >= 980 && thrown - before >= 400);
    /* Of the last ones some may be left, whose exceptions come from any allocation. */
    while (threw([] { GC_finalize_all(); })) {}
    ran = 0;
    before = thrown;
    threw([] { far_down(make); });
    for (int i = 0; i < 100000 && ran < 980; i++) threw([] { for (int j = 0; j < 300; j++) got = GC_MALLOC(64); });
    CHECK(ran >= 980 && thrown - before >= 400);
    while (threw([] { GC_finalize_all(); })) {}
    GC_gcollect();
    puts("ok");
    return 0;
}
