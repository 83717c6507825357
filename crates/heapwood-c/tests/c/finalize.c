/* Objects own eventfds, of which a process may have few: each is closed once its object is dead. The object is not revived, and
 * the library calls nothing. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"
#include <errno.h>
#include <heapwood.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FILES = 64 };

struct file { uint64_t fd, unused; };

static hw_heap *heap;
static uint64_t closed, objects = 100000;

/* Data is not a pointer here, but a descriptor. */
static void close_dead(void) {
    for (void *data; hw_finalize_next_data(heap, 0, &data); closed++) CHECK(close((int)(intptr_t)data) == 0);
}

static struct file *open_file(hw_mutator *m, hw_type type) {
    int fd = eventfd(0, 0);
    if (fd < 0) {
        /* There are none left: what is dead is closed, as a VM would do for EMFILE. */
        CHECK(errno == EMFILE && hw_collect(m) == HW_OK);
        close_dead();
        CHECK((fd = eventfd(0, 0)) >= 0);
    }
    struct file *file = hw_alloc(m, type);
    CHECK(file != NULL);
    file->fd = (uint64_t)fd;
    CHECK(hw_finalize_data(m, file, 0, (void *)(intptr_t)fd, NULL) == HW_OK);
    return file;
}

static void *takes(void *arg) {
    (void)arg;
    /* A thread that is not attached. */
    close_dead();
    return NULL;
}

int main(int argc, char **argv) {
    hw_options options;
    hw_mutator *m;
    hw_type type;
    hw_error why;
    struct file *kept[8] = {NULL};
    struct rlimit few = {FILES, FILES};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    /* More than these cannot be open: the test would pass without finalisers otherwise. */
    int fds[FILES], opened = 0;
    while (opened < FILES && (fds[opened] = eventfd(0, 0)) >= 0) opened++;
    CHECK(opened < FILES && errno == EMFILE);
    while (opened > 0) CHECK(close(fds[--opened]) == 0);
    hw_options_init(&options);
    options.conservative_stacks = 0;
    if (argc > 2) objects = strtoull(argv[2], NULL, 10);
    options.generational = argc > 1 && strcmp(argv[1], "young") == 0 ? HW_GENERATIONAL_ALWAYS : HW_GENERATIONAL_AUTO;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    CHECK(hw_type_no_pointers(heap, sizeof(struct file), &type, NULL) == HW_OK);
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_root_slots(heap, kept, 8, NULL) != 0);
    for (uint64_t i = 0; i < objects; i++) {
        kept[i % 8] = open_file(m, type);
        uint64_t one = 1;
        /* One that was opened a while ago is open still. */
        CHECK(write((int)kept[i < 8 ? 0 : (i + 1) % 8]->fd, &one, sizeof one) == sizeof one);
        if (i % 100 == 0) close_dead();
    }
    CHECK(closed >= objects - FILES);

    /* Another thread takes them. */
    memset(kept, 0, sizeof kept);
    CHECK(hw_collect(m) == HW_OK);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, takes, NULL) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(closed == objects);

    /* Taken back; misuse. */
    hw_finalizer finalizer = 0;
    void *data = NULL;
    kept[0] = hw_alloc(m, type);
    CHECK(hw_finalize_data(m, kept[0], 0, &options, &finalizer) == HW_OK && finalizer != 0);
    CHECK(hw_free(m, kept[0]) == HW_EINVAL && strstr(hw_last_error(m)->text, "has a finaliser") != NULL);
    CHECK(hw_finalize_cancel(heap, finalizer, &data, NULL) == HW_OK && data == &options);
    CHECK(hw_finalize_cancel(heap, finalizer, &data, &why) == HW_EINVAL && strstr(why.text, "no finaliser") != NULL);
    CHECK(hw_finalize_cancel(NULL, finalizer, &data, NULL) == HW_EINVAL);
    CHECK(hw_finalize_data(NULL, kept[0], 0, NULL, NULL) == HW_EINVAL);
    CHECK(hw_finalize_data(m, NULL, 0, NULL, NULL) == HW_EINVAL);
    CHECK(hw_finalize_data(m, (char *)kept[0] + 8, 0, NULL, NULL) == HW_EINVAL);
    CHECK(strstr(hw_last_error(m)->text, "no object of this heap") != NULL);
    hw_arena *arena = NULL;
    CHECK(hw_arena_new(m, 0, &arena) == HW_OK);
    void *inside = hw_arena_alloc(arena, type, 1);
    CHECK(hw_finalize_data(m, inside, 0, NULL, NULL) == HW_EINVAL && strstr(hw_last_error(m)->text, "lies in arena") != NULL);
    CHECK(hw_arena_free(arena) == HW_OK);
    CHECK(!hw_finalize_next_data(NULL, 0, &data) && !hw_finalize_next_data(heap, 0, NULL) && !hw_finalize_next_data(heap, 0, &data));

    /* The end: what is registered is taken first. */
    CHECK(hw_finalize_data(m, kept[0], 0, kept, NULL) == HW_OK);
    CHECK(hw_detach(m) == HW_OK);
    CHECK(hw_heap_destroy(heap, &why) == HW_ESTATE && strstr(why.text, "1 finalisers") != NULL);
    CHECK(hw_finalize_all(NULL, NULL) == HW_EINVAL && hw_finalize_all(heap, NULL) == HW_OK);
    CHECK(hw_heap_destroy(heap, &why) == HW_ESTATE);
    CHECK(hw_finalize_next_data(heap, 0, &data) && data == kept && !hw_finalize_next_data(heap, 0, &data));
    CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
    puts("each is closed");
    return 0;
}
