/* The calls for virtual machines in the wrong place or with wrong arguments: each is refused with a sentence, and the heap stays usable. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"
#include <heapwood.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

struct pair {
    struct pair *first, *second;
};

static hw_heap *heap;
static hw_mutator *me;
static hw_type pair, leaf, traced_type, no_type = 1u << 20;
static hw_tail tail;
static struct pair *root, *kept;
static hw_root function;
static void **handle;
static int calls, verify;

static const char *text(void) { return hw_last_error(me)->text; }

static int said(const char *what) {
    if (strstr(text(), what)) return 1;
    fprintf(stderr, "'%s' lacks '%s'\n", text(), what);
    return 0;
}

static void never(void *arg) { CHECK(arg && !"it is called"); }
static void never_walked(void *arg, void *object, hw_type type, size_t size) {
    (void)object, (void)type, (void)size;
    never(arg);
}

/* All that use a mutator, where none may be used, for this reason. */
static void each_is_refused(const char *why) {
    char words[100];
    CHECK(hw_dirty(me, kept) == HW_ESTATE && said(why));
    CHECK(hw_plain_begin(me, kept, 1, NULL) == HW_ESTATE && said(why));
    CHECK(hw_plain_top(me, kept, 1) == HW_ESTATE && said(why));
    CHECK(hw_plain_end(me, kept) == HW_ESTATE && said(why));
    CHECK(hw_why_alive(me, kept, words, sizeof words) == HW_ESTATE && said(why));
    CHECK(hw_walk(me, never_walked, NULL) == HW_ESTATE && said(why));
    CHECK(hw_reserve(me, 1 << 16) == HW_ESTATE && said(why));
    CHECK(hw_reserve(me, 0) == HW_ESTATE && said(why));
    CHECK(hw_mutator_give(me) == HW_ESTATE && said(why));
    CHECK(hw_alloc_tail(me, &tail, 100) == NULL && said(why));
    calls++;
}

static void no_function(void *arg, hw_tracer *tracer) {
    (void)tracer;
    never(arg);
}

/* What may be called from anywhere, but in a function that a collection calls would wait for that collection. */
static void roots_are_refused(const char *where) {
    hw_error why;
    hw_stack *stack;
    CHECK(hw_on_report(heap, NULL, NULL, &why) == HW_ESTATE && strstr(why.text, where));
    CHECK(hw_on_collection(heap, NULL, NULL, &why) == HW_ESTATE && strstr(why.text, where));
    CHECK(hw_root_slots(heap, &root, 1, &why) == 0 && strstr(why.text, where));
    CHECK(hw_root_range(heap, &root, &root + 1, &why) == 0 && strstr(why.text, where));
    CHECK(hw_roots_add_dso(heap, &heap, &why) == 0 && strstr(why.text, where));
    CHECK(hw_root_function(heap, no_function, NULL, &why) == 0 && strstr(why.text, where));
    CHECK(hw_root_remove(heap, function, &why) == HW_ESTATE && strstr(why.text, where));
    CHECK(hw_stack_range_add(heap, &root, &root + 1, &stack, &why) == HW_ESTATE && strstr(why.text, where));
    CHECK(hw_handle_new(me, kept) == NULL && said(where) && hw_handle_set(me, handle, root) == HW_ESTATE && said(where));
    CHECK(hw_handle_free(me, handle) == HW_ESTATE && said(where) && *handle == kept);
    CHECK(hw_heap_destroy(heap, &why) == HW_ESTATE);
}

static void in_a_region(void *arg) {
    each_is_refused(arg);
    CHECK(hw_blocking_begin(me) == HW_ESTATE);
}

static void in_a_trace_function(void *object, size_t size, hw_tracer *tracer) {
    (void)object, (void)size, (void)tracer;
    each_is_refused("inside a trace function");
    CHECK(hw_blocking_begin(me) == HW_ESTATE && hw_blocking_end(me) == HW_ESTATE);
    roots_are_refused("inside a trace function");
}

