/* Misuse of arenas, each in its own child. In verify mode standard error names the error. Otherwise the child
 * continues and the heap is intact: it can collect, and new values are zeroed. */
#define _GNU_SOURCE
#include "check.h"
#include <heapwood.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 30 };

struct node {
    struct node *left, *right;
};

static hw_heap *heap;
static hw_mutator *m;
static hw_type node_type, pages_type;
static int verify;
static void *kept[3]; /* registered slots */
static hw_arena *shared;

static hw_arena *filled_by(hw_mutator *by, uint32_t flags, struct node **value) {
    hw_arena *arena;
    CHECK(hw_arena_new(by, flags, &arena) == HW_OK);
    struct node *n = NULL;
    for (int i = 0; i < 1000; i++) {
        struct node *next = (struct node *)hw_arena_alloc(arena, node_type, 1);
        CHECK(next != NULL && next->left == NULL && next->right == NULL);
        next->left = n;
        n = next;
        if (i == 500) *value = n;
    }
    return arena;
}

static hw_arena *filled(uint32_t flags, struct node **value) { return filled_by(m, flags, value); }

static int said(hw_status status, const char *text) {
    return hw_last_error(m)->status == status && strstr(hw_last_error(m)->text, text) != NULL;
}

/* The heap is intact: new values are zeroed, and live. */
static void is_whole(void) {
    struct node *first = NULL, *value;
    /* Enough to reuse addresses as soon as they leave quarantine. */
    hw_arena *many[MANY];
    for (int i = 0; i < MANY; i++) {
        if (i % 5 == 0) CHECK(hw_collect(m) == HW_OK);
        many[i] = filled(0, &value);
    }
    for (int i = 0; i < MANY; i++) CHECK(hw_arena_free(many[i]) == HW_OK);
    for (int round = 0; round < 4; round++) {
        hw_arena *arena = filled((uint32_t)round % 2, &value);
        CHECK(hw_collect(m) == HW_OK);
        struct node *object = (struct node *)hw_alloc(m, node_type);
        CHECK(object != NULL && object->left == NULL);
        object->left = first;
        object->right = value;
        first = object;
        kept[2] = first;
        CHECK(hw_arena_free(arena) == HW_OK);
        object->right = NULL;
        hw_write(m, object, &object->right, NULL);
        CHECK(hw_collect(m) == HW_OK && hw_collect_young(m) == HW_OK);
    }
    for (int i = 0; i < 4; i++, first = first->left) CHECK(first != NULL);
}

/* ---------------------------------------------------------------------------------------------------------- misuse
 * -- */

static void read_after_free(void) {
    struct node *value;
    CHECK(hw_arena_free(filled(0, &value)) == HW_OK);
    CHECK(*(struct node *volatile *)&value->left == NULL);
}

static void read_after_reset(void) {
    struct node *value;
    CHECK(hw_arena_reset(filled(0, &value)) == HW_OK);
    CHECK(*(struct node *volatile *)&value->left == NULL);
}

/* Bytes that are no valid object address. */
static void write_after_free(void) {
    struct node *value;
    void *object = hw_alloc(m, node_type);
    CHECK(hw_arena_free(filled(0, &value)) == HW_OK);
    for (int i = -100; i < 100; i++) value[i].left = (struct node *)(void *)((char *)object + 4);
}

static void free_twice(void) {
    struct node *value;
    hw_arena *arena = filled(0, &value);
    CHECK(hw_arena_free(arena) == HW_OK);
    CHECK(hw_arena_free(arena) == HW_EINVAL && said(HW_EINVAL, "close each arena once"));
    CHECK(hw_arena_reset(arena) == HW_EINVAL && hw_arena_leave(arena) == HW_EINVAL);
}

static void allocate_after_free(void) {
    struct node *value;
    hw_arena *arena = filled(0, &value);
    CHECK(hw_arena_free(arena) == HW_OK);
    CHECK(hw_arena_alloc(arena, node_type, 1) == NULL && said(HW_EINVAL, "has been closed"));
    CHECK(hw_arena_alloc(arena, node_type, 5) == NULL && hw_arena_alloc_bytes(arena, 5) == NULL);
}

static void *others(void *attaches) {
    hw_mutator *other = NULL;
    CHECK(attaches == NULL || hw_attach(heap, NULL, &other, NULL) == HW_OK);
    CHECK(hw_arena_free(shared) == HW_ESTATE && hw_arena_reset(shared) == HW_ESTATE && hw_arena_leave(shared) == HW_ESTATE);
    CHECK(hw_arena_alloc(shared, node_type, 2) == NULL);
    CHECK(other == NULL || strstr(hw_last_error(other)->text, "another thread's") != NULL);
    CHECK(other == NULL || hw_detach(other) == HW_OK);
    return NULL;
}

