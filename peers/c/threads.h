/* How a workload runs: on the thread that main is, or on several, of which each
   does the whole of it. All must print the same lines; they are printed once,
   and then the figures: gaps are the longest, throughputs are added up, and of all
   others the largest counts. A peer with a collector includes that first, since it may have threads of its own. */
#ifndef PEERS_THREADS_H
#define PEERS_THREADS_H

#include "common.h"

#include <pthread.h>

#ifndef MOST_THREADS
#define MOST_THREADS 1024
#endif

enum { MOST_FIGURES = 8 };

/* What a thread has found. */
struct report {
    FILE *lines;
    bool has_figures;
    double longest_gap_us, mops;
    size_t others;
    struct {
        const char *name;
        double value;
    } other[MOST_FIGURES];
};

/* The line of a workload whose only result is a checksum, with what was counted. */
__attribute__((unused)) static void report_checksum(const char *workload, const char *what,
                                                    uint64_t number, uint64_t checksum,
                                                    struct report *report) {
    fprintf(report->lines, "%s %s %" PRIu64 " checksum 0x%016" PRIx64 "\n", workload, what, number,
            checksum);
}

/* Notes a figure of which the largest of all threads' is printed. */
__attribute__((unused)) static void report_largest(struct report *report, const char *name,
                                                   double value) {
    report->other[report->others].name = name;
    report->other[report->others++].value = value;
}

typedef void work(uint64_t n, struct report *report);

struct share {
    pthread_t thread;
    work *work;
    uint64_t n;
    struct report report;
    char *text;
    size_t bytes;
};

static void *do_share(void *arg) {
    struct share *share = arg;
    share->report.lines = check_memory(open_memstream(&share->text, &share->bytes));
    share->work(share->n, &share->report);
    fclose(share->report.lines);
    return NULL;
}

/* Starts a thread that does a part of one thread's work. Its stack has so many bytes,
   or as many as usual if that is 0. */
__attribute__((unused)) static void start_helper(pthread_t *thread, size_t stack_bytes,
                                                 void *(*part)(void *), void *arg) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    int error = stack_bytes == 0 ? 0 : pthread_attr_setstacksize(&attributes, stack_bytes);
    if (error == 0) error = pthread_create(thread, &attributes, part, arg);
    if (error != 0) {
        fprintf(stderr, "a thread cannot be started: %s\n", strerror(error));
        exit(1);
    }
    pthread_attr_destroy(&attributes);
}

/* Takes `--threads T` out of the arguments. */
static unsigned take_threads(int *argc, char **argv, unsigned usual) {
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--threads") != 0) continue;
        char *end = NULL;
        long threads = i + 1 < *argc ? strtol(argv[i + 1], &end, 10) : 0;
        if (end == NULL || *end != '\0' || threads < 1 || threads > MOST_THREADS) {
            fprintf(stderr, "%s: --threads takes a number, 1..%d\n", argv[0], MOST_THREADS);
            exit(2);
        }
        for (int k = i; k + 2 <= *argc; k++) argv[k] = argv[k + 2];
        *argc -= 2;
        return (unsigned)threads;
    }
    return usual;
}

/* The rest of main: N, and threads if not the usual number, and the work. (But
   trees-arena shares its work out, and has a run of its own.) */
__attribute__((unused)) static int run(int argc, char **argv, uint64_t normal, uint64_t limit,
                                       unsigned usual_threads, work *work) {
    static struct share shares[MOST_THREADS];
    unsigned threads = take_threads(&argc, argv, usual_threads);
    uint64_t n = take_number(argc, argv, normal, limit);
    for (unsigned t = 0; t < threads; t++) shares[t] = (struct share){.work = work, .n = n};
    if (threads == 1) {
        do_share(&shares[0]);
    } else {
        for (unsigned t = 0; t < threads; t++) {
            int error = pthread_create(&shares[t].thread, NULL, do_share, &shares[t]);
            if (error != 0) {
                fprintf(stderr, "thread %u of %u cannot be started: %s\n", t + 1, threads,
                        strerror(error));
                exit(1);
            }
        }
        for (unsigned t = 0; t < threads; t++) pthread_join(shares[t].thread, NULL);
    }
    struct report *first = &shares[0].report;
    for (unsigned t = 1; t < threads; t++) {
        struct report *other = &shares[t].report;
        if (strcmp(shares[t].text, shares[0].text) != 0) {
            fprintf(stderr, "thread %u found:\n%sbut thread 1 found:\n%s", t + 1, shares[t].text,
                    shares[0].text);
            return 1;
        }
        first->mops += other->mops;
        if (other->longest_gap_us > first->longest_gap_us) {
            first->longest_gap_us = other->longest_gap_us;
        }
        for (size_t k = 0; k < first->others; k++) {
            if (other->other[k].value > first->other[k].value) {
                first->other[k].value = other->other[k].value;
            }
        }
    }
    fputs(shares[0].text, stdout);
    if (first->has_figures) {
        printf("figure longest_gap_us %.1f\n", first->longest_gap_us);
        printf("figure mops %.3f\n", first->mops);
    }
    for (size_t k = 0; k < first->others; k++) {
        printf("figure %s %.9f\n", first->other[k].name, first->other[k].value);
    }
    for (unsigned t = 0; t < threads; t++) free(shares[t].text);
    return 0;
}

/* The same of a workload that runs on one thread. */
__attribute__((unused)) static int run_alone(int argc, char **argv, uint64_t normal,
                                             uint64_t limit, work *work) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--threads") == 0) {
            fprintf(stderr, "%s runs on one thread\n", argv[0]);
            exit(2);
        }
    }
    return run(argc, argv, normal, limit, 1, work);
}

#endif
