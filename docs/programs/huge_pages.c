/* What first touches cost on this machine, and what it takes to get huge pages: the
   diagnosis of golang/go#51667 repeated, in C and without any runtime. Memory is
   reserved with PROT_NONE and committed 64 MiB at a time, then written; the first
   writes are timed apart from the second, faults are counted, and the kernel is
   asked how much of it is huge pages. docs/results/2026-11/first-touch.tsv has what
   it found.

       cc -O2 -o huge_pages docs/programs/huge_pages.c
       ./huge_pages            all tables (as root it also sets the machine's mode)
       ./huge_pages commit     ways to commit and to advise, in each mode
       ./huge_pages touch      ways to touch fresh memory
       ./huge_pages back       ways to give memory back, and to touch it again
       --runs N                of each, 5 otherwise
       --rest SECONDS          before a run on cold memory, 2 otherwise

   Times are microseconds for 2 MiB, on the thread's own clock: the median of the
   runs and, in brackets, the least and the most. Each run is a process of its own. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define MIB ((size_t)1 << 20)
#define PIECE (2 * MIB)
#define CHUNK (64 * MIB)
enum { CHUNKS = 2, PIECES = CHUNKS * 32, MOST_RUNS = 99, MOST_WAYS = 32 };

#define SETTINGS "/sys/kernel/mm/transparent_hugepage/"

/* How a run goes; what is not said is the first of its kind. */
enum commit { FIXED, MPROTECT };
enum advice { NO_ADVICE, BEFORE, AFTER, LATE, REFUSED, DISABLED };
enum touch { NOT_AHEAD, BYTE_A_PIECE, BYTE_A_PAGE, WHOLE_PIECE, POPULATE };
enum back { KEPT, DONTNEED, FREED, UNMAPPED };
/* Of what is free: whether the host has given it, or of huge pages, or of all, none. */
enum state { WARM, HUGE_COLD, ALL_COLD };

struct way {
    const char *name;
    const char *mode; /* of the machine, or NULL for the one it has */
    enum commit commit;
    enum advice advice;
    enum touch touch;
    enum back back;
    enum state state;
};

struct result {
    double touch, first, second, back, again; /* microseconds for a piece */
    double faults, faults_again;              /* for a piece */
    double huge, huge_again;                  /* per cent */
    double cold;                              /* more than 0 if it found cold memory */
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* The thread's own clock: what others do on the machine meanwhile does not count. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* How much of the range is huge pages, as the kernel says, in per cent. */
static double huge_share(const char *start, size_t bytes) {
    FILE *smaps = fopen("/proc/self/smaps", "r");
    if (smaps == NULL) fail("/proc/self/smaps");
    char line[512];
    unsigned long from, to, kib, huge = 0;
    bool within = false;
    while (fgets(line, sizeof line, smaps) != NULL) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
            within = from < (uintptr_t)start + bytes && to > (uintptr_t)start;
        } else if (within && sscanf(line, "AnonHugePages: %lu kB", &kib) == 1) {
            huge += kib;
        }
    }
    fclose(smaps);
    return 100.0 * (double)(huge << 10) / (double)bytes;
}

/* Address space in whole pieces, and nothing behind it. */
static char *reserve(size_t bytes) {
    char *start = mmap(NULL, bytes + CHUNK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) fail("reserve");
    return start + -(uintptr_t)start % CHUNK;
}

static void advise(char *start, size_t bytes, int advice) {
    /* A kernel without huge pages refuses, and has none to show. */
    if (madvise(start, bytes, advice) != 0 && advice != MADV_HUGEPAGE && advice != MADV_NOHUGEPAGE) fail("madvise");
}

