/* A program that behaves as it is told, to test what measures programs: it
   prints the check values of trees N and does as its first argument says. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static unsigned long long nodes(int depth) {
    return (2ull << depth) - 1;
}

static void check_values(int n, int error) {
    int max = n < 6 ? 6 : n;
    printf("stretch tree of depth %d trees 1 nodes %llu\n", max + 1, nodes(max + 1));
    for (int depth = 4; depth <= max; depth += 2) {
        unsigned long long trees = 16ull << (max - depth);
        printf("%llu trees of depth %d nodes %llu\n", trees, depth, trees * nodes(depth) + error);
    }
    printf("long lived tree of depth %d nodes %llu\n", max, nodes(max));
}

static int from_env(const char *name) {
    const char *text = getenv(name);
    return text == NULL ? 0 : atoi(text);
}

static double cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* Touches memory page by page, burns the rest of the CPU time, and idles. */
static void burn(void) {
    size_t bytes = (size_t)from_env("FAKE_MIB") << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) exit(1);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (size_t k = 0; k < bytes; k += 4096) memory[k] = 1;
    volatile unsigned x = 0;
    while (cpu_ms() < from_env("FAKE_CPU_MS")) {
        for (int k = 0; k < 100000; k++) x += k;
    }
    usleep(200000);
}

/* Leaves a byte in a file each time; tells how many there were before. */
static long count_runs(void) {
    FILE *file = fopen(getenv("FAKE_FILE"), "a");
    if (file == NULL) exit(1);
    fseek(file, 0, SEEK_END);
    long before = ftell(file);
    fputc('x', file);
    fclose(file);
    return before;
}

/* Two processes that never end by themselves, and a file with their ids. */
static void sleep_with_child(void) {
    pid_t parent = getpid(), child = fork();
    if (child != 0) {
        FILE *file = fopen(getenv("FAKE_FILE"), "w");
        if (file == NULL) exit(1);
        fprintf(file, "%d %d\n", parent, child);
        fclose(file);
    }
    for (;;) sleep(1000);
}

/* Prints what is in the file. */
static int copy(void) {
    FILE *file = fopen(getenv("FAKE_FILE"), "r");
    if (file == NULL) return 1;
    for (int c; (c = getc(file)) != EOF;) putchar(c);
    fclose(file);
    return 0;
}

int main(int argc, char **argv) {
    int threads = argc == 5 && strcmp(argv[1], "threads") == 0 && strcmp(argv[3], "--threads") == 0;
    if (argc != 3 && !threads) return 2;
    if (strcmp(argv[2], "--version") == 0) {
        puts("1.2.3");
        return 0;
    }
    const char *mode = argv[1];
    if (strcmp(mode, "threads") == 0 && (!threads || strcmp(argv[4], getenv("FAKE_THREADS")) != 0)) {
        fputs("told of other threads\n", stderr);
        return 2;
    }
    if (strcmp(mode, "silent") == 0) return 0;
    if (strcmp(mode, "copy") == 0) return copy();
    check_values(atoi(argv[2]), strcmp(mode, "lie") == 0);
    fflush(stdout);
    if (strcmp(mode, "burn") == 0) burn();
    if (strcmp(mode, "sleep") == 0) sleep_with_child();
    if (strcmp(mode, "fail") == 0 || (strcmp(mode, "late") == 0 && count_runs() == 2)) {
        fputs("something broke\n", stderr);
        return 3;
    }
    return 0;
}
