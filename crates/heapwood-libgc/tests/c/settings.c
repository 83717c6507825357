/* Getters return what setters set, data symbols are live, the end of memory calls the program, what is refused is told. */
#include "check.h"
#include <signal.h>
static int warnings, ooms;
static char spare[16];
static void warn(char *message, GC_word word) { (void)word; (void)message; warnings++; }
static void *oom(size_t n) { (void)n; ooms++; return spare; }
/* The compiler knows that GC_malloc returns no object of the program's; GC_oom_fn may. */
static void *volatile got;
#define ALLOCATE(n) (got = GC_MALLOC(n), (char *)got)
extern int GC_full_freq;
int main(void) {
    GC_set_max_heap_size(32 << 20);
    GC_INIT();
    GC_set_warn_proc(warn);
    CHECK(GC_get_warn_proc() == warn && GC_get_version() == 0x080202);
    CHECK(GC_get_suspend_signal() == SIGPWR && GC_get_thr_restart_signal() == SIGXCPU);
    GC_set_suspend_signal(SIGUSR2);
    CHECK(GC_get_suspend_signal() == SIGPWR && warnings == 1);
    CHECK(GC_get_free_space_divisor() == 3);
    GC_set_free_space_divisor(5);
    CHECK(GC_get_free_space_divisor() == 5);
    GC_free_space_divisor = 4;
    CHECK(GC_get_free_space_divisor() == 4);
    GC_set_full_freq(7);
    CHECK(GC_get_full_freq() == 7 && GC_full_freq == 7);
    GC_finalize_on_demand = 1;
    CHECK(GC_get_finalize_on_demand() == 1);
    GC_java_finalization = 0;
    CHECK(GC_get_java_finalization() == 0);
    GC_set_oom_fn(oom);
    CHECK(GC_get_oom_fn() == oom && GC_oom_fn == oom);
    CHECK(ALLOCATE(64 << 20) == spare && ooms == 1);
    CHECK(ALLOCATE((size_t)-1) == spare && ALLOCATE((size_t)1 << 62) == spare && ooms == 3);
    void **kept = NULL;
    for (;;) {
        void **next = (void **)ALLOCATE(1 << 10);
        if ((char *)next == spare) break;
        *next = kept;
        kept = next;
    }
    CHECK(ooms == 4);
    long bytes = 0;
    for (; kept; kept = *kept) bytes += 1 << 10;
    CHECK(bytes > 20 << 20 && bytes <= 32 << 20);
    CHECK(GC_get_gc_no() == GC_gc_no && GC_gc_no > 0);
    CHECK((char *)GC_least_plausible_heap_addr < (char *)GC_MALLOC(16));
    CHECK(GC_is_incremental_mode() == 0 && GC_collect_a_little() == 0);
    CHECK(GC_stackbottom > (char *)&bytes);
    struct GC_stack_base base;
    CHECK(GC_get_stack_base(&base) == 0 && base.mem_base == GC_stackbottom);
    /* Once by name. */
    int before = warnings;
    GC_set_find_leak(1);
    GC_set_find_leak(1);
    CHECK(warnings == before + 1);
    puts("ok");
    return 0;
}
