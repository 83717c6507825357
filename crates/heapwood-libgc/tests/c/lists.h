/* Lists that know their length. */
#ifndef LISTS_H
#define LISTS_H
#include "check.h"
struct list {
    struct list *next;
    long n;
};
static struct list *make_list(long n) {
    struct list *list = NULL;
    for (long i = 0; i < n; i++) {
        struct list *more = GC_MALLOC(sizeof *more);
        CHECK(more);
        more->next = list;
        more->n = i;
        list = more;
    }
    return list;
}
static void check_list(struct list *list, long n) {
    for (; list; list = list->next) CHECK(list->n == --n);
    CHECK(n == 0);
}
#endif
