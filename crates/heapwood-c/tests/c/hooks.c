/* A function that is called in each pause, and the epoch. A cache is cleared in it; what it tries with the heap is refused. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "list.h"
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LENGTH = 2000, KEPT = 16 };

static hw_heap *heap;
static hw_type type;
static hw_mutator *mine;

struct told {
    uint64_t starts, ends, full, beside, refused;
    pthread_t thread;
};

/* A cache that is valid in one epoch. */
static struct node *cache[16];
static uint64_t cached_in;

static void tell(void *arg, uint32_t moment, uint32_t kind) {
    struct told *told = arg;
    CHECK(pthread_equal(told->thread, pthread_self()));
    if (moment == HW_COLLECTION_START) {
        told->starts++;
    } else {
        told->ends++;
        told->full += kind == HW_COLLECTION_FULL || kind == HW_COLLECTION_MARKING_END;
        told->beside += kind == HW_COLLECTION_MARKING_END;
        memset(cache, 0, sizeof cache);
        cached_in = hw_full_collections(heap);
    }
    CHECK(hw_alloc(mine, type) == NULL && hw_last_error(mine)->status == HW_ESTATE);
    CHECK(strstr(hw_last_error(mine)->text, "inside a hook of a collection") != NULL);
    CHECK(hw_alloc_bytes(mine, 16) == NULL && hw_alloc_array(mine, type, 100) == NULL);
    CHECK(hw_collect(mine) == HW_ESTATE);
    hw_error why;
    CHECK(hw_on_collection(heap, NULL, NULL, &why) == HW_ESTATE && why.status == HW_ESTATE);
    hw_stats stats = {.size = sizeof stats};
    CHECK(hw_stats_get(heap, &stats) == HW_OK);
    told->refused++;
}

static void fill_cache(hw_mutator *m) {
    for (size_t i = 0; i < sizeof cache / sizeof *cache; i++) cache[i] = hw_alloc(m, type);
}

int main(int argc, char **argv) {
    hw_options options;
    hw_error why;
    struct node *lists[KEPT] = {NULL};
    bool beside = argc > 1 && strcmp(argv[1], "beside") == 0;
    bool verify = argc > 1 && strcmp(argv[1], "verify") == 0;
    hw_options_init(&options);
    options.conservative_stacks = 0;
    options.verify = verify;
    options.max_pause = beside ? 0 : HW_TIME_OFF;
    options.min_heap = 1 << 20;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    type = node_type_of(heap);
    CHECK(hw_attach(heap, NULL, &mine, NULL) == HW_OK);
    CHECK(hw_root_slots(heap, lists, KEPT, NULL) != 0);
    CHECK(hw_full_collections(NULL) == 0 && hw_full_collections(heap) == 0);
    CHECK(hw_on_collection(NULL, tell, NULL, &why) == HW_EINVAL && strstr(why.text, "heap is NULL") != NULL);

    struct told told = {.thread = pthread_self()};
    CHECK(hw_on_collection(heap, tell, &told, NULL) == HW_OK);
    fill_cache(mine);
    CHECK(hw_collect(mine) == HW_OK);
    CHECK(told.full == 1 && cache[0] == NULL && cached_in == 1 && hw_full_collections(heap) == 1);
    CHECK(hw_collect_young(mine) == HW_OK);
    CHECK(told.ends >= 2);
    /* Until many have been, by themselves: those beside the program, too, on this thread. Lists live long enough to become old, so
       that full collections come whatever young ones cost. */
    for (uint64_t round = 0; round < 100000 && (told.full < 10 || told.beside < (beside ? 5 : 0)); round++) {
        struct node **list = &lists[round % KEPT];
        *list = NULL;
        for (uint64_t i = 0; i < LENGTH; i++) *list = extend(mine, type, *list, i);
        walk(*list, LENGTH, 0);
    }
    CHECK(told.full >= 10 && told.starts == told.ends && told.refused == told.starts + told.ends);
    CHECK(!beside || told.beside >= 5);
    if (beside) {
        hw_ticket ticket;
        CHECK(hw_collect_start(mine, &ticket) == HW_OK && hw_collect_wait(mine, ticket) == HW_OK);
    }

    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(60);
        uint64_t before = told.full;
        CHECK(hw_collect(mine) == HW_OK && told.full > before);
        walk(lists[0], LENGTH, 0);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);

    uint64_t ends = told.ends;
    CHECK(hw_on_collection(heap, NULL, NULL, NULL) == HW_OK);
    CHECK(hw_collect(mine) == HW_OK && told.ends == ends);
    walk(lists[0], LENGTH, 0);
    CHECK(hw_detach(mine) == HW_OK);
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
    puts("each pause is told");
    return 0;
}
