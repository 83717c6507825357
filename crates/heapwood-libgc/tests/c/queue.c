/* A queue of adjacent nodes, whose neighbours in memory are dead: ten million pass through, and few are alive. An object
 * that only a pointer to its end keeps, on the stack, is there. */
#include "check.h"
struct node { struct node *next; long n; };
int main(void) {
    GC_INIT();
    struct node *head = GC_MALLOC(sizeof *head), *tail = head;
    for (long i = 1; i <= 10000000; i++) {
        struct node *n = GC_MALLOC(sizeof *n);
        n->n = i;
        tail->next = n;
        tail = n;
        if (i > 100) head = head->next;
    }
    CHECK(head->n == 10000000 - 100);
    for (long i = head->n; head != tail; i++) {
        CHECK(head->n == i);
        head = head->next;
    }
    CHECK(GC_get_heap_size() < 64 << 20);
    char *volatile end = (char *)GC_MALLOC_ATOMIC(48) + 48;
    memset(end - 48, 'e', 48);
    char *volatile large_end = (char *)GC_MALLOC_ATOMIC(4096) + 4096;
    memset(large_end - 4096, 'l', 4096);
    for (int i = 0; i < 100000; i++) memset(GC_MALLOC_ATOMIC(48), 'x', 48);
    for (int i = 0; i < 10000; i++) memset(GC_MALLOC_ATOMIC(4096), 'x', 4096);
    collect();
    for (int i = 1; i <= 48; i++) CHECK(end[-i] == 'e');
    for (int i = 1; i <= 4096; i++) CHECK(large_end[-i] == 'l');
    puts("ok");
    return 0;
}
