/* Ports that close by themselves: a program writes lines through ports and forgets them. A port has a buffer, which is an object, too; a
 * dead port is given back to be flushed, before its file, to which it leads, is closed. Files are shared by several ports.
 *
 *     ports DIRECTORY [FILES]
 *
 * It allows itself 64 descriptors, and the files are many more. docs/guide/finalisers.md explains it. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <heapwood.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Shared by ports; closed when none is left. */
struct file { uint64_t fd, bytes; };

enum { ROOM = 120 };
struct port { struct file *file; uint64_t used; char text[ROOM]; };

static hw_heap *heap;
static hw_mutator *m;
static hw_type file_type, port_type;
static hw_finalize_queue dead_ports, dead_files;
static unsigned flushed, closed;

static _Noreturn void fail(const char *what, const char *why) {
    fprintf(stderr, "ports: %s: %s\n", what, why);
    exit(1);
}

static void check(hw_status status, const char *what) {
    if (status != HW_OK) fail(what, hw_last_error(m)->text);
}

static void flush(struct port *port) {
    if (write((int)port->file->fd, port->text, port->used) != (ssize_t)port->used) fail("write", strerror(errno));
    port->file->bytes += port->used;
    port->used = 0;
}

/* Called by the loop below, and where descriptors are short: never by the library. */
static void finish_dead(void) {
    hw_finalized entry;
    for (; hw_finalize_next(m, dead_ports, &entry); flushed++) flush(entry.object);
    for (; hw_finalize_next(m, dead_files, &entry); closed++) close((int)((struct file *)entry.object)->fd);
}

static struct file *open_file(const char *directory, unsigned number) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%u", directory, number);
    int fd;
    while ((fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) < 0) {
        if (errno != EMFILE) fail(name, strerror(errno));
        /* Two collections: the first gives ports back, the second their files. */
        for (int i = 0; i < 2; i++) {
            check(hw_collect(m), "collecting");
            finish_dead();
        }
    }
    struct file *file = hw_alloc(m, file_type);
    if (file == NULL) fail("a file", hw_last_error(m)->text);
    file->fd = (uint64_t)fd;
    file->bytes = 0;
    check(hw_finalize(m, file, dead_files, HW_FINALIZE_ORDERED, NULL, NULL), "a finaliser");
    return file;
}

static struct port *open_port(struct file *file) {
    struct port *port = hw_alloc(m, port_type);
    if (port == NULL) fail("a port", hw_last_error(m)->text);
    hw_write(m, port, &port->file, file);
    port->used = 0;
    check(hw_finalize(m, port, dead_ports, HW_FINALIZE_ORDERED, NULL, NULL), "a finaliser");
    return port;
}

static void print(struct port *port, unsigned number) {
    if (port->used > ROOM / 2) flush(port);
    port->used += (uint64_t)snprintf(port->text + port->used, ROOM - port->used, "line %u\n", number);
}

int main(int argc, char **argv) {
    if (argc < 2) fail("usage", "ports DIRECTORY [FILES]");
    unsigned files = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
    struct rlimit few = {64, 64};
    setrlimit(RLIMIT_NOFILE, &few);
    hw_error why;
    if (hw_heap_create(NULL, &heap, &why) != HW_OK || hw_attach(heap, NULL, &m, &why) != HW_OK) fail("a heap", why.text);
    uint64_t pointers = 1;
    check(hw_type_mask(heap, sizeof(struct port), &pointers, 1, &port_type, NULL), "a type");
    check(hw_type_no_pointers(heap, sizeof(struct file), &file_type, NULL), "a type");
    check(hw_finalize_queue_new(heap, &dead_ports, NULL), "a queue");
    check(hw_finalize_queue_new(heap, &dead_files, NULL), "a queue");
    struct pollfd events = {-1, POLLIN, 0};
    check(hw_finalize_fd(heap, dead_ports, &events.fd, NULL), "an eventfd");
    for (unsigned i = 0; i < files; i++) {
        struct file *file = open_file(argv[1], i);
        for (unsigned port = 0; port < 3; port++) {
            struct port *out = open_port(file);
            for (unsigned line = 0; line < 10; line++) print(out, line);
        }
        /* A loop of events would wait for this beside its sockets. */
        uint64_t count;
        if (poll(&events, 1, 0) == 1 && read(events.fd, &count, sizeof count) == sizeof count) finish_dead();
    }
    /* What is left is finished in the same order: ports, then files. */
    if (hw_finalize_all(heap, &why) != HW_OK) fail("the end", why.text);
    finish_dead();
    printf("%u ports were flushed, %u files closed\n", flushed, closed);
    if (hw_detach(m) != HW_OK || hw_heap_destroy(heap, &why) != HW_OK) fail("the end", why.text);
    return 0;
}
