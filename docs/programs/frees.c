/* What it takes to free an object and to allocate the next, in one thread and by another; the documents quote it. Prints the
   nanoseconds of an object, from its allocation to its free: the median of five runs; of the CPU time
   of all threads.

       cc -O2 -Icrates/heapwood-c/include -o frees docs/programs/frees.c target/release/libheapwood.a -lpthread -ldl -lm
       cc -O2 -DMALLOC -o frees-mimalloc docs/programs/frees.c -lmimalloc -lpthread
       ./frees HOW WHAT BYTES OBJECTS [RUNS]

   HOW: loop (free each at once), order, reversed, random (1000 at a time, freed in that order), thread (1000 at a time,
   which another thread frees). WHAT: data, or pointers (the first word is one). */
#ifndef MALLOC
#include <heapwood.h>
#endif
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 1000 };

static void *batch[BATCH];
static size_t order[BATCH];
/* The batch is full, and it is empty. */
static sem_t full, empty;
static size_t bytes;
static long objects;

static void fail(const char *what) {
    fprintf(stderr, "frees: %s failed\n", what);
    exit(1);
}

#ifdef MALLOC
typedef void *thread;
static thread here(void) { return NULL; }
static void leave(thread t) { (void)t; }
static void begin(int pointers) { (void)pointers; }
static void blocking(thread t, void (*wait)(void *), void *arg) {
    (void)t;
    wait(arg);
}
static inline void **new_object(thread t) {
    (void)t;
    void **object = malloc(bytes);
    if (!object) fail("malloc");
    return object;
}
static inline void end_object(thread t, void *object) {
    (void)t;
    free(object);
}
#else
typedef hw_mutator *thread;
static hw_heap *heap;
static hw_type type;
static thread here(void) {
    hw_mutator *m;
    if (hw_attach(heap, NULL, &m, NULL) != HW_OK) fail("hw_attach");
    return m;
}
static void leave(thread m) { hw_detach(m); }
static void blocking(thread m, void (*wait)(void *), void *arg) {
    if (hw_call_blocking(m, wait, arg) != HW_OK) fail("hw_call_blocking");
}
static void begin(int pointers) {
    uint64_t mask = 1;
    if (hw_heap_create(NULL, &heap, NULL) != HW_OK) fail("hw_heap_create");
    if ((pointers ? hw_type_mask(heap, bytes, &mask, 1, &type, NULL)
                  : hw_type_no_pointers(heap, bytes, &type, NULL)) != HW_OK)
        fail("the type");
    if (!hw_root_range(heap, batch, batch + BATCH, NULL)) fail("hw_root_range");
}
static inline void **new_object(thread m) {
    void **object = hw_alloc(m, type);
    if (!object) fail("hw_alloc");
    return object;
}
static inline void end_object(thread m, void *object) {
    if (hw_free(m, object) != HW_OK) fail("hw_free");
}
#endif

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void in_a_loop(thread t) {
    for (long i = 0; i < objects; i++) {
        void **object = new_object(t);
        *object = NULL;
        end_object(t, object);
    }
}

static void in_batches(thread t) {
    for (long done = 0; done < objects; done += BATCH) {
        for (size_t i = 0; i < BATCH; i++) {
            void **object = new_object(t);
            *object = NULL;
            batch[i] = object;
        }
        for (size_t i = 0; i < BATCH; i++) {
            void *object = batch[order[i]];
            batch[order[i]] = NULL;
            end_object(t, object);
        }
    }
}

static void wait_for(void *semaphore) {
    while (sem_wait(semaphore)) continue;
}

static void *other(void *unused) {
    thread t = here();
    for (long done = 0; done < objects; done += BATCH) {
        blocking(t, wait_for, &full);
        for (size_t i = 0; i < BATCH; i++) {
            void *object = batch[i];
            batch[i] = NULL;
            end_object(t, object);
        }
        sem_post(&empty);
    }
    leave(t);
    return unused;
}

static void by_another_thread(thread t) {
    pthread_t freeing;
    if (pthread_create(&freeing, NULL, other, NULL)) fail("pthread_create");
    for (long done = 0; done < objects; done += BATCH) {
        for (size_t i = 0; i < BATCH; i++) {
            void **object = new_object(t);
            *object = NULL;
            batch[i] = object;
        }
        sem_post(&full);
        blocking(t, wait_for, &empty);
    }
    pthread_join(freeing, NULL);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc < 5) fail("the command line");
    const char *how = argv[1];
    bytes = strtoul(argv[3], NULL, 10);
    objects = atol(argv[4]);
    int runs = argc > 5 ? atoi(argv[5]) : 5;
    double took[100];
    if (runs < 1 || runs > 100 || objects < 1 || bytes < sizeof(void *)) fail("the command line");
    begin(!strcmp(argv[2], "pointers"));
    for (size_t i = 0; i < BATCH; i++) order[i] = strcmp(how, "reversed") ? i : BATCH - 1 - i;
    srand(1);
    for (size_t i = BATCH - 1; i > 0 && !strcmp(how, "random"); i--) {
        size_t j = rand() % (i + 1), at = order[i];
        order[i] = order[j];
        order[j] = at;
    }
    sem_init(&full, 0, 0);
    sem_init(&empty, 0, 0);
    thread t = here();
    for (int i = 0; i < runs; i++) {
        double began = now();
        if (!strcmp(how, "loop"))
            in_a_loop(t);
        else if (!strcmp(how, "thread"))
            by_another_thread(t);
        else
            in_batches(t);
        took[i] = (now() - began) / objects;
    }
    qsort(took, runs, sizeof took[0], compare);
    printf("%.2f\n", took[runs / 2]);
    leave(t);
    return 0;
}