static void in_a_root_function(void *arg, hw_tracer *tracer) {
    (void)tracer;
    each_is_refused(arg);
    CHECK(hw_blocking_begin(me) == HW_ESTATE && hw_blocking_end(me) == HW_ESTATE);
    roots_are_refused(arg);
}

static void in_a_walk(void *arg, void *object, hw_type type, size_t size) {
    (void)object, (void)type, (void)size;
    if (calls > 0) return;
    each_is_refused(arg);
    roots_are_refused(arg);
}

static void in_a_report(void *arg, const char *report) {
    CHECK(strstr(report, "without the write barrier"));
    each_is_refused(arg);
    roots_are_refused(arg);
}

static void *of_another_thread(void *arg) {
    hw_error why;
    CHECK(hw_mutator_take(heap, me, &why) == HW_ESTATE && strstr(why.text, "gives it away before"));
    CHECK(hw_dirty(me, kept) == HW_ESTATE && said("another thread's"));
    each_is_refused("another thread's");
    CHECK(hw_blocking_begin(me) == HW_ESTATE && said("another thread's"));
    CHECK(hw_blocking_end(me) == HW_ESTATE && said("another thread's"));
    return arg;
}

static void join(void *arg) { pthread_join(*(pthread_t *)arg, NULL); }

static void *takes(void *arg) {
    hw_error why;
    CHECK(hw_mutator_take(NULL, me, &why) == HW_EINVAL && hw_mutator_take(heap, NULL, &why) == HW_EINVAL);
    CHECK(hw_mutator_take(heap, me, &why) == HW_OK);
    CHECK(hw_mutator_take(heap, me, &why) == HW_ESTATE && hw_alloc(me, pair) != NULL);
    CHECK(hw_mutator_give(me) == HW_OK && hw_mutator_give(me) == HW_ESTATE);
    return arg;
}

/* What is no object, or none that the call is for. */
static void wrong_objects(void) {
    static uint64_t outside[8];
    char words[100];
    void *bytes = hw_alloc_bytes(me, 64), *freed = hw_alloc(me, pair);
    hw_arena *arena;
    CHECK(hw_arena_new(me, 0, &arena) == HW_OK);
    void *value = hw_arena_alloc(arena, pair, 1);
    CHECK(bytes && freed && value && hw_free(me, freed) == HW_OK);
    void *const wrong[] = {outside, (char *)kept + 8, (char *)kept + 1, (void *)16, (void *)UINTPTR_MAX, freed, value, words};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(hw_dirty(me, wrong[i]) == HW_EINVAL && said("0x"));
        CHECK(hw_plain_begin(me, wrong[i], 1, NULL) == HW_EINVAL && said("0x"));
        CHECK(hw_plain_top(me, wrong[i], 1) == HW_EINVAL && hw_plain_end(me, wrong[i]) == HW_EINVAL && said("0x"));
        CHECK(hw_why_alive(me, wrong[i], words, sizeof words) == HW_EINVAL);
    }
    CHECK(hw_dirty(me, NULL) == HW_EINVAL && said("object is NULL") && hw_dirty(NULL, kept) == HW_EINVAL);
    CHECK(hw_plain_begin(me, NULL, 1, NULL) == HW_EINVAL && hw_plain_begin(NULL, kept, 1, NULL) == HW_EINVAL);
    CHECK(hw_plain_begin(me, bytes, 1, NULL) == HW_EINVAL && said("no slots"));
    CHECK(hw_plain_begin(me, kept, 1000, NULL) == HW_EINVAL && hw_plain_begin(me, kept, SIZE_MAX - 1, NULL) == HW_EINVAL);
    CHECK(hw_plain_top(me, kept, 1) == HW_EINVAL && hw_plain_end(me, kept) == HW_EINVAL);
    CHECK(hw_plain_begin(me, kept, 1, NULL) == HW_OK && hw_plain_begin(me, kept, 1, NULL) == HW_EINVAL);
    CHECK(hw_plain_top(me, kept, 1000) == HW_EINVAL && hw_free(me, kept) == HW_EINVAL && said("plain stores"));
    CHECK(hw_plain_end(me, kept) == HW_OK && hw_plain_end(me, kept) == HW_EINVAL);
    CHECK(hw_why_alive(me, NULL, words, sizeof words) == HW_EINVAL && hw_why_alive(me, kept, words, 0) == HW_EINVAL);
    CHECK(hw_walk(me, NULL, NULL) == HW_EINVAL && hw_walk(NULL, never_walked, NULL) == HW_EINVAL);
    CHECK(hw_reserve(NULL, 1) == HW_EINVAL && hw_reserve(me, SIZE_MAX) != HW_OK && hw_reserve(me, 0) == HW_OK);
    CHECK(hw_blocking_begin(NULL) == HW_EINVAL && hw_blocking_end(NULL) == HW_EINVAL && hw_mutator_give(NULL) == HW_EINVAL);
    hw_request_poll(NULL);
    /* Where the store lies outside the heap it is a plain one. */
    hw_write_inside(me, &outside[3], kept);
    CHECK(outside[3] == (uintptr_t)kept);
    CHECK(hw_arena_free(arena) == HW_OK);
}

