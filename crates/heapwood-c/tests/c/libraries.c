/* Objects that a library's data refer to live as long as it is open, and those of the program's data if it is
 * registered. The first argument is the library, plugin.c; a second, verify, is that mode. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200112L
#endif
#include "check.h"
#include <dlfcn.h>
#include <heapwood.h>
#include <stdint.h>
#include <string.h>

struct plugin {
    void *library;
    void (*keep)(void *);
    void *(*kept)(void);
};

static void *volatile own;

/* A function's address, which ISO C has no cast for. */
static void find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    CHECK(found != NULL);
    memcpy(function, &found, sizeof found);
}

static struct plugin open_plugin(const char *path) {
    struct plugin p;
    p.library = dlopen(path, RTLD_NOW);
    CHECK(p.library != NULL);
    find(p.library, "plugin_keep", &p.keep);
    find(p.library, "plugin_kept", &p.kept);
    return p;
}

static uint64_t alive(hw_mutator *m) {
    hw_stats stats;
    stats.size = sizeof stats;
    CHECK(hw_collect(m) == HW_OK);
    CHECK(hw_stats_get(hw_mutator_heap(m), &stats) == HW_OK);
    return stats.live_objects;
}

int main(int argc, char **argv) {
    CHECK(argc >= 2);
    hw_options options;
    hw_options_init(&options);
    options.conservative_stacks = 0;
    options.verify = argc > 2;
    hw_heap *heap = NULL;
    hw_mutator *m = NULL;
    hw_type pair;
    hw_error why;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_type_describe(heap, "{ ptr ptr }", NULL, &pair, NULL) == HW_OK);

    int local = 0;
    CHECK(hw_roots_add_dso(NULL, argv, &why) == 0 && why.status == HW_EINVAL);
    CHECK(hw_roots_add_dso(heap, NULL, &why) == 0 && why.status == HW_EINVAL);
    CHECK(hw_roots_add_dso(heap, &local, &why) == 0 && why.status == HW_EINVAL);
    CHECK(strstr(why.text, "is in no library that is loaded") != NULL);

    for (int turn = 0; turn < 3; turn++) {
        struct plugin p = open_plugin(argv[1]);
        void *code;
        memcpy(&code, &p.keep, sizeof code);
        hw_root root = hw_roots_add_dso(heap, code, NULL);
        CHECK(root != 0);
        p.keep(hw_alloc(m, pair));
        CHECK(p.kept() != NULL && alive(m) == 1);
        /* What it refers to lives, too. */
        void **kept = (void **)p.kept();
        hw_write(m, kept, &kept[1], hw_alloc(m, pair));
        CHECK(alive(m) == 2);
        if (turn == 1) {
            CHECK(hw_root_remove(heap, root, NULL) == HW_OK);
            CHECK(alive(m) == 0);
        }
        CHECK(dlclose(p.library) == 0);
        CHECK(alive(m) == 0);
        CHECK(hw_root_remove(heap, root, NULL) == HW_EINVAL);
    }

    own = hw_alloc(m, pair);
    hw_root root = hw_roots_add_dso(heap, (const void *)&own, NULL);
    CHECK(root != 0 && alive(m) == 1);
    own = NULL;
    CHECK(alive(m) == 0);
    CHECK(hw_root_remove(heap, root, NULL) == HW_OK);

    CHECK(hw_detach(m) == HW_OK);
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
    puts("kept while it was open");
    return 0;
}