static void join(void *thread) { pthread_join(*(pthread_t *)thread, NULL); }

static void run(void *(*f)(void *), void *arg) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, f, arg) == 0);
    CHECK(hw_call_blocking(m, join, &thread) == HW_OK);
}

static void another_thread_frees(void) {
    struct node *value;
    shared = filled(0, &value);
    run(others, NULL);
    run(others, &shared);
    CHECK(value->left != NULL && hw_arena_alloc(shared, node_type, 1) != NULL && hw_arena_free(shared) == HW_OK);
}

static volatile int begun;

static void *allocates(void *arg) {
    struct node *n;
    do {
        begun = 1;
        n = (struct node *)hw_arena_alloc(shared, node_type, 1);
        if (n != NULL) n->left = NULL;
    } while (n != NULL);
    return arg;
}

/* It allocates where its owner frees: in the end it is refused. */
static void freed_while_another_allocates(void) {
    struct node *value;
    pthread_t thread;
    shared = filled(0, &value);
    CHECK(pthread_create(&thread, NULL, allocates, NULL) == 0);
    while (!begun) {}
    CHECK(hw_arena_free(shared) == HW_OK);
    CHECK(hw_call_blocking(m, join, &thread) == HW_OK);
}

static void used_after_its_heap(void) {
    struct node *value;
    hw_arena *arena = filled(0, &value);
    CHECK(hw_arena_leave(arena) == HW_OK && hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    CHECK(hw_arena_free(arena) == HW_EINVAL && hw_arena_reset(arena) == HW_EINVAL && hw_arena_number(arena) == 0);
    CHECK(hw_heap_create(NULL, &heap, NULL) == HW_OK && hw_attach(heap, NULL, &m, NULL) == HW_OK);
    uint64_t mask = 3;
    CHECK(hw_type_mask(heap, sizeof(struct node), &mask, 1, &node_type, NULL) == HW_OK);
    CHECK(hw_arena_free(arena) == HW_EINVAL && said(HW_EINVAL, "no arena of this heap"));
    if (verify) (void)hw_arena_alloc(arena, node_type, 1);
}

static void value_used_after_its_heap(void) {
    struct node *value;
    CHECK(hw_arena_leave(filled(0, &value)) == HW_OK && hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    if (verify) value->left = NULL;
    _exit(0);
}

static void *leaks(void *arg) {
    struct node *value;
    hw_mutator *other;
    CHECK(hw_attach(heap, NULL, &other, NULL) == HW_OK);
    (void)filled_by(other, 0, &value);
    kept[0] = value;
    CHECK(hw_detach(other) == HW_OK);
    return arg;
}

static void leaked(void) {
    run(leaks, NULL);
    CHECK(hw_collect(m) == HW_OK);
    int length = 0;
    for (struct node *n = (struct node *)kept[0]; n != NULL; n = n->left) length++;
    CHECK(length == 501);
    kept[0] = NULL;
}

static void promise_broken(void) {
    struct node *value;
    hw_arena *arena = filled(HW_ARENA_RECYCLE, &value);
    void *large = hw_arena_alloc(arena, node_type, 100000), *small = hw_arena_alloc(arena, pages_type, 1);
    CHECK(large != NULL && small != NULL);
    kept[0] = value;
    struct node *object = (struct node *)hw_alloc(m, node_type);
    kept[1] = object;
    object->left = (struct node *)large;
    object->right = (struct node *)small;
    CHECK(hw_arena_free(arena) == HW_OK);
    is_whole();
    kept[0] = NULL;
    is_whole();
    kept[1] = NULL;
}

/* Without HW_ARENA_RECYCLE pointers may be left, in every mode. */
static void pointers_left(void) {
    struct node *value;
    CHECK(hw_arena_free(filled(0, &value)) == HW_OK);
    kept[0] = value;
    struct node *object = (struct node *)hw_alloc(m, node_type);
    kept[1] = object;
    object->left = value;
    object->right = value + 3;
    is_whole();
    kept[0] = NULL;
    is_whole();
}

static void no_handles(void) {
    struct node *value;
    uintptr_t words[64] = {0};
    hw_arena *arena = filled(0, &value);
    hw_arena *wrong[] = {(hw_arena *)(void *)words, (hw_arena *)(void *)value, (hw_arena *)((char *)arena + 16),
                         (hw_arena *)((char *)arena + 1), (hw_arena *)hw_alloc(m, node_type), (hw_arena *)(uintptr_t)4096};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(hw_arena_free(wrong[i]) == HW_EINVAL && said(HW_EINVAL, "is no arena of this heap"));
        CHECK(hw_arena_leave(wrong[i]) == HW_EINVAL && hw_arena_bytes(wrong[i]) == 0);
    }
    CHECK(hw_arena_free(arena) == HW_OK);
}

/* The exit and the output of a child in verify mode. */
struct misuse {
    const char *name;
    void (*f)(void);
    int signal;
    const char *said[2];
};

static const struct misuse misuses[] = {
    {"read after free", read_after_free, SIGSEGV, {"is used, which was a value of arena 1: ", "closed or emptied by\n  "}},
    {"read after reset", read_after_reset, SIGSEGV, {"is used, which was a value of arena 1: ", "and opened by\n  "}},
    {"write after free", write_after_free, SIGSEGV, {"is used, which was a value of arena 1: ", "closed or emptied by\n  "}},
    {"free twice", free_twice, 0, {"arena 1 has been closed: close each arena once", "closed or emptied by\n  "}},
    {"allocate after free", allocate_after_free, 0, {"arena 1 has been closed: close each arena once", "opened by\n  "}},
    {"another thread frees", another_thread_frees, 0, {"arena 1 is another thread's", "opened by\n  "}},
    {"freed while another allocates", freed_while_another_allocates, 0, {"arena 1 is another thread's", "opened by\n  "}},
    {"used after its heap", used_after_its_heap, SIGSEGV, {"which lies in a heap that has ended", "longer than its heap"}},
    {"value used after its heap", value_used_after_its_heap, SIGSEGV, {"which lies in a heap that has ended", "longer"}},
    {"leaked", leaked, 0, {"arena 1 was not closed before its thread left the heap", "opened by\n  "}},
    {"promise broken", promise_broken, SIGABRT, {"where arena 1 was, which has been closed", "promise that nothing refers to it"}},
    {"pointers left", pointers_left, 0, {NULL, NULL}},
    {"no handles", no_handles, 0, {"is no arena of this heap", "never one"}},
};

static void child(const struct misuse *misuse) {
    alarm(60);
    misuse->f();
    is_whole();
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    _exit(0);
}

static void in_a_child(const struct misuse *misuse) {
    int ends[2], status;
    static char text[1 << 16];
    size_t length = 0;
    ssize_t got;
    CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        CHECK(dup2(ends[1], 2) == 2);
        child(misuse);
    }
    close(ends[1]);
    while ((got = read(ends[0], text + length, sizeof text - 1 - length)) > 0) length += (size_t)got;
    close(ends[0]);
    text[length] = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    int right = verify && misuse->signal != 0 ? WIFSIGNALED(status) && WTERMSIG(status) == misuse->signal
                                              : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    for (int i = 0; i < 2; i++) {
        if (verify && misuse->said[i] != NULL) right &= strstr(text, misuse->said[i]) != NULL;
    }
    /* Nothing else is said. */
    right &= (verify && misuse->said[0] != NULL) || length == 0;
    if (!right) fprintf(stderr, "%s: status %x, and said:\n%s\n", misuse->name, (unsigned)status, text);
    CHECK(right);
}

int main(int argc, char **argv) {
    hw_options options;
    hw_options_init(&options);
    for (int i = 1; i < argc; i++) {
        verify |= strcmp(argv[i], "verify") == 0;
        if (strcmp(argv[i], "signals") == 0) options.stop = HW_STOP_SIGNALS;
    }
    options.verify = (uint32_t)verify;
    options.conservative_stacks = !(argc > 1 && strcmp(argv[argc - 1], "precise") == 0);
    options.min_heap = 1 << 20;
    CHECK(hw_heap_create(&options, &heap, NULL) == HW_OK && hw_attach(heap, NULL, &m, NULL) == HW_OK);
    uint64_t mask = 3;
    CHECK(hw_type_mask(heap, sizeof(struct node), &mask, 1, &node_type, NULL) == HW_OK);
    CHECK(hw_type_describe(heap, "[1024]{ptr word}", NULL, &pages_type, NULL) == HW_OK);
    CHECK(hw_root_slots(heap, kept, 3, NULL) != 0);
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++) in_a_child(&misuses[i]);
    CHECK(hw_detach(m) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    puts("each is found, and harms nothing");
    return 0;
}