static void wrong_types(void) {
    hw_error why;
    hw_tail other, same = tail;
    CHECK(hw_heap_tag(NULL, (hw_tag){7, 1}, &why) == HW_EINVAL);
    CHECK(hw_heap_tag(heap, (hw_tag){7, 1}, &why) == HW_ESTATE && strlen(why.text) > 20);
    CHECK(hw_heap_tag(heap, (hw_tag){1, 2}, &why) == HW_EINVAL && hw_heap_tag(heap, (hw_tag){0, 0}, NULL) == HW_EINVAL);
    CHECK(hw_type_tail(NULL, 0, pair, &other, &why) == HW_EINVAL && hw_type_tail(heap, 0, pair, NULL, &why) == HW_EINVAL);
    CHECK(hw_type_tail(heap, no_type, pair, &other, &why) == HW_EINVAL && hw_type_tail(heap, 0, no_type, &other, &why) == HW_EINVAL);
    CHECK(hw_type_tail(heap, pair, 0, &other, &why) == HW_EINVAL);
    CHECK(hw_type_tail(heap, traced_type, pair, &other, &why) == HW_EDESC && hw_type_tail(heap, 0, traced_type, &other, &why) == HW_EDESC);
    CHECK(hw_type_tail(heap, tail.type, pair, &other, &why) == HW_EDESC && hw_type_tail(heap, 0, tail.type, &other, &why) == HW_EDESC);
    CHECK(hw_alloc_tail(me, &tail, SIZE_MAX) == NULL && hw_alloc_tail(me, &tail, SIZE_MAX / 16) == NULL);
    same.type = pair;
    CHECK(hw_alloc_tail(me, &same, 1000) == NULL && text()[0]);
    same.type = no_type;
    CHECK(hw_alloc_tail(me, &same, 1000) == NULL && text()[0]);
    CHECK(hw_type_name(NULL, pair, "Pair", &why) == HW_EINVAL && hw_type_name(heap, pair, NULL, &why) == HW_EINVAL);
    CHECK(hw_type_name(heap, no_type, "None", &why) == HW_EINVAL && hw_type_name(heap, 0, "None", NULL) == HW_EINVAL);
    CHECK(hw_root_function(heap, NULL, NULL, &why) == 0 && strstr(why.text, "fn is NULL"));
    CHECK(hw_root_function(NULL, in_a_root_function, NULL, &why) == 0);
    CHECK(hw_on_report(NULL, NULL, NULL, &why) == HW_EINVAL);
}

