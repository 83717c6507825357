/* A program that does not use the variable HEAPWOOD: it makes a heap, collects twice, and destroys it. Arguments:
 * "leave" leaves the heap to the end of the process, "quiet" turns the trace off, "asks" reads the variable for all
 * options. The library's output is on standard error, which the caller reads. */
#include "check.h"
#include <heapwood.h>
#include <string.h>

int main(int argc, char **argv) {
    hw_heap *heap = NULL;
    hw_mutator *m = NULL;
    hw_options o;
    const char *how = argc > 1 ? argv[1] : "";
    hw_options_init(&o);
    CHECK(o.trace == 0);
    if (strcmp(how, "quiet") == 0) o.trace = HW_TRACE_OFF;
    if (strcmp(how, "asks") == 0) CHECK(hw_options_env(&o, NULL) == HW_OK);
    CHECK(hw_heap_create(strcmp(how, "") == 0 ? NULL : &o, &heap, NULL) == HW_OK);
    CHECK(hw_attach(heap, NULL, &m, NULL) == HW_OK);
    for (int i = 0; i < 20000; i++) CHECK(hw_alloc_bytes(m, 32) != NULL);
    CHECK(hw_collect(m) == HW_OK && hw_collect(m) == HW_OK);
    CHECK(hw_detach(m) == HW_OK);
    if (strcmp(how, "leave") != 0) CHECK(hw_heap_destroy(heap, NULL) == HW_OK);
    /* Another heap has nothing wrong to tell that was told. */
    CHECK(hw_heap_create(NULL, &heap, NULL) == HW_OK && hw_heap_destroy(heap, NULL) == HW_OK);
    puts("done");
    return 0;
}
