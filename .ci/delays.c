/* Lets threads sleep at random where they read a clock, yield, wait or wake: what a busy machine does, only more often. Loaded
 * before other libraries by .ci/delays. DELAYS=N:MICROSECONDS: one call in N sleeps, for no longer than that. A quarter of what a
 * thread has slept is added to its CPU time, as it is where a machine is shared. It calls the kernel itself, and uses no lock. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OWN static __thread __attribute__((tls_model("initial-exec")))
OWN uint64_t seed;
OWN uint64_t slept_in_thread;
static uint64_t slept_in_process;
static unsigned one_in, most_us;

static long kernel(long n, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static long answer(long result) {
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

static uint64_t any(void) {
    if (!seed) {
        struct timespec now;
        kernel(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
        seed = (uint64_t)&seed ^ (uint64_t)now.tv_nsec * 0xd1342543de82ef95u;
        seed |= 1;
    }
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed >> 11;
}

static void delay(void) {
    if (!one_in) {
        const char *said = getenv("DELAYS");
        char *rest = NULL;
        unsigned n = said ? (unsigned)strtoul(said, &rest, 10) : 0;
        most_us = rest && *rest == ':' ? (unsigned)strtoul(rest + 1, NULL, 10) : 0;
        if (!most_us) most_us = 10000;
        one_in = n ? n : 100;
    }
    if (any() % one_in) return;
    uint64_t us = any() % most_us;
    struct timespec time = {(time_t)(us / 1000000), (long)(us % 1000000 * 1000)};
    kernel(SYS_nanosleep, (long)&time, 0, 0, 0, 0, 0);
    slept_in_thread += us * 250;
    __atomic_fetch_add(&slept_in_process, us * 250, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    delay();
    long result = answer(kernel(SYS_clock_gettime, clock, (long)time, 0, 0, 0, 0));
    uint64_t more = clock == CLOCK_THREAD_CPUTIME_ID    ? slept_in_thread
                    : clock == CLOCK_PROCESS_CPUTIME_ID ? __atomic_load_n(&slept_in_process, __ATOMIC_RELAXED)
                                                        : 0;
    if (!result && more) {
        uint64_t ns = (uint64_t)time->tv_nsec + more;
        time->tv_sec += (time_t)(ns / 1000000000);
        time->tv_nsec = (long)(ns % 1000000000);
    }
    return (int)result;
}

int sched_yield(void) {
    delay();
    return (int)answer(kernel(SYS_sched_yield, 0, 0, 0, 0, 0, 0));
}

/* Rust's locks, and the heap's, wait by this function; the C library's own do not. */
long syscall(long n, ...) {
    va_list list;
    va_start(list, n);
    long a[6];
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (n == SYS_futex) delay();
    long result = kernel(n, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (n == SYS_futex) delay();
    return answer(result);
}

int madvise(void *start, size_t bytes, int advice) {
    delay();
    return (int)answer(kernel(SYS_madvise, (long)start, (long)bytes, advice, 0, 0, 0));
}