int main(int argc, char **argv) {
    hw_options options;
    hw_error why;
    hw_options_init(&options);
    options.generational = HW_GENERATIONAL_ALWAYS;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "verify")) options.verify = (uint32_t)(verify = 1);
        if (!strcmp(argv[i], "signals")) options.stop = HW_STOP_SIGNALS, options.generational = HW_GENERATIONAL_OFF;
        if (!strcmp(argv[i], "beside")) options.concurrent = HW_CONCURRENT_ON;
    }
    /* A call that waits for itself hangs. */
    alarm(120);
    CHECK(hw_heap_create(&options, &heap, &why) == HW_OK && hw_attach(heap, NULL, &me, &why) == HW_OK);
    const uint64_t mask = HW_POINTER(struct pair, first) | HW_POINTER(struct pair, second);
    CHECK(hw_type_mask(heap, sizeof(struct pair), &mask, 1, &pair, &why) == HW_OK);
    CHECK(hw_type_no_pointers(heap, 24, &leaf, &why) == HW_OK && hw_type_tail(heap, leaf, pair, &tail, &why) == HW_OK);
    CHECK(hw_type_trace(heap, 32, in_a_trace_function, &traced_type, &why) == HW_OK);
    CHECK(hw_root_slots(heap, &root, 1, &why) && hw_root_slots(heap, &kept, 1, &why));
    CHECK((kept = hw_alloc(me, pair)) && (root = hw_alloc(me, pair)));

    CHECK((handle = hw_handle_new(me, kept)) != NULL);

    wrong_objects();
    wrong_types();

    CHECK(hw_call_blocking(me, in_a_region, "inside a blocking region") == HW_OK && calls == 1);
    CHECK(hw_blocking_end(me) == HW_ESTATE && said("region"));
    CHECK(hw_blocking_begin(me) == HW_OK);
    each_is_refused("inside a blocking region");
    CHECK(hw_blocking_begin(me) == HW_ESTATE && hw_blocking_end(me) == HW_OK && hw_blocking_end(me) == HW_ESTATE);

    pthread_t thread;
    calls = 0;
    CHECK(pthread_create(&thread, NULL, of_another_thread, NULL) == 0 && hw_call_blocking(me, join, &thread) == HW_OK && calls == 1);

    calls = 0;
    CHECK(hw_walk(me, in_a_walk, "inside") == HW_OK && calls == 1);
    calls = 0;
    function = hw_root_function(heap, in_a_root_function, "inside", &why);
    CHECK(function && hw_collect(me) == HW_OK && hw_collect_young(me) == HW_OK && calls > 0);
    CHECK(hw_root_remove(heap, function, &why) == HW_OK && hw_root_remove(heap, function, &why) == HW_EINVAL);
    calls = 0;
    hw_write(me, root, &root->first, hw_alloc(me, traced_type));
    CHECK(hw_collect(me) == HW_OK && calls > 0);
    hw_write(me, root, &root->first, NULL);
    if (verify && options.stop != HW_STOP_SIGNALS) {
        calls = 0;
        CHECK(hw_on_report(heap, in_a_report, "inside", &why) == HW_OK && hw_collect(me) == HW_OK);
        root->second = kept;
        CHECK(hw_collect(me) == HW_OK && calls > 0 && hw_on_report(heap, NULL, NULL, &why) == HW_OK);
    }

    CHECK(hw_mutator_take(heap, me, &why) == HW_ESTATE);
    CHECK(hw_mutator_give(me) == HW_OK);
    CHECK(hw_dirty(me, kept) == HW_ESTATE && said("given"));
    each_is_refused("given");
    CHECK(pthread_create(&thread, NULL, takes, NULL) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(hw_mutator_take(heap, me, &why) == HW_OK);

    CHECK(hw_collect(me) == HW_OK && hw_alloc(me, pair) && hw_alloc_tail(me, &tail, 3));
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.threads == 1);
    CHECK(hw_detach(me) == HW_OK && hw_heap_destroy(heap, &why) == HW_OK);
    puts("each is refused");
    return 0;
}
