/* No function of the library is a cancellation point: a thread that was cancelled goes on until the program's own next one. The
   environment makes the collector read limits and write reports, which are system calls at which a thread would end. */
#include "lists.h"
static void nothing(void *object, void *data) { (void)object; (void)data; }
static void *no_thread(void *argument) { return argument; }
static void *same(void *argument) { return argument; }
static void *with_base(struct GC_stack_base *base, void *argument) { (void)base; return argument; }
static void quiet(char *text, GC_word word) { (void)text; (void)word; }
static void warn(char *text, GC_word word) {
    /* The program's own function has one, inside a collection. */
    char line[200];
    FILE *null = fopen("/dev/null", "w");
    snprintf(line, sizeof line, text, word);
    fputs(line, null);
    fclose(null);
}
static void event(GC_EventType event) {
    FILE *null = fopen("/dev/null", "w");
    fprintf(null, "%d", event);
    fclose(null);
}
static volatile int step;
static void *run(void *argument) {
    CHECK(!pthread_cancel(pthread_self()));
#define STEP(...) do { step++; __VA_ARGS__; } while (0)
    for (int i = 0; i < 20; i++) {
        STEP(for (int j = 0; j < 10000; j++) GC_MALLOC(64));
        STEP(GC_gcollect());
        STEP(GC_FREE(GC_MALLOC_ATOMIC(5 << 20)));
        STEP(GC_gcollect_and_unmap());
        STEP(GC_try_to_collect(GC_get_stop_func()));
        STEP(GC_FREE(GC_MALLOC_UNCOLLECTABLE(100)));
        STEP(CHECK(GC_REALLOC(GC_MALLOC(100), 100000)));
        STEP(CHECK(GC_STRDUP("text")));
        STEP(CHECK(GC_memalign(256, 100)));
        STEP(GC_REGISTER_FINALIZER(GC_MALLOC(16), nothing, NULL, NULL, NULL));
        STEP(GC_invoke_finalizers());
        STEP(GC_finalize_all());
        STEP(void **link = GC_MALLOC_ATOMIC(8); *link = GC_MALLOC(8);
             GC_general_register_disappearing_link(link, *link));
        STEP(GC_enable(); GC_disable(); GC_enable(); GC_disable());
        STEP(struct GC_prof_stats_s stats; GC_get_prof_stats(&stats, sizeof stats));
        STEP(GC_get_heap_size(); GC_get_free_bytes(); GC_get_unmapped_bytes(); GC_get_total_bytes());
        STEP(static void *roots[4]; GC_add_roots(roots, roots + 4); GC_remove_roots(roots, roots + 4));
        STEP(pthread_t thread; CHECK(!pthread_create(&thread, NULL, no_thread, NULL)); CHECK(!GC_pthread_detach(thread)));
        STEP(GC_do_blocking(same, NULL); GC_call_with_gc_active(same, NULL));
        STEP(GC_call_with_alloc_lock(same, NULL); GC_call_with_stack_base(with_base, NULL));
        STEP(GC_expand_hp(1 << 20));
        STEP(if (i == 0) GC_dump());
        STEP(GC_set_warn_proc(warn); CHECK(!GC_MALLOC((size_t)1 << 46)); GC_set_warn_proc(quiet));
        STEP(GC_set_on_collection_event(event); GC_gcollect(); GC_set_on_collection_event(NULL));
        STEP(CHECK(GC_base(argument) == argument && GC_size(argument) >= 16));
        STEP(GC_unregister_my_thread(); struct GC_stack_base base; GC_get_stack_base(&base); GC_register_my_thread(&base));
    }
    step = -1;
    pthread_testcancel();
    CHECK(!"a cancelled thread ends");
    return argument;
}
int main(void) {
    GC_INIT();
    GC_allow_register_threads();
    GC_set_warn_proc(quiet);
    void **kept = GC_MALLOC_UNCOLLECTABLE(16);
    pthread_t thread;
    void *result;
    CHECK(!pthread_create(&thread, NULL, run, kept));
    CHECK(!pthread_join(thread, &result));
    if (step != -1) fprintf(stderr, "it was cancelled in step %d\n", step);
    CHECK(step == -1 && result == PTHREAD_CANCELED);
    GC_gcollect();
    puts("ok");
    return 0;
}
