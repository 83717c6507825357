/* Callbacks come on a thread of the program, in their order; roots that only the program knows keep objects. */
#include "check.h"
static pthread_t me;
static int starts, pushes, resizes;
static int events[1000], count;
static void *hidden[100];
static void mine(void) { CHECK(pthread_equal(pthread_self(), me)); }
static void start(void) { mine(); starts++; }
static GC_push_other_roots_proc before;
static void push(void) {
    mine();
    pushes++;
    void *revealed[100];
    for (int i = 0; i < 100; i++) revealed[i] = (void *)~(GC_word)hidden[i];
    GC_push_all(&revealed[0], &revealed[50]);
    for (int i = 50; i < 100; i++) GC_set_mark_bit(revealed[i]);
    if (before) before();
}
static void event(GC_EventType e) { mine(); if (count < 1000) events[count++] = e; }
static void resized(GC_word bytes) { mine(); CHECK(bytes > 0); resizes++; }
static void __attribute__((noinline)) make(void) {
    for (int i = 0; i < 100; i++) {
        char *text = GC_MALLOC_ATOMIC(16);
        snprintf(text, 16, "text %d", i);
        hidden[i] = (void *)~(GC_word)text;
    }
}
int main(void) {
    me = pthread_self();
    GC_INIT();
    GC_set_start_callback(start);
    CHECK(GC_get_start_callback() == start);
    before = GC_get_push_other_roots();
    GC_set_push_other_roots(push);
    CHECK(GC_get_push_other_roots() == push);
    GC_set_on_collection_event(event);
    GC_set_on_heap_resize(resized);
    far_down(make);
    collect();
    for (int i = 0; i < 100000; i++) memset(GC_MALLOC_ATOMIC(16), 0x5a, 16);
    char expected[16];
    for (int i = 0; i < 100; i++) {
        snprintf(expected, 16, "text %d", i);
        CHECK(!strcmp((char *)~(GC_word)hidden[i], expected));
    }
    CHECK(starts >= 3 && pushes >= starts && resizes >= 1 && count >= 30);
    static const int order[] = { 0, 6, 7, 1, 2, 8, 9, 3, 4, 5 };
    for (int i = 0; i < 30; i++) CHECK(events[i] == order[i % 10]);
    puts("ok");
    return 0;
}