static void commit(char *start, enum commit how) {
    if (how == MPROTECT) {
        if (mprotect(start, CHUNK, PROT_READ | PROT_WRITE) != 0) fail("mprotect");
    } else {
        void *got = mmap(start, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
        if (got != start) fail("mmap");
    }
}

/* As a program fills it with objects: every word, in order. */
__attribute__((noinline)) static void write_all(char *start, size_t bytes, uint64_t word) {
    for (volatile uint64_t *p = (uint64_t *)start; p != (uint64_t *)(start + bytes); p += 2) {
        p[0] = word;
        p[1] = word;
    }
}

static void touch_piece(char *piece, enum touch how) {
    switch (how) {
    case NOT_AHEAD: break;
    case BYTE_A_PIECE: *(volatile char *)piece = 0; break;
    case BYTE_A_PAGE:
        for (size_t at = 0; at < PIECE; at += 4096) ((volatile char *)piece)[at] = 0;
        break;
    case WHOLE_PIECE:
        memset(piece, 0, PIECE);
        __asm__ volatile("" : : "r"(piece) : "memory");
        break;
    case POPULATE: advise(piece, PIECE, MADV_POPULATE_WRITE); break;
    }
}

/* Memory that the host has given already: pages of that kind were in use until a moment ago. */
static void warm_up(int advice) {
    size_t bytes = (CHUNKS + 1) * CHUNK;
    char *start = reserve(bytes);
    for (size_t at = 0; at < bytes; at += CHUNK) commit(start + at, MPROTECT);
    advise(start, bytes, advice);
    memset(start, 1, bytes);
    munmap(start, bytes);
}

/* Takes of what is free until that is slow to come: then the host has not given it yet, or has taken it back. What was
   taken is kept until the process ends. Tells whether there was such memory. */
static bool find_cold(enum state wanted) {
    enum { AT_A_TIME = 16 };
    const double slow_us = wanted == ALL_COLD ? 4000 : 2000; /* small pages take more than 1000 anyway */
    size_t most = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 2;
    most -= most % CHUNK;
    char *start = reserve(most);
    double t0 = now();
    for (size_t at = 0; at < most; at += PIECE) {
        if (at % CHUNK == 0) {
            commit(start + at, MPROTECT);
            advise(start + at, CHUNK, wanted == ALL_COLD ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
        }
        touch_piece(start + at, BYTE_A_PAGE);
        if ((at / PIECE + 1) % AT_A_TIME != 0) continue;
        double t1 = now();
        if ((t1 - t0) / AT_A_TIME > slow_us) return true;
        t0 = t1;
    }
    return false;
}

static struct result measure(const struct way *way) {
    struct result r = {};
    if (way->state != WARM) {
        r.cold = find_cold(way->state);
    } else {
        warm_up(way->advice == REFUSED ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    }
    if (way->advice == DISABLED && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) fail("prctl");

    size_t bytes = CHUNKS * CHUNK;
    char *start = reserve(bytes);
    long before = faults();
    for (char *chunk = start; chunk != start + bytes; chunk += CHUNK) {
        if (way->advice == BEFORE) advise(chunk, CHUNK, MADV_HUGEPAGE);
        commit(chunk, way->commit);
        if (way->advice == AFTER) advise(chunk, CHUNK, MADV_HUGEPAGE);
        if (way->advice == REFUSED) advise(chunk, CHUNK, MADV_NOHUGEPAGE);
        /* A piece is written as soon as it is touched, as an arena would. */
        for (char *piece = chunk; piece != chunk + CHUNK; piece += PIECE) {
            double t0 = now();
            touch_piece(piece, way->touch);
            double t1 = now();
            write_all(piece, PIECE, 1);
            r.touch += t1 - t0;
            r.first += now() - t1;
        }
        if (way->advice == LATE) advise(chunk, CHUNK, MADV_HUGEPAGE);
    }
    r.faults = (double)(faults() - before);
    r.huge = huge_share(start, bytes);

    double t0 = now();
    write_all(start, bytes, 2);
    r.second = now() - t0;

    if (way->back != KEPT) {
        t0 = now();
        for (char *piece = start; piece != start + bytes; piece += PIECE) {
            if (way->back == UNMAPPED) {
                if (munmap(piece, PIECE) != 0) fail("munmap");
            } else {
                advise(piece, PIECE, way->back == FREED ? MADV_FREE : MADV_DONTNEED);
            }
        }
        r.back = now() - t0;
        if (way->back == UNMAPPED) {
            for (char *chunk = start; chunk != start + bytes; chunk += CHUNK) {
                commit(chunk, FIXED);
                advise(chunk, CHUNK, way->advice == REFUSED ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
            }
        }
        before = faults();
        t0 = now();
        write_all(start, bytes, 3);
        r.again = now() - t0;
        r.faults_again = (double)(faults() - before);
        r.huge_again = huge_share(start, bytes);
    }

    double *summed[] = {&r.touch, &r.first, &r.second, &r.back, &r.again, &r.faults, &r.faults_again};
    for (size_t i = 0; i < sizeof summed / sizeof *summed; i++) *summed[i] /= PIECES;
    return r;
}

/* In a process of its own: prctl is for a whole process, and what it had is free. */
static struct result measure_apart(const struct way *way) {
    int ends[2];
    struct result r;
    if (pipe(ends) != 0) fail("pipe");
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
        r = measure(way);
        _exit(write(ends[1], &r, sizeof r) == (ssize_t)sizeof r ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &r, sizeof r) != (ssize_t)sizeof r) fail("a run");
    close(ends[0]);
    waitpid(child, NULL, 0);
    return r;
}

static void read_setting(const char *name, char *text, size_t bytes) {
    char path[128];
    snprintf(path, sizeof path, SETTINGS "%s", name);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(text, (int)bytes, file) == NULL) snprintf(text, bytes, "unknown");
    if (file != NULL) fclose(file);
    text[strcspn(text, "\n")] = '\0';
}

/* The machine's mode, which is put back at the end. */
static char mode_before[16];

static bool set_mode(const char *mode) {
    FILE *file = fopen(SETTINGS "enabled", "w");
    if (file == NULL) return false;
    bool written = fputs(mode, file) >= 0;
    return fclose(file) == 0 && written;
}

static void put_mode_back(void) {
    if (mode_before[0] != '\0') set_mode(mode_before);
}

static void ended(int signal) {
    (void)signal;
    exit(1); /* nothing is half done: only the mode is to be put back */
}

static void remember_mode(void) {
    char text[64];
    read_setting("enabled", text, sizeof text);
    char *from = strchr(text, '['), *to = strchr(text, ']');
    if (from == NULL || to == NULL || to - from > (ptrdiff_t)sizeof mode_before) return;
    memcpy(mode_before, from + 1, (size_t)(to - from - 1));
    atexit(put_mode_back);
    signal(SIGINT, ended);
    signal(SIGTERM, ended);
    signal(SIGHUP, ended);
}

static int runs = 5;
static int rest = 2;

struct spread {
    double least, median, most;
};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct spread spread_of(double *values) {
    qsort(values, (size_t)runs, sizeof(double), by_value);
    return (struct spread){values[0], values[runs / 2], values[runs - 1]};
}

#define FIELD(name) (offsetof(struct result, name) / sizeof(double))

static void print_time(struct spread s) {
    printf(" %.0f (%.0f..%.0f) |", s.median, s.least, s.most);
}

enum table { COMMIT, TOUCH, BACK };

static const char *const HEADERS[] = {
    [COMMIT] = "| | first writes | second writes | faults | huge % |\n|---|---|---|---|---|",
    [TOUCH] = "| | touch | first writes | both | second writes | faults | huge % | cold runs |\n|---|---|---|---|---|---|---|---|",
    [BACK] = "| | giving back | writing again | faults then | huge % | huge % then |\n|---|---|---|---|---|---|",
};

static struct spread field_of(const struct result *results, size_t field) {
    double values[MOST_RUNS];
    for (int run = 0; run < runs; run++) memcpy(&values[run], (const double *)&results[run] + field, sizeof(double));
    return spread_of(values);
}

/* The touch and the writes that follow it, as one. */
static struct spread both_of(const struct result *results) {
    double values[MOST_RUNS];
    for (int run = 0; run < runs; run++) values[run] = results[run].touch + results[run].first;
    return spread_of(values);
}

static void print_row(enum table table, const struct way *way, const struct result *results) {
#define OF(name) field_of(results, FIELD(name))
    printf("| %s%s%s |", way->mode ? way->mode : "", way->mode ? ": " : "", way->name);
    if (table == BACK) {
        print_time(OF(back));
        print_time(OF(again));
        printf(" %.1f | %.0f | %.0f |\n", OF(faults_again).median, OF(huge).median, OF(huge_again).median);
        return;
    }
    if (table == TOUCH) print_time(OF(touch));
    print_time(OF(first));
    if (table == TOUCH) print_time(both_of(results));
    print_time(OF(second));
    printf(" %.1f | %.0f |", OF(faults).median, OF(huge).median);
    int cold = 0;
    for (int run = 0; run < runs; run++) cold += results[run].cold > 0;
    if (table == TOUCH && way->state != WARM) printf(" %d of %d |", cold, runs);
    puts(table == TOUCH && way->state == WARM ? " |" : "");
#undef OF
}

static const struct way COMMIT_WAYS[] = {
    {"mmap over it, no advice", .mode = "madvise"},
    {"mprotect, no advice", .mode = "madvise", .commit = MPROTECT},
    {"advice, then mmap over it", .mode = "madvise", .advice = BEFORE},
    {"advice, then mprotect", .mode = "madvise", .commit = MPROTECT, .advice = BEFORE},
    {"mmap over it, then advice", .mode = "madvise", .advice = AFTER},
    {"mprotect, then advice", .mode = "madvise", .commit = MPROTECT, .advice = AFTER},
    {"mprotect, advice after the writes", .mode = "madvise", .commit = MPROTECT, .advice = LATE},
    {"mmap over it, no advice", .mode = "always"},
    {"mprotect, no advice", .mode = "always", .commit = MPROTECT},
    {"mmap over it, then MADV_NOHUGEPAGE", .mode = "always", .advice = REFUSED},
    {"mmap over it, PR_SET_THP_DISABLE", .mode = "always", .advice = DISABLED},
    {"mmap over it, no advice", .mode = "never"},
    {"mmap over it, then advice", .mode = "never", .advice = AFTER},
    {.name = NULL},
};

#define HUGE(how, what)                                                                                      \
    {"huge, warm: " how, .advice = AFTER, .touch = what},                                                   \
    {"huge, cold: " how, .advice = AFTER, .touch = what, .state = HUGE_COLD}
#define SMALL(how, what)                                                                                     \
    {"small, warm: " how, .advice = REFUSED, .touch = what},                                                \
    {"small, where huge ones are cold: " how, .advice = REFUSED, .touch = what, .state = HUGE_COLD},        \
    {"small, cold: " how, .advice = REFUSED, .touch = what, .state = ALL_COLD}

static const struct way TOUCH_WAYS[] = {
    HUGE("not ahead", NOT_AHEAD),
    HUGE("a byte for 2 MiB", BYTE_A_PIECE),
    HUGE("a byte for 4 KiB", BYTE_A_PAGE),
    HUGE("memset", WHOLE_PIECE),
    HUGE("MADV_POPULATE_WRITE", POPULATE),
    SMALL("not ahead", NOT_AHEAD),
    SMALL("a byte for 4 KiB", BYTE_A_PAGE),
    SMALL("memset", WHOLE_PIECE),
    SMALL("MADV_POPULATE_WRITE", POPULATE),
    {.name = NULL},
};

static const struct way BACK_WAYS[] = {
    {"huge: MADV_DONTNEED", .advice = AFTER, .back = DONTNEED},
    {"huge: MADV_FREE", .advice = AFTER, .back = FREED},
    {"huge: munmap, mmap, advice", .advice = AFTER, .back = UNMAPPED},
    {"small: MADV_DONTNEED", .advice = REFUSED, .back = DONTNEED},
    {"small: MADV_FREE", .advice = REFUSED, .back = FREED},
    {"small: munmap, mmap, advice", .advice = REFUSED, .back = UNMAPPED},
    {.name = NULL},
};

/* One run of each after the other, and that again, so that what the machine does meanwhile is everyone's. */
static void print_table(enum table table, const struct way *ways) {
    static struct result results[MOST_WAYS][MOST_RUNS];
    bool possible[MOST_WAYS] = {false};
    for (int run = 0; run < runs; run++) {
        for (size_t w = 0; ways[w].name != NULL; w++) {
            bool other = ways[w].mode != NULL && strcmp(ways[w].mode, mode_before) != 0;
            possible[w] = !other || set_mode(ways[w].mode);
            if (!possible[w]) continue;
            /* In this time a guest may tell its host what is free, and the host take it. */
            if (ways[w].state != WARM) sleep((unsigned)rest);
            results[w][run] = measure_apart(&ways[w]);
            if (other) put_mode_back();
        }
    }
    puts(HEADERS[table]);
    for (size_t w = 0; ways[w].name != NULL; w++) {
        if (possible[w]) print_row(table, &ways[w], results[w]);
        else printf("| %s: %s | the machine's mode cannot be set |\n", ways[w].mode, ways[w].name);
    }
    puts("");
}

static void print_machine(void) {
    struct utsname system;
    char enabled[64], defrag[64];
    uname(&system);
    read_setting("enabled", enabled, sizeof enabled);
    read_setting("defrag", defrag, sizeof defrag);
    printf("%s %s %s, enabled: %s, defrag: %s, %d runs, %d MiB each\n\n", system.sysname, system.release,
           system.machine, enabled, defrag, runs, (int)(CHUNKS * CHUNK / MIB));
}

static int usage(const char *name) {
    fprintf(stderr, "usage: %s [commit | touch | back] [--runs N, 1..%d] [--rest SECONDS, 0..60]\n", name, MOST_RUNS);
    return 2;
}

int main(int argc, char **argv) {
    static const char *const NAMES[] = {[COMMIT] = "commit", [TOUCH] = "touch", [BACK] = "back"};
    static const struct way *const WAYS[] = {[COMMIT] = COMMIT_WAYS, [TOUCH] = TOUCH_WAYS, [BACK] = BACK_WAYS};
    bool wanted[3] = {false}, any = false;
    for (int i = 1; i < argc; i++) {
        bool known = false;
        for (int t = 0; t < 3; t++) {
            if (strcmp(argv[i], NAMES[t]) == 0) known = any = wanted[t] = true;
        }
        if (known) continue;
        bool is_runs = strcmp(argv[i], "--runs") == 0;
        if ((!is_runs && strcmp(argv[i], "--rest") != 0) || i + 1 == argc) return usage(argv[0]);
        char *end;
        long number = strtol(argv[++i], &end, 10);
        if (*end != '\0' || number < is_runs || number > (is_runs ? MOST_RUNS : 60)) return usage(argv[0]);
        *(is_runs ? &runs : &rest) = (int)number;
    }
    remember_mode();
    print_machine();
    for (int t = 0; t < 3; t++) {
        if (wanted[t] || !any) print_table((enum table)t, WAYS[t]);
    }
    return 0;
}
