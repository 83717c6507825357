/* Objects come back: buffers that flush to a file which one of them leads to, in order; a pool of things that are used again; a
 * circle. The library calls nothing. */
#include "check.h"
#include <heapwood.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct file { uint64_t written, closed; };
struct buffer { struct file *file; struct buffer *peer; uint64_t bytes, flushed; };

static hw_heap *heap;
static hw_finalize_queue buffers, files;
static hw_type buffer_type, file_type;

static struct file *new_file(hw_mutator *m) {
    struct file *file = hw_alloc(m, file_type);
    CHECK(file != NULL);
    file->written = file->closed = 0;
    return file;
}

static struct buffer *buffer_of(hw_mutator *m, struct file *file, uint64_t bytes) {
    struct buffer *buffer = hw_alloc(m, buffer_type);
    CHECK(buffer != NULL);
    buffer->bytes = bytes;
    buffer->flushed = 0;
    hw_write(m, buffer, &buffer->file, file);
    CHECK(hw_finalize(m, buffer, buffers, HW_FINALIZE_ORDERED, (void *)(uintptr_t)bytes, NULL) == HW_OK);
    return buffer;
}

/* Flushes what is dead; how much. */
static unsigned flush(hw_mutator *m) {
    unsigned count = 0;
    for (hw_finalized entry; hw_finalize_next(m, buffers, &entry); count++) {
        struct buffer *buffer = entry.object;
        CHECK(buffer->bytes == (uintptr_t)entry.tag && !buffer->flushed);
        CHECK(!buffer->file->closed);
        buffer->flushed = 1;
        buffer->file->written += buffer->bytes;
    }
    return count;
}

/* Calls of the function that is told of dead buffers, and what it has flushed. */
static unsigned calls, flushed;

static void told(void *arg) {
    calls++;
    flushed += flush(arg);
}

static void *waits(void *arg) {
    /* A thread that is not attached may wait, too. */
    bool found = false;
    CHECK(hw_finalize_wait(heap, files, UINT64_MAX, &found, NULL) == HW_OK && found);
    return arg;
}

int main(void) {
    hw_options options;
    hw_mutator *m;
    hw_error why;
    void *kept[2] = {NULL, NULL};
    hw_options_init(&options);
    options.conservative_stacks = 0;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK);
    uint64_t pointers = 3;
    CHECK(hw_type_mask(heap, sizeof(struct buffer), &pointers, 1, &buffer_type, NULL) == HW_OK);
    CHECK(hw_type_no_pointers(heap, sizeof(struct file), &file_type, NULL) == HW_OK);
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    CHECK(hw_root_slots(heap, kept, 2, NULL) != 0);
    CHECK(hw_finalize_queue_new(heap, &buffers, NULL) == HW_OK && hw_finalize_queue_new(heap, &files, NULL) == HW_OK);
    CHECK(buffers != 0 && buffers != files);

    /* A file is closed after all its buffers were flushed, though all died at once. */
    for (unsigned round = 0; round < 100; round++) {
        kept[0] = new_file(m);
        CHECK(kept[0] != NULL);
        CHECK(hw_finalize(m, kept[0], files, HW_FINALIZE_ORDERED, NULL, NULL) == HW_OK);
        for (unsigned i = 1; i <= 4; i++) CHECK(buffer_of(m, kept[0], i) != NULL);
        kept[0] = NULL;
        CHECK(hw_collect(m) == HW_OK);
        hw_finalized entry;
        CHECK(!hw_finalize_next(m, files, &entry) && flush(m) == 4);
        CHECK(hw_collect(m) == HW_OK && hw_finalize_next(m, files, &entry));
        struct file *file = entry.object;
        CHECK(file->written == 10 && entry.tag == NULL);
        file->closed = 1;
    }

    /* Taken out of a queue it is ordinary: kept again, and registered again. */
    kept[0] = new_file(m);
    struct buffer *buffer = buffer_of(m, kept[0], 5);
    void *old = buffer;
    kept[0] = NULL;
    CHECK(hw_collect(m) == HW_OK);
    hw_finalized entry;
    CHECK(hw_finalize_next(m, buffers, &entry) && entry.object == old);
    kept[1] = entry.object;
    CHECK(hw_finalize(m, kept[1], files, HW_FINALIZE_AT_ONCE, kept, NULL) == HW_OK);
    CHECK(hw_collect(m) == HW_OK && !hw_finalize_next(m, files, &entry));
    kept[1] = NULL;
    CHECK(hw_collect(m) == HW_OK && hw_finalize_next(m, files, &entry) && entry.object == old && entry.tag == kept);

    /* Two that lead to each other wait for good: until all is queued, or one is taken back. */
    kept[0] = new_file(m);
    kept[1] = buffer_of(m, kept[0], 6);
    struct buffer *other = buffer_of(m, kept[0], 7);
    hw_write(m, other, &other->peer, kept[1]);
    hw_write(m, kept[1], &((struct buffer *)kept[1])->peer, other);
    kept[0] = kept[1] = NULL;
    CHECK(hw_collect(m) == HW_OK && !hw_finalize_next(m, buffers, &entry));
    hw_stats stats;
    stats.size = sizeof stats;
    CHECK(hw_stats_get(heap, &stats) == HW_OK && stats.finalizer_circles == 1);
    CHECK(hw_finalize_all(heap, NULL) == HW_OK);
    for (int i = 0; i < 2; i++) CHECK(hw_finalize_next(m, buffers, &entry));

    /* It is told. */
    int fd = -1;
    bool found = true;
    CHECK(hw_finalize_wait(heap, buffers, 1000, &found, NULL) == HW_OK && !found);
    CHECK(hw_finalize_fd(heap, buffers, &fd, NULL) == HW_OK && fd >= 0);
    struct pollfd events = {fd, POLLIN, 0};
    uint64_t count = 0;
    CHECK(poll(&events, 1, 0) == 0);
    CHECK(hw_finalize_call(heap, buffers, told, m, NULL) == HW_OK);
    kept[0] = new_file(m);
    for (unsigned i = 1; i <= 4; i++) CHECK(buffer_of(m, kept[0], i) != NULL);
    CHECK(hw_collect(m) == HW_OK && calls == 0);
    CHECK(poll(&events, 1, 0) == 1 && read(fd, &count, sizeof count) == sizeof count && count == 1);
    CHECK(hw_finalize_wait(heap, buffers, UINT64_MAX, &found, NULL) == HW_OK && found);
    for (unsigned i = 0; i < 5000 && calls == 0; i++) CHECK(hw_alloc(m, file_type) != NULL);
    CHECK(calls == 1 && flushed == 4 && ((struct file *)kept[0])->written == 10);
    CHECK(hw_finalize_call(heap, buffers, NULL, NULL, NULL) == HW_OK);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, waits, NULL) == 0);
    CHECK(hw_finalize(m, kept[0], files, HW_FINALIZE_ORDERED, NULL, NULL) == HW_OK);
    kept[0] = NULL;
    CHECK(hw_collect(m) == HW_OK && pthread_join(thread, NULL) == 0 && hw_finalize_next(m, files, &entry));
    CHECK(hw_finalize_wait(NULL, 0, 0, NULL, NULL) == HW_EINVAL && hw_finalize_wait(heap, 77, 0, NULL, NULL) == HW_EINVAL);
    CHECK(hw_finalize_fd(heap, 0, NULL, NULL) == HW_EINVAL && hw_finalize_fd(heap, 77, &fd, NULL) == HW_EINVAL);
    CHECK(hw_finalize_fd(NULL, 0, &fd, NULL) == HW_EINVAL && hw_finalize_call(NULL, 0, told, m, NULL) == HW_EINVAL);
    CHECK(hw_finalize_call(heap, 77, told, m, &why) == HW_EINVAL && strstr(why.text, "no queue of finalisers") != NULL);

    /* Misuse. */
    hw_finalizer finalizer = 0;
    kept[0] = new_file(m);
    CHECK(hw_finalize(m, kept[0], buffers, 7, NULL, NULL) == HW_EINVAL);
    CHECK(strstr(hw_last_error(m)->text, "no order of finalisers") != NULL);
    CHECK(hw_finalize(m, kept[0], 77, HW_FINALIZE_ORDERED, NULL, NULL) == HW_EINVAL);
    CHECK(strstr(hw_last_error(m)->text, "no queue of finalisers") != NULL);
    CHECK(hw_finalize(NULL, kept[0], 0, HW_FINALIZE_ORDERED, NULL, NULL) == HW_EINVAL);
    CHECK(hw_finalize(m, NULL, 0, HW_FINALIZE_ORDERED, NULL, NULL) == HW_EINVAL);
    CHECK(hw_finalize(m, kept[0], buffers, HW_FINALIZE_ORDERED, kept, &finalizer) == HW_OK);
    CHECK(hw_finalize_queue_end(heap, buffers, &why) == HW_ESTATE && strstr(why.text, "0 entries, and 1 finalisers") != NULL);
    CHECK(hw_finalize_queue_end(heap, 0, &why) == HW_EINVAL && hw_finalize_queue_end(NULL, buffers, NULL) == HW_EINVAL);
    CHECK(hw_finalize_queue_new(heap, NULL, NULL) == HW_EINVAL && hw_finalize_queue_new(NULL, &files, NULL) == HW_EINVAL);
    CHECK(!hw_finalize_next(m, buffers, NULL) && strstr(hw_last_error(m)->text, "entry is NULL") != NULL);
    CHECK(!hw_finalize_next(m, 77, &entry) && strstr(hw_last_error(m)->text, "no queue of finalisers") != NULL);
    CHECK(!hw_finalize_next(NULL, buffers, &entry));
    void *tag = NULL;
    CHECK(hw_finalize_cancel(heap, finalizer, &tag, NULL) == HW_OK && tag == kept);
    CHECK(hw_finalize_queue_end(heap, buffers, NULL) == HW_OK && hw_finalize_queue_end(heap, buffers, NULL) == HW_EINVAL);

    /* At the end objects are taken before the heap goes. */
    CHECK(hw_finalize(m, kept[0], files, HW_FINALIZE_ORDERED, NULL, NULL) == HW_OK);
    CHECK(hw_finalize_all(heap, NULL) == HW_OK && hw_finalize_next(m, files, &entry) && entry.object == kept[0]);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    puts("each is flushed, then closed");
    return 0;
}
